/* SPDX-License-Identifier: Apache-2.0 */
/* A network hung up at its top: who is below whom, and which links a flow goes through.
 *
 * A channel is one direction of a link: 2k is link k from a to b, 2k+1 from b to a. Vertices are
 * the model's. Everything is a copy: the model may go.
 * Tests: test_bandwidth.c. */
#ifndef NT_ROOTED_TREE_H
#define NT_ROOTED_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph.h"
#include "memory.h"

struct nt_rooted_tree {
    struct nt_arena memory;
    struct nt_graph graph;
    size_t hosts, vertices, links;
    bool tree; /* no cycle, and no host in the middle: what is below holds only then */
    uint32_t top;
    uint32_t *parent; /* NT_NO_VERTEX at the top and for what does not hang there */
    uint32_t *up;     /* channel from the vertex to its parent */
    uint32_t *depth;
    size_t reached;
    uint32_t *order; /* reached of them, breadth first: parents before children */
    uint32_t *first; /* vertices + 1: children of v are child[first[v]..first[v + 1]) */
    uint32_t *child; /* reached - 1 of them; hosts before switches, then by index */
    uint32_t *head;  /* vertices: the hosts below v (v itself, when it is one) */
    uint32_t *tail;  /*   are host[head[v]..tail[v]) */
    uint32_t *host;  /* depth first */
    uint32_t (*ends)[2];
};

/* The top is the first switch of the highest tier. Missing hosts hang nowhere. */
int nt_rooted_tree_create(const struct nt_model *model, struct nt_rooted_tree **out,
                          struct nt_err *err);
void nt_rooted_tree_destroy(struct nt_rooted_tree *rooted);

/* The channels from host a to host b in order; their number, 0 when it is not known: in a network
 * that is no tree only a common link and a common switch tell. channel: room for
 * nt_rooted_tree_room. */
size_t nt_rooted_tree_path(const struct nt_rooted_tree *rooted, uint32_t a, uint32_t b,
                           uint32_t *channel);
size_t nt_rooted_tree_room(const struct nt_rooted_tree *rooted);

static inline uint32_t nt_rooted_tree_count(const struct nt_rooted_tree *rooted, uint32_t vertex)
{
    return rooted->tail[vertex] - rooted->head[vertex];
}

/* The other direction. */
static inline uint32_t nt_channel_back(uint32_t channel)
{
    return channel ^ 1u;
}

#endif
