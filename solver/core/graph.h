/* SPDX-License-Identifier: Apache-2.0 */
/* A network as a graph: adjacency, breadth-first search, shortest paths, disjoint sets. Vertices
 * are those of the model: the hosts, then the switches.
 *
 * The caller's arena owns all arrays. Every order follows the indices of the links, so that equal
 * models give equal results. */
#ifndef NT_GRAPH_H
#define NT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "model.h"

enum { NT_NO_VERTEX = UINT32_MAX, NT_NO_LINK = UINT32_MAX };

/* Compressed adjacency: the links at vertex v are link[start[v]..start[v + 1] - 1], their other
 * ends are in to. */
struct nt_graph {
    size_t vertices;
    uint32_t *start; /* vertices + 2 */
    uint32_t *link;  /* indices of links, ascending per vertex */
    uint32_t *to;    /* the other end of this link */
};

/* Adds each link of the model at both of its ends. */
int nt_graph_init(struct nt_graph *graph, const struct nt_model *model, struct nt_arena *memory,
                  struct nt_err *err);

/* Fills the graph with other links, in the same memory. links: at most as many as at
 * nt_graph_init. */
void nt_graph_index(struct nt_graph *graph, const struct nt_link *link, size_t links);

static inline uint32_t nt_graph_degree(const struct nt_graph *graph, uint32_t vertex)
{
    return graph->start[vertex + 1] - graph->start[vertex];
}

static inline uint32_t nt_link_other_end(const struct nt_link *link, uint32_t vertex)
{
    return link->a == vertex ? link->b : link->a;
}

/* ---- breadth-first search ------------------------------------------------------------------- */

struct nt_bfs {
    size_t reached;
    uint32_t *order;  /* reached vertices, parents before children */
    uint32_t *parent; /* per vertex; NT_NO_VERTEX at roots and unreached vertices */
    uint32_t *up;     /* per vertex: the link to its parent; NT_NO_LINK as for parent */
    uint32_t *depth;  /* per vertex: links from the root; UINT32_MAX: not reached */
};

/* nt_bfs_init: nothing is reached. nt_bfs_clear: back to this state. */
int nt_bfs_init(struct nt_bfs *bfs, size_t vertices, struct nt_arena *memory, struct nt_err *err);
void nt_bfs_clear(struct nt_bfs *bfs);

/* Adds the component of a vertex that is not reached yet. true: the component is a tree. */
bool nt_bfs_from(struct nt_bfs *bfs, const struct nt_graph *graph, uint32_t root);

/* Writes the links between two vertices of one tree to link, in no order. Returns their number; 0:
 * the vertices are in different trees. */
size_t nt_bfs_path(const struct nt_bfs *bfs, uint32_t a, uint32_t b, uint32_t *link);

/* ---- shortest paths ------------------------------------------------------------------------- */

/* Working memory of Dijkstra's algorithm (E. W. Dijkstra, A note on two problems in connexion with
 * graphs, Numerische Mathematik 1, 1959) with a binary heap. */
struct nt_shortest {
    uint32_t *vertex, *place; /* the heap, and the position of each vertex in it */
    double *distance;         /* per vertex: from the source; INFINITY: no path */
};

int nt_shortest_init(struct nt_shortest *shortest, size_t vertices, struct nt_arena *memory,
                     struct nt_err *err);

/* Fills distance. weight: per link, not negative. */
void nt_shortest_from(struct nt_shortest *shortest, const struct nt_graph *graph,
                      const double *weight, uint32_t source);

/* ---- disjoint sets -------------------------------------------------------------------------- */

/* R. E. Tarjan, J. ACM 22, 1975, with path halving. A set is represented by the vertex v with up[v]
 * == v. */
void nt_sets_init(uint32_t *up, size_t count);
uint32_t nt_sets_find(uint32_t *up, uint32_t v);

/* false: both were in one set already. The representative of b's set represents the union. */
bool nt_sets_join(uint32_t *up, uint32_t a, uint32_t b);

/* Whether these links close no cycle. up: working memory, one element per vertex. */
bool nt_links_are_forest(const struct nt_link *link, size_t links, uint32_t *up, size_t vertices);

#endif
