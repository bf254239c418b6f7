/* SPDX-License-Identifier: Apache-2.0 */
/* A network seen from its root: parents, children, the hosts below each vertex, and the channels of
 * a flow.
 *
 * A channel is one direction of a link: 2k is link k from a to b, 2k+1 from b to a. Vertices are
 * those of the model. All data are copied, so that the model can be destroyed.
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
    bool tree; /* no cycle, and hosts are leaves; only then are head, tail and host valid */
    uint32_t root;
    uint32_t *parent; /* NT_NO_VERTEX at the root and at unreached vertices */
    uint32_t *up;     /* channel from the vertex to its parent */
    uint32_t *depth;
    size_t reached;
    uint32_t *order; /* reached vertices, breadth-first: parents before children */
    uint32_t *first; /* vertices + 1: the children of v are child[first[v]..first[v + 1] - 1] */
    uint32_t *child; /* reached - 1; hosts before switches, then by index */
    uint32_t *head;  /* per vertex: the hosts below v (v itself, if it is a host) */
    uint32_t *tail;  /* are host[head[v]..tail[v] - 1] */
    uint32_t *host;  /* depth-first */
    uint32_t (*ends)[2];
};

/* The root is the first switch of the highest tier. Missing hosts are not reached. The caller frees
 * *out. */
int nt_rooted_tree_create(const struct nt_model *model, struct nt_rooted_tree **out,
                          struct nt_err *err);
void nt_rooted_tree_destroy(struct nt_rooted_tree *rooted);

/* Writes the channels from host a to host b to channel, in order, and returns their number; 0:
 * unknown. In a network that is not a tree, only paths over a common link or a common switch are
 * known. channel: room for nt_rooted_tree_room channels. */
size_t nt_rooted_tree_path(const struct nt_rooted_tree *rooted, uint32_t a, uint32_t b,
                           uint32_t *channel);
size_t nt_rooted_tree_room(const struct nt_rooted_tree *rooted);

static inline uint32_t nt_rooted_tree_count(const struct nt_rooted_tree *rooted, uint32_t vertex)
{
    return rooted->tail[vertex] - rooted->head[vertex];
}

/* The other direction of the link. */
static inline uint32_t nt_channel_back(uint32_t channel)
{
    return channel ^ 1u;
}

#endif
