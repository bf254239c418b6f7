/* SPDX-License-Identifier: Apache-2.0 */
/* A network as a graph: which links meet at a vertex, walks and shortest paths over them, and what
 * is connected with what. Vertices are the model's: the hosts, then the switches.
 *
 * Arrays come from the arena that is handed in, and go with it. Every order is that of the links'
 * indices, so that the same model gives the same bfs. */
#ifndef NT_GRAPH_H
#define NT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "model.h"

enum { NT_NO_VERTEX = UINT32_MAX, NT_NO_LINK = UINT32_MAX };

/* Compressed adjacency: what meets at v is at start[v]..start[v + 1] - 1 of link and to. */
struct nt_graph {
    size_t vertices;
    uint32_t *start; /* vertices + 2 */
    uint32_t *link;  /* by index, ascending at each vertex */
    uint32_t *to;    /* the other end of that link */
};

/* The links of a model, each at both its ends. */
int nt_graph_init(struct nt_graph *graph, const struct nt_model *model, struct nt_arena *memory,
                  struct nt_err *err);

/* The same memory filled again, with no more links than it was made for. */
void nt_graph_index(struct nt_graph *graph, const struct nt_link *link, size_t links);

static inline uint32_t nt_graph_degree(const struct nt_graph *graph, uint32_t vertex)
{
    return graph->start[vertex + 1] - graph->start[vertex];
}

static inline uint32_t nt_link_other_end(const struct nt_link *link, uint32_t vertex)
{
    return link->a == vertex ? link->b : link->a;
}

/* ---- breadth first -------------------------------------------------------------------------- */

struct nt_bfs {
    size_t reached;
    uint32_t *order;  /* reached vertices, parents before children */
    uint32_t *parent; /* vertices of each; NT_NO_VERTEX at a root and where nothing was reached */
    uint32_t *up;     /*   the link to the parent; NT_NO_LINK likewise */
    uint32_t *depth;  /*   links from the root; UINT32_MAX: not reached */
};

/* Nothing is reached yet; clear: any more. */
int nt_bfs_init(struct nt_bfs *bfs, size_t vertices, struct nt_arena *memory, struct nt_err *err);
void nt_bfs_clear(struct nt_bfs *bfs);

/* Adds what is connected with a vertex that is not reached yet; true when that is a tree. */
bool nt_bfs_from(struct nt_bfs *bfs, const struct nt_graph *graph, uint32_t root);

/* The links between two vertices of one tree, in no order; 0 when they are in different ones. */
size_t nt_bfs_path(const struct nt_bfs *bfs, uint32_t a, uint32_t b, uint32_t *link);

/* ---- shortest paths ------------------------------------------------------------------------- */

/* What Dijkstra's method needs: E. W. Dijkstra, A note on two problems in connexion with graphs,
 * Numerische Mathematik 1, 1959, with a binary heap. */
struct nt_shortest {
    uint32_t *vertex, *place; /* the heap, and where in it each vertex stands */
    double *distance;         /* by vertex, from the source; INFINITY: no path */
};

int nt_shortest_init(struct nt_shortest *shortest, size_t vertices, struct nt_arena *memory,
                     struct nt_err *err);

/* Fills distance. weight: by link, not negative. */
void nt_shortest_from(struct nt_shortest *shortest, const struct nt_graph *graph,
                      const double *weight, uint32_t source);

/* ---- disjoint sets -------------------------------------------------------------------------- */

/* R. E. Tarjan, J. ACM 22, 1975, with path halving: up[v] is v at the one that stands for a set. */
void nt_sets_init(uint32_t *up, size_t count);
uint32_t nt_sets_find(uint32_t *up, uint32_t v);

/* false: they were in one set already. What stands for b's set stands for both. */
bool nt_sets_join(uint32_t *up, uint32_t a, uint32_t b);

/* Do these links close no cycle? up: scratch, a number a vertex. */
bool nt_links_are_forest(const struct nt_link *link, size_t links, uint32_t *up, size_t vertices);

#endif
