/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <math.h>
#include <string.h>

int nt_graph_init(struct nt_graph *graph, const struct nt_model *model, struct nt_arena *memory,
                  struct nt_err *err)
{
    graph->vertices = model->hosts + model->switches;
    graph->start = nt_arena_array(memory, graph->vertices + 2, sizeof *graph->start);
    graph->link = nt_arena_array(memory, 2 * model->links, sizeof *graph->link);
    graph->to = nt_arena_array(memory, 2 * model->links, sizeof *graph->to);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    nt_graph_index(graph, model->link, model->links);
    return 0;
}

/* start[v + 2] counts the links of v, then start[v + 1] is the next free place of v, which in the
 * end is the start of v + 1. */
void nt_graph_index(struct nt_graph *g, const struct nt_link *link, size_t links)
{
    memset(g->start, 0, (g->vertices + 2) * sizeof *g->start);
    for (size_t k = 0; k < links; k++) {
        g->start[link[k].a + 2]++;
        g->start[link[k].b + 2]++;
    }
    for (size_t v = 2; v < g->vertices + 2; v++)
        g->start[v] += g->start[v - 1];
    for (size_t k = 0; k < links; k++) {
        uint32_t at_a = g->start[link[k].a + 1]++, at_b = g->start[link[k].b + 1]++;
        g->link[at_a] = g->link[at_b] = (uint32_t)k;
        g->to[at_a] = link[k].b;
        g->to[at_b] = link[k].a;
    }
}

/* ---- breadth first -------------------------------------------------------------------------- */

int nt_bfs_init(struct nt_bfs *bfs, size_t vertices, struct nt_arena *memory, struct nt_err *err)
{
    bfs->order = nt_arena_array(memory, vertices, sizeof *bfs->order);
    bfs->parent = nt_arena_array(memory, vertices, sizeof *bfs->parent);
    bfs->up = nt_arena_array(memory, vertices, sizeof *bfs->up);
    bfs->depth = nt_arena_array(memory, vertices, sizeof *bfs->depth);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    bfs->reached = 0;
    memset(bfs->parent, 0xff, vertices * sizeof *bfs->parent);
    memset(bfs->up, 0xff, vertices * sizeof *bfs->up);
    memset(bfs->depth, 0xff, vertices * sizeof *bfs->depth);
    return 0;
}

void nt_bfs_clear(struct nt_bfs *bfs)
{
    for (size_t k = 0; k < bfs->reached; k++) {
        uint32_t v = bfs->order[k];
        bfs->parent[v] = NT_NO_VERTEX;
        bfs->up[v] = NT_NO_LINK;
        bfs->depth[v] = UINT32_MAX;
    }
    bfs->reached = 0;
}

bool nt_bfs_from(struct nt_bfs *bfs, const struct nt_graph *g, uint32_t root)
{
    size_t first = bfs->reached, arcs = 0;
    bfs->depth[root] = 0;
    bfs->order[bfs->reached++] = root;
    for (size_t at = first; at < bfs->reached; at++) {
        uint32_t v = bfs->order[at];
        arcs += nt_graph_degree(g, v);
        for (uint32_t k = g->start[v]; k < g->start[v + 1]; k++) {
            uint32_t w = g->to[k];
            if (bfs->depth[w] != UINT32_MAX)
                continue;
            bfs->depth[w] = bfs->depth[v] + 1;
            bfs->parent[w] = v;
            bfs->up[w] = g->link[k];
            bfs->order[bfs->reached++] = w;
        }
    }
    return arcs == 2 * (bfs->reached - first - 1);
}

size_t nt_bfs_path(const struct nt_bfs *bfs, uint32_t a, uint32_t b, uint32_t *link)
{
    size_t links = 0;
    while (a != b) {
        uint32_t *lower = bfs->depth[a] >= bfs->depth[b] ? &a : &b;
        if (bfs->up[*lower] == NT_NO_LINK)
            return 0;
        link[links++] = bfs->up[*lower];
        *lower = bfs->parent[*lower];
    }
    return links;
}

/* ---- shortest paths ------------------------------------------------------------------------- */

int nt_shortest_init(struct nt_shortest *shortest, size_t vertices, struct nt_arena *memory,
                     struct nt_err *err)
{
    shortest->vertex = nt_arena_array(memory, vertices, sizeof *shortest->vertex);
    shortest->place = nt_arena_array(memory, vertices, sizeof *shortest->place);
    shortest->distance = nt_arena_array(memory, vertices, sizeof *shortest->distance);
    return nt_arena_check(memory, err);
}

static void heap_swap(struct nt_shortest *s, size_t i, size_t j)
{
    uint32_t v = s->vertex[i];
    s->vertex[i] = s->vertex[j];
    s->vertex[j] = v;
    s->place[s->vertex[i]] = (uint32_t)i;
    s->place[s->vertex[j]] = (uint32_t)j;
}

static bool heap_before(const struct nt_shortest *s, size_t i, size_t j)
{
    return s->distance[s->vertex[i]] < s->distance[s->vertex[j]];
}

static void heap_raise(struct nt_shortest *s, size_t i)
{
    for (; i > 0 && heap_before(s, i, (i - 1) / 2); i = (i - 1) / 2)
        heap_swap(s, i, (i - 1) / 2);
}

static uint32_t heap_pop(struct nt_shortest *s, size_t *queued)
{
    uint32_t top = s->vertex[0];
    heap_swap(s, 0, --*queued);
    s->place[top] = UINT32_MAX;
    for (size_t i = 0, child; (child = 2 * i + 1) < *queued; i = child) {
        child += child + 1 < *queued && heap_before(s, child + 1, child);
        if (!heap_before(s, child, i))
            break;
        heap_swap(s, i, child);
    }
    return top;
}

void nt_shortest_from(struct nt_shortest *s, const struct nt_graph *g, const double *weight,
                      uint32_t source)
{
    size_t queued = 1;
    for (size_t v = 0; v < g->vertices; v++) {
        s->distance[v] = INFINITY;
        s->place[v] = UINT32_MAX;
    }
    s->distance[source] = 0;
    s->vertex[0] = source;
    s->place[source] = 0;
    while (queued > 0) {
        uint32_t v = heap_pop(s, &queued);
        for (uint32_t k = g->start[v]; k < g->start[v + 1]; k++) {
            uint32_t w = g->to[k];
            double through = s->distance[v] + weight[g->link[k]];
            if (!(through < s->distance[w]))
                continue;
            s->distance[w] = through;
            if (s->place[w] == UINT32_MAX) {
                s->place[w] = (uint32_t)queued;
                s->vertex[queued++] = w;
            }
            heap_raise(s, s->place[w]);
        }
    }
}

/* ---- disjoint sets -------------------------------------------------------------------------- */

void nt_sets_init(uint32_t *up, size_t count)
{
    for (size_t v = 0; v < count; v++)
        up[v] = (uint32_t)v;
}

uint32_t nt_sets_find(uint32_t *up, uint32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

bool nt_sets_join(uint32_t *up, uint32_t a, uint32_t b)
{
    a = nt_sets_find(up, a);
    b = nt_sets_find(up, b);
    up[a] = b;
    return a != b;
}

bool nt_links_are_forest(const struct nt_link *link, size_t links, uint32_t *up, size_t vertices)
{
    nt_sets_init(up, vertices);
    for (size_t k = 0; k < links; k++)
        if (!nt_sets_join(up, link[k].a, link[k].b))
            return false;
    return true;
}
