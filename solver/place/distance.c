/* SPDX-License-Identifier: Apache-2.0 */
#include "distance.h"

#include <math.h>

#include "graph.h"
#include "memory.h"

#define NONE UINT32_MAX

struct nt_distance {
    struct nt_arena memory; /* all arrays */
    const struct nt_model *model;
    size_t vertices;
    bool tree;
    uint32_t path_max;
    struct nt_graph graph;
    struct nt_bfs bfs; /* tree */
    double *above_us;  /* tree: latency from the root */
    float *latency;    /* other networks: hosts x vertices */
    uint16_t *hops;
    uint32_t *via; /* other networks: hosts x vertices, the link towards the source */
};

static double weight_us(const struct nt_link *link)
{
    return isfinite(link->latency_us) && link->latency_us > 0 ? link->latency_us
           : isfinite(link->latency_us)                       ? 1e-9
                                                              : 1;
}

/* Walks from start after resetting the previous walk; returns the last vertex reached, which is one
 * of the farthest. */
static uint32_t walk_to_last(struct nt_bfs *bfs, const struct nt_graph *graph, uint32_t start)
{
    nt_bfs_clear(bfs);
    nt_bfs_from(bfs, graph, start);
    return bfs->order[bfs->reached - 1];
}

/* Roots each connected part of a forest at the middle of its longest path. */
static int root_forest(struct nt_distance *d, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_bfs look, *bfs = &d->bfs;
    bool *seen = nt_arena_array(&memory, d->vertices, sizeof *seen);
    uint32_t deepest = 0;
    if (nt_bfs_init(&look, d->vertices, &memory, err) != 0)
        return -1;
    for (uint32_t v = 0; v < d->vertices; v++) {
        if (seen[v])
            continue;
        uint32_t end = walk_to_last(&look, &d->graph, v);
        for (size_t k = 0; k < look.reached; k++)
            seen[look.order[k]] = true;
        uint32_t far = walk_to_last(&look, &d->graph, end);
        uint32_t up = look.depth[far] / 2, middle = far;
        for (uint32_t k = 0; k < up; k++)
            middle = look.parent[middle];
        if (middle < d->model->hosts && look.parent[middle] != NONE &&
            look.parent[middle] >= d->model->hosts)
            middle = look.parent[middle];
        size_t first = bfs->reached;
        nt_bfs_from(bfs, &d->graph, middle);
        for (size_t k = first + 1; k < bfs->reached; k++) {
            uint32_t w = bfs->order[k];
            d->above_us[w] = d->above_us[bfs->parent[w]] + weight_us(&d->model->link[bfs->up[w]]);
        }
        far = bfs->order[bfs->reached - 1];
        if (bfs->depth[far] > deepest)
            deepest = bfs->depth[far];
    }
    d->path_max = 2 * deepest + 1;
    return 0;
}

/* Relaxes the links of a vertex whose latency is final. Adds to the count open vertices those that
 * are reached for the first time, except vertices with a single link: no path continues there.
 * Returns the new count. */
static size_t relax_links(struct nt_distance *d, uint32_t source, uint32_t from, uint32_t *open,
                          size_t count)
{
    size_t n = d->vertices;
    float *latency = d->latency + source * n;
    uint16_t *hops = d->hops + source * n;
    for (uint32_t k = d->graph.start[from]; k < d->graph.start[from + 1]; k++) {
        uint32_t e = d->graph.link[k], w = d->graph.to[k];
        float by = latency[from] + (float)weight_us(&d->model->link[e]);
        uint16_t far = (uint16_t)(hops[from] + 1);
        if (by < latency[w] && isinf(latency[w]) && nt_graph_degree(&d->graph, w) > 1)
            open[count++] = w;
        if (by < latency[w] || (by <= latency[w] && far < hops[w])) {
            latency[w] = by;
            hops[w] = far;
            d->via[source * n + w] = e;
        }
    }
    return count;
}

/* Dijkstra's algorithm with a linear scan of the open vertices, because these networks are small.
 * Among equal latencies it prefers the path with fewer links, which core/graph does not support,
 * and visits the first vertex first. */
static void shortest_from(struct nt_distance *d, uint32_t source, uint32_t *open)
{
    size_t n = d->vertices, count;
    float *latency = d->latency + source * n;
    for (size_t v = 0; v < n; v++) {
        latency[v] = INFINITY;
        d->hops[source * n + v] = UINT16_MAX;
        d->via[source * n + v] = NONE;
    }
    latency[source] = 0;
    d->hops[source * n + source] = 0;
    count = relax_links(d, source, source, open, 0);
    while (count > 0) {
        size_t best = 0;
        for (size_t k = 1; k < count; k++) {
            uint32_t v = open[k], w = open[best];
            if (latency[v] < latency[w] || (v < w && latency[v] <= latency[w]))
                best = k;
        }
        uint32_t from = open[best];
        open[best] = open[--count];
        count = relax_links(d, source, from, open, count);
    }
}

