/* SPDX-License-Identifier: Apache-2.0 */
#include "bufe_graph.h"

#include <string.h>

/* A tree has fewer switches of three links than hosts; more means that nothing was found. */
static size_t vertices_max(const struct bufe_graph *g)
{
    return 2 * g->hosts + 64;
}

static int resize_graph(struct bufe_graph *g, size_t cap, struct nt_err *err)
{
    struct nt_arena memory = {0};
    float *weight = nt_arena_array(&memory, cap * cap, sizeof *weight);
    bool *alive = nt_arena_array(&memory, cap, sizeof *alive);
    if (nt_arena_check(&memory, err) != 0) {
        nt_arena_fini(&memory);
        return -1;
    }
    for (size_t k = 0; k < cap * cap; k++)
        weight[k] = INFINITY;
    for (size_t v = 0; v < g->vertices; v++) {
        memcpy(weight + v * cap, g->weight + v * g->cap, g->vertices * sizeof *weight);
        alive[v] = g->alive[v];
    }
    nt_arena_fini(&g->memory);
    g->memory = memory;
    g->weight = weight;
    g->alive = alive;
    g->cap = cap;
    return 0;
}

int bufe_graph_init(struct bufe_graph *g, size_t hosts, double epsilon, struct nt_err *err)
{
    *g = (struct bufe_graph){.hosts = hosts, .epsilon = epsilon};
    if (resize_graph(g, hosts + hosts / 4 + 16, err) != 0)
        return -1;
    g->vertices = hosts;
    for (size_t v = 0; v < hosts; v++)
        g->alive[v] = true;
    return 0;
}

void bufe_graph_fini(struct bufe_graph *g)
{
    nt_arena_fini(&g->memory);
}

int bufe_graph_add_switch(struct bufe_graph *g, uint32_t *vertex, struct nt_err *err)
{
    size_t max = vertices_max(g);
    if (g->vertices >= max)
        return nt_err_set(err, NT_ERR_INPUT,
                          "bufe: more than %zu switches for %zu hosts; epsilon %g does not fit "
                          "these latencies",
                          max - g->hosts, g->hosts, g->epsilon);
    if (g->vertices == g->cap) {
        size_t cap = g->cap + g->cap / 2;
        if (resize_graph(g, cap < max ? cap : max, err) != 0)
            return -1;
    }
    *vertex = (uint32_t)g->vertices;
    g->alive[g->vertices++] = true;
    return 0;
}
