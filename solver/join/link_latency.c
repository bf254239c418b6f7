/* SPDX-License-Identifier: Apache-2.0 */
#include "link_latency.h"

#include <math.h>
#include <string.h>

#include "estimate_routes.h"
#include "graph.h"
#include "links.h"
#include "memory.h"
#include "switch_support.h"

struct fit {
    const char *const *phase; /* names of those to read, NULL behind the last */
    const struct nt_model *model;
    size_t vertices;
    struct nt_bfs tree;
    uint32_t *path; /* links of a path */
    struct nt_routes_builder *builder;
    struct nt_routes *routes;
    struct nt_pair_index *index;
    struct nt_measured measured;
};

static void fit_fini(struct fit *f)
{
    nt_routes_builder_destroy(f->builder);
    nt_pair_index_destroy(f->index);
    nt_routes_destroy(f->routes);
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* The tree is rooted at its last switch. 0: it is none. */
static int root_tree(struct fit *f, struct nt_arena *memory, struct nt_err *err)
{
    NT_SCOPED struct nt_arena here = {0};
    struct nt_graph graph;
    if (nt_graph_init(&graph, f->model, &here, err) != 0 ||
        nt_bfs_init(&f->tree, f->vertices, memory, err) != 0)
        return -1;
    return nt_bfs_from(&f->tree, &graph, (uint32_t)f->vertices - 1) &&
           f->model->links + 1 == f->tree.reached;
}

/* ---- readings ------------------------------------------------------------------------------- */

static bool is_phase(const struct fit *f, const char *name)
{
    for (size_t k = 0; f->phase[k] != NULL; k++)
        if (strcmp(name, f->phase[k]) == 0)
            return true;
    return false;
}

static bool is_reading(const struct fit *f, const struct nt_samples *s, const struct nt_sample *x)
{
    return x->kind == NT_SAMPLE_LATENCY && x->value_us > 0 && is_phase(f, s->phase[x->phase].name);
}

static int add_route(struct fit *f, const struct nt_samples *s, const uint32_t *vertex,
                     const struct nt_sample *x, struct nt_err *err)
{
    uint32_t a = vertex[x->a], b = vertex[x->b];
    size_t n = nt_bfs_path(&f->tree, a, b, f->path);
    struct nt_err twice = {0};
    (void)s;
    if (n == 0)
        return 0;
    f->measured.count++;
    if (nt_routes_builder_add(f->builder, a < b ? a : b, a < b ? b : a, f->path, n, &twice) == 0)
        return 0;
    /* the pair is there already: this is another measurement of it */
    if (twice.kind == NT_ERR_INPUT)
        return 0;
    *err = twice;
    return -1;
}

static int collect_routes(struct fit *f, const struct nt_samples *s, const uint32_t *vertex,
                          struct nt_err *err)
{
    if (nt_routes_builder_create(&f->builder, err) != 0)
        return -1;
    for (size_t k = 0; k < s->samples; k++)
        if (is_reading(f, s, &s->sample[k]) && add_route(f, s, vertex, &s->sample[k], err) != 0)
            return -1;
    if (f->measured.count == 0)
        return 0;
    if (nt_routes_builder_finish(f->builder, f->model->hosts, f->model->links, &f->routes, err) !=
            0 ||
        nt_pair_index_create(f->routes, &f->index, err) != 0)
        return -1;
    return 1;
}

static int collect_values(struct fit *f, const struct nt_samples *s, const uint32_t *vertex,
                          struct nt_arena *memory, struct nt_err *err)
{
    size_t n = 0;
    f->measured.pair = nt_arena_array(memory, f->measured.count, sizeof *f->measured.pair);
    f->measured.latency_us =
        nt_arena_array(memory, f->measured.count, sizeof *f->measured.latency_us);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (!is_reading(f, s, x))
            continue;
        uint32_t a = vertex[x->a], b = vertex[x->b];
        uint32_t pair = nt_pair_index_find(f->index, a < b ? a : b, a < b ? b : a);
        if (pair == NT_PAIR_NONE)
            continue;
        f->measured.pair[n] = pair;
        f->measured.latency_us[n++] = x->value_us;
    }
    f->measured.count = n;
    return 0;
}

/* Of each pair the lowest: what disturbs a reading makes it longer, and pairs that were read often,
 * for being in doubt, count no more than others. */
static int keep_lowest(struct fit *f, struct nt_err *err)
{
    struct nt_measured *m = &f->measured;
    size_t n = 0;
    NT_SCOPED struct nt_arena memory = {0};
    double *lowest = nt_arena_array(&memory, f->routes->pairs, sizeof *lowest);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < f->routes->pairs; k++)
        lowest[k] = INFINITY;
    for (size_t k = 0; k < m->count; k++)
        lowest[m->pair[k]] = fmin(lowest[m->pair[k]], m->latency_us[k]);
    for (size_t k = 0; k < m->count; k++)
        if (m->latency_us[k] == lowest[m->pair[k]]) {
            lowest[m->pair[k]] = -INFINITY; /* once */
            m->pair[n] = m->pair[k];
            m->latency_us[n++] = m->latency_us[k];
        }
    m->count = n;
    return 0;
}

/* ---- the links ------------------------------------------------------------------------------ */

/* All or none: figures of two kinds side by side would not add up to the pairs' latencies. A link
 * that comes out at no latency is none of a map. */
static int set_links(struct nt_model *model, const struct nt_estimate *e)
{
    if (e->links != model->links)
        return 0;
    for (size_t k = 0; k < e->links; k++)
        if (!isfinite(e->link[k].latency.us) || !(e->link[k].latency.us > 0))
            return 0;
    for (size_t k = 0; k < e->links; k++) {
        struct nt_link *l = &model->link[e->link[k].link];
        l->latency_us = e->link[k].latency.us;
        l->latency_se_us = e->link[k].latency.se_us;
    }
    nt_resolution_state(model);
    return 1;
}

static bool has_phase(const struct fit *f, const struct nt_samples *s)
{
    for (size_t k = 0; k < s->phases; k++)
        if (is_phase(f, s->phase[k].name))
            return true;
    return false;
}

int nt_link_latency(const struct nt_samples *samples, const uint32_t *vertex,
                    const char *const *phase, bool lowest, struct nt_model *model,
                    struct nt_err *err)
{
    struct fit f = {.phase = phase, .model = model, .vertices = model->hosts + model->switches};
    struct nt_estimate *estimate = NULL;
    if (!has_phase(&f, samples) || model->switches == 0 || model->links > NT_LINK_LATENCY_LINKS_MAX)
        return 0;
    NT_SCOPED struct nt_arena memory = {0};
    f.path = nt_arena_array(&memory, f.vertices, sizeof *f.path);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    int rc = root_tree(&f, &memory, err);
    if (rc == 1)
        rc = collect_routes(&f, samples, vertex, err);
    if (rc == 1 && collect_values(&f, samples, vertex, &memory, err) != 0)
        rc = -1;
    if (rc == 1 && lowest && keep_lowest(&f, err) != 0)
        rc = -1;
    if (rc == 1 && nt_estimate_routes(f.routes, &f.measured, &estimate, err) != 0)
        rc = -1;
    if (rc == 1)
        rc = set_links(model, estimate);
    nt_estimate_destroy(estimate);
    fit_fini(&f);
    return rc;
}