static int fill_general(struct nt_distance *d, struct nt_err *err)
{
    size_t n = d->vertices, cells = d->model->hosts * n;
    if (n > NT_DISTANCE_VERTICES_MAX)
        return nt_err_set(err, NT_ERR_INPUT,
                          "a network of %zu vertices that is no tree, at most %d", n,
                          (int)NT_DISTANCE_VERTICES_MAX);
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *open = nt_arena_array(&memory, n, sizeof *open);
    d->latency = nt_arena_array(&d->memory, cells, sizeof *d->latency);
    d->hops = nt_arena_array(&d->memory, cells, sizeof *d->hops);
    d->via = nt_arena_array(&d->memory, cells, sizeof *d->via);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&d->memory, err) != 0)
        return -1;
    for (uint32_t h = 0; h < d->model->hosts; h++)
        shortest_from(d, h, open);
    for (size_t k = 0; k < cells; k++)
        if (d->hops[k] != UINT16_MAX && d->hops[k] > d->path_max)
            d->path_max = d->hops[k];
    d->path_max++;
    return 0;
}

static int distance_init(struct nt_distance *d, const struct nt_model *model, struct nt_err *err)
{
    size_t n = d->vertices = model->hosts + model->switches;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *sets = nt_arena_array(&memory, n, sizeof *sets);
    d->model = model;
    d->above_us = nt_arena_array(&d->memory, n, sizeof *d->above_us);
    if (nt_arena_check(&memory, err) != 0 ||
        nt_graph_init(&d->graph, model, &d->memory, err) != 0 ||
        nt_bfs_init(&d->bfs, n, &d->memory, err) != 0)
        return -1;
    d->tree = nt_links_are_forest(model->link, model->links, sets, n);
    return d->tree ? root_forest(d, err) : fill_general(d, err);
}

int nt_distance_create(const struct nt_model *model, struct nt_distance **out, struct nt_err *err)
{
    struct nt_distance *d = nt_object_create(sizeof *d, err);
    if (d == NULL)
        return -1;
    if (distance_init(d, model, err) != 0) {
        nt_distance_destroy(d);
        return -1;
    }
    *out = d;
    return 0;
}

void nt_distance_destroy(struct nt_distance *d)
{
    nt_object_destroy(d);
}

const struct nt_model *nt_distance_model(const struct nt_distance *d)
{
    return d->model;
}

bool nt_distance_is_tree(const struct nt_distance *d)
{
    return d->tree;
}

uint32_t nt_distance_parent(const struct nt_distance *d, uint32_t v)
{
    return d->tree ? d->bfs.parent[v] : NONE;
}

/* Returns the lowest vertex above both; NONE if they are not connected. */
static uint32_t lowest_common_ancestor(const struct nt_distance *d, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (d->bfs.depth[a] < d->bfs.depth[b]) {
            uint32_t t = a;
            a = b;
            b = t;
        }
        a = d->bfs.parent[a];
        if (a == NONE)
            return NONE;
    }
    return a;
}

double nt_distance_latency(const struct nt_distance *d, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    double ends = d->model->overhead_us[a] + d->model->overhead_us[b];
    if (!d->tree) {
        float by = d->latency[a * d->vertices + b];
        return isfinite(by) ? (double)by + ends : (double)NAN;
    }
    uint32_t top = lowest_common_ancestor(d, a, b);
    return top == NONE ? (double)NAN
                       : d->above_us[a] + d->above_us[b] - 2 * d->above_us[top] + ends;
}

/* Returns the number of links between a and b; NONE if they are not connected. */
static uint32_t count_hops(const struct nt_distance *d, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    if (!d->tree) {
        uint16_t far = d->hops[a * d->vertices + b];
        return far == UINT16_MAX ? NONE : far;
    }
    uint32_t top = lowest_common_ancestor(d, a, b);
    return top == NONE ? NONE : d->bfs.depth[a] + d->bfs.depth[b] - 2 * d->bfs.depth[top];
}

uint32_t nt_distance_path_max(const struct nt_distance *d)
{
    return d->path_max;
}

/* Returns the directed link when v is left over link. */
static uint32_t leaving_vertex(const struct nt_distance *d, uint32_t link, uint32_t v)
{
    return 2 * link + (d->model->link[link].a == v ? 0 : 1);
}

uint32_t nt_distance_path(const struct nt_distance *d, uint32_t a, uint32_t b, uint32_t *directed)
{
    uint32_t n = 0;
    if (a == b || count_hops(d, a, b) == NONE)
        return 0;
    if (!d->tree) { /* from b back towards the source a */
        const uint32_t *via = d->via + a * d->vertices;
        for (uint32_t v = b; v != a;) {
            uint32_t w = nt_link_other_end(&d->model->link[via[v]], v);
            directed[n++] = leaving_vertex(d, via[v], w);
            v = w;
        }
        return n;
    }
    uint32_t top = lowest_common_ancestor(d, a, b);
    for (uint32_t v = a; v != top; v = d->bfs.parent[v])
        directed[n++] = leaving_vertex(d, d->bfs.up[v], v);
    for (uint32_t v = b; v != top; v = d->bfs.parent[v])
        directed[n++] = leaving_vertex(d, d->bfs.up[v], d->bfs.parent[v]);
    return n;
}
