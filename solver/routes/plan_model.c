/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_model.h"

#include "graph.h"
#include "memory.h"
#include "plan_routes.h"

struct paths {
    const struct nt_model *model;
    struct nt_graph graph;
    struct nt_bfs bfs;
    uint32_t link[NT_ROUTE_LINKS_MAX];
};

static int add_from(struct paths *p, uint32_t from, struct nt_routes_builder *b, struct nt_err *err)
{
    nt_bfs_clear(&p->bfs);
    nt_bfs_from(&p->bfs, &p->graph, from);
    for (uint32_t to = from + 1; to < p->model->hosts; to++) {
        size_t n = 0;
        for (uint32_t v = to; p->bfs.up[v] != NT_NO_LINK; v = p->bfs.parent[v]) {
            if (n == NT_ROUTE_LINKS_MAX)
                return nt_err_set(err, NT_ERR_INPUT, "over %d links between two hosts",
                                  (int)NT_ROUTE_LINKS_MAX);
            p->link[n++] = p->bfs.up[v];
        }
        for (size_t k = 0; k < n / 2; k++) { /* it came from the far end */
            uint32_t swap = p->link[k];
            p->link[k] = p->link[n - 1 - k];
            p->link[n - 1 - k] = swap;
        }
        if (n > 0 && nt_routes_builder_add(b, from, to, p->link, n, err) != 0)
            return -1;
    }
    return 0;
}

int nt_plan_model_routes(const struct nt_model *model, struct nt_routes **out, struct nt_err *err)
{
    size_t n = model->hosts;
    if (n > 0 && n * (n - 1) / 2 > NT_PLAN_PAIRS_MAX)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%zu hosts have over %d pairs: expected a tree without redundancy, or "
                          "fewer hosts",
                          n, (int)NT_PLAN_PAIRS_MAX);
    struct nt_routes_builder *b;
    NT_SCOPED struct nt_arena memory = {0};
    struct paths *p = nt_arena_array(&memory, 1, sizeof *p);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    p->model = model;
    if (nt_graph_init(&p->graph, model, &memory, err) != 0 ||
        nt_bfs_init(&p->bfs, p->graph.vertices, &memory, err) != 0 ||
        nt_routes_builder_create(&b, err) != 0)
        return -1;
    int rc = 0;
    for (uint32_t from = 0; from < n && rc == 0; from++)
        rc = add_from(p, from, b, err);
    if (rc == 0)
        rc = nt_routes_builder_finish(b, n, model->links, out, err);
    nt_routes_builder_destroy(b);
    return rc;
}

int nt_plan_model(const struct nt_model *model, double redundancy, uint64_t seed,
                  struct nt_plan **out, struct nt_err *err)
{
    struct nt_routes *routes;
    if (redundancy <= 1 && nt_plan_is_tree(model))
        return nt_plan_tree(model, out, err);
    if (nt_plan_model_routes(model, &routes, err) != 0)
        return -1;
    int rc = nt_plan_routes(routes, redundancy, seed, out, err);
    nt_routes_destroy(routes);
    return rc;
}
