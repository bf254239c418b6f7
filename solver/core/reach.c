/* SPDX-License-Identifier: Apache-2.0 */
#include "reach.h"

#include <stdio.h>

#include "graph.h"

int nt_reach_create(const struct nt_model *model, uint32_t source, struct nt_reach **out,
                    struct nt_err *err)
{
    size_t n = model->hosts + model->switches;
    if (source >= n)
        return nt_err_set(err, NT_ERR_INPUT, "vertex %u: expected one below %zu", source, n);
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_graph graph;
    struct nt_bfs bfs;
    if (nt_graph_init(&graph, model, &memory, err) != 0 || nt_bfs_init(&bfs, n, &memory, err) != 0)
        return -1;
    struct nt_reach *r = nt_object_create(sizeof *r, err);
    if (r == NULL)
        return -1;
    r->source = source;
    r->vertices = n;
    r->hops = nt_arena_array(&r->memory, n, sizeof *r->hops);
    r->switches = nt_arena_array(&r->memory, n, sizeof *r->switches);
    r->link = nt_arena_array(&r->memory, n, sizeof *r->link);
    r->from = nt_arena_array(&r->memory, n, sizeof *r->from);
    if (nt_arena_check(&r->memory, err) != 0) {
        nt_reach_destroy(r);
        return -1;
    }
    nt_bfs_from(&bfs, &graph, source);
    for (size_t k = 1; k < bfs.reached; k++) {
        uint32_t w = bfs.order[k], from = bfs.parent[w];
        r->hops[w] = bfs.depth[w];
        r->switches[w] = r->switches[from] + (from >= model->hosts);
        r->link[w] = bfs.up[w];
        r->from[w] = from;
    }
    *out = r;
    return 0;
}

void nt_reach_destroy(struct nt_reach *reach)
{
    nt_object_destroy(reach);
}

void nt_path_class_name(uint32_t hops, uint32_t switches, char name[NT_PATH_CLASS_BYTES])
{
    if (switches == 1)
        snprintf(name, NT_PATH_CLASS_BYTES, "same switch");
    else if (switches > 1)
        snprintf(name, NT_PATH_CLASS_BYTES, "through %u switches", switches);
    else if (hops == 1)
        snprintf(name, NT_PATH_CLASS_BYTES, "neighbours");
    else
        snprintf(name, NT_PATH_CLASS_BYTES, "%u hops", hops);
}
