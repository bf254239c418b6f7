#include "plan_model.h"

#include "memory.h"
#include "plan_routes.h"

enum { NONE = UINT32_MAX };

/* Breadth first from one host: by vertex the link it was reached by. */
struct paths {
    const struct nt_model *model;
    size_t vertices;
    size_t *near_start; /* vertices + 1 */
    uint32_t *near;     /* links at each vertex */
    uint32_t *by;       /* NONE: not reached, or the start */
    uint32_t *queue;
    uint32_t link[NT_ROUTE_LINKS_MAX];
};

static uint32_t other_end(const struct nt_model *m, uint32_t link, uint32_t vertex)
{
    return m->link[link].a == vertex ? m->link[link].b : m->link[link].a;
}

static int init(struct paths *p, const struct nt_model *m, struct nt_arena *memory,
                struct nt_err *err)
{
    size_t n = m->hosts + m->switches;
    p->model = m;
    p->vertices = n;
    p->near_start = nt_arena_array(memory, n + 2, sizeof *p->near_start);
    p->near = nt_arena_array(memory, 2 * m->links + 1, sizeof *p->near);
    p->by = nt_arena_array(memory, n + 1, sizeof *p->by);
    p->queue = nt_arena_array(memory, n + 1, sizeof *p->queue);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t l = 0; l < m->links; l++) {
        p->near_start[m->link[l].a + 2]++;
        p->near_start[m->link[l].b + 2]++;
    }
    for (size_t v = 0; v < n; v++)
        p->near_start[v + 2] += p->near_start[v + 1];
    for (uint32_t l = 0; l < m->links; l++) {
        p->near[p->near_start[m->link[l].a + 1]++] = l;
        p->near[p->near_start[m->link[l].b + 1]++] = l;
    }
    return 0;
}

static void search(struct paths *p, uint32_t from)
{
    size_t used = 0, reached = 0;
    for (size_t v = 0; v < p->vertices; v++)
        p->by[v] = NONE;
    p->queue[reached++] = from;
    while (used < reached) {
        uint32_t v = p->queue[used++];
        for (size_t k = p->near_start[v]; k < p->near_start[v + 1]; k++) {
            uint32_t w = other_end(p->model, p->near[k], v);
            if (w == from || p->by[w] != NONE)
                continue;
            p->by[w] = p->near[k];
            p->queue[reached++] = w;
        }
    }
}

static int add_from(struct paths *p, uint32_t from, struct nt_routes_builder *b, struct nt_err *err)
{
    search(p, from);
    for (uint32_t to = from + 1; to < p->model->hosts; to++) {
        size_t n = 0;
        for (uint32_t v = to; v != from && p->by[v] != NONE; v = other_end(p->model, p->by[v], v)) {
            if (n == NT_ROUTE_LINKS_MAX)
                return nt_err_set(err, NT_ERR_INPUT, "over %d links between two hosts",
                                  (int)NT_ROUTE_LINKS_MAX);
            p->link[n++] = p->by[v];
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
    if (nt_arena_check(&memory, err) != 0 || init(p, model, &memory, err) != 0 ||
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
