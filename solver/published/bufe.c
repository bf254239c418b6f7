/* SPDX-License-Identifier: Apache-2.0 */
#include "bufe_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void nt_bufe_default(struct nt_bufe_options *options)
{
    *options = (struct nt_bufe_options){.epsilon = 0.15, .work_max = 20000000};
}

static int check_matrix(const struct nt_matrix *m, enum nt_matrix_kind kind, const char *what,
                        struct nt_err *err)
{
    if (m->kind != kind)
        return nt_err_set(err, NT_ERR_INPUT, "bufe: the %s matrix holds something else", what);
    for (size_t i = 0; i < m->n; i++) {
        for (size_t j = 0; j < m->n; j++) {
            float v = nt_matrix_get(m, i, j);
            if (i != j && (v < 0 || isinf(v)))
                return nt_err_set(err, NT_ERR_INPUT,
                                  "bufe: %s of hosts %zu and %zu is %g, expected at least 0", what,
                                  i, j, (double)v);
        }
    }
    return 0;
}

static int check_matrices(const struct nt_matrix *latency, const struct nt_matrix *bandwidth,
                          const struct nt_bufe_options *o, struct nt_err *err)
{
    if (latency->n > NT_BUFE_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "bufe: %zu hosts, the method takes at most %d",
                          latency->n, (int)NT_BUFE_HOSTS_MAX);
    if (!(o->epsilon > 0 && o->epsilon < 2))
        return nt_err_set(err, NT_ERR_INPUT, "bufe: epsilon %g, expected between 0 and 2",
                          o->epsilon);
    if (check_matrix(latency, NT_MATRIX_LATENCY_US, "latency", err) != 0)
        return -1;
    if (bandwidth == NULL)
        return 0;
    if (bandwidth->n != latency->n)
        return nt_err_set(err, NT_ERR_INPUT, "bufe: latencies of %zu hosts, but bandwidths of %zu",
                          latency->n, bandwidth->n);
    return check_matrix(bandwidth, NT_MATRIX_BANDWIDTH_MBPS, "bandwidth", err);
}

/* Assumption 2.1.1: one value a pair. Infinity: not measured. */
static void make_symmetric(const struct nt_matrix *m, float *w)
{
    size_t n = m->n;
    for (size_t i = 0; i < n; i++) {
        w[i * n + i] = INFINITY;
        for (size_t j = 0; j < i; j++) {
            float a = nt_matrix_get(m, i, j), b = nt_matrix_get(m, j, i);
            float v = isnan(a) ? b : isnan(b) ? a : (a + b) / 2;
            w[i * n + j] = w[j * n + i] = isnan(v) ? INFINITY : v;
        }
    }
}

static int compare_edges(const void *a, const void *b)
{
    const struct nt_bufe_edge *x = a, *y = b;
    if (x->latency_us != y->latency_us)
        return x->latency_us > y->latency_us ? 1 : -1;
    if (x->a != y->a)
        return x->a > y->a ? 1 : -1;
    return (x->b > y->b) - (x->b < y->b);
}

static size_t list_candidates(const float *w, size_t n, struct nt_bufe_edge *c)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (isfinite(w[i * n + j]))
                c[k++] = (struct nt_bufe_edge){(uint32_t)i, (uint32_t)j, (double)w[i * n + j]};
    if (k > 0)
        qsort(c, k, sizeof *c, compare_edges);
    return k;
}

/* Equation 2.2: the shortest path from a to b ends with an edge at b, and what comes before it
 * has been measured. */
static float shortest_path(const struct bufe_graph *g, const float *w, size_t a, size_t b)
{
    const float *measured = w + a * g->hosts, *edge = g->weight + b * g->cap;
    float best = INFINITY;
    for (size_t d = 0; d < g->hosts; d++) {
        float length = measured[d] + edge[d];
        best = length < best ? length : best;
    }
    return best;
}

/* Algorithm 1: ascending, a pair becomes an edge where no path is as short. The edges taken move
 * to the front of c. */
static size_t basic_model(struct bufe_graph *g, const float *w, struct nt_bufe_edge *c,
                          size_t count)
{
    size_t kept = 0;
    for (size_t k = 0; k < count; k++) {
        float path = shortest_path(g, w, c[k].a, c[k].b);
        if (c[k].latency_us > (double)path || bufe_equal(c[k].latency_us, path, g->epsilon))
            continue;
        bufe_edge_set(g, c[k].a, c[k].b, (float)c[k].latency_us);
        c[kept++] = c[k];
    }
    return kept;
}

/* The family, without a confidence. */
static enum nt_family family_of(const struct nt_model *m)
{
    size_t host_links = 0, hosts = 0;
    for (size_t h = 0; h < m->hosts; h++)
        hosts += m->missing[h] ? 0 : 1;
    for (size_t k = 0; k < m->links; k++)
        host_links += m->link[k].a < m->hosts && m->link[k].b < m->hosts ? 1 : 0;
    if (m->switches == 0)
        return hosts > 1 && m->links == hosts * (hosts - 1) / 2 ? NT_FAMILY_FULL_MESH
                                                                : NT_FAMILY_IRREGULAR;
    if (host_links > 0 || m->links != hosts + m->switches - 1)
        return NT_FAMILY_IRREGULAR;
    return m->switches == 1 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
}

static int make_model(const struct bufe_graph *g, struct nt_model **out, struct nt_err *err)
{
    size_t switches = 0, links = 0, k = 0;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *name = nt_arena_array(&memory, g->vertices, sizeof *name);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t v = 0; v < g->vertices; v++) {
        if (g->alive[v])
            name[v] = (uint32_t)(v < g->hosts ? v : g->hosts + switches++);
        for (size_t u = 0; u < v; u++)
            links += isfinite(bufe_edge(g, v, u)) ? 1 : 0;
    }
    struct nt_model *m;
    if (nt_model_create(g->hosts, switches, links, &m, err) != 0)
        return -1;
    for (size_t u = 0; u < g->vertices; u++) {
        for (size_t v = u + 1; v < g->vertices; v++) {
            if (!isfinite(bufe_edge(g, u, v)))
                continue;
            m->link[k].a = name[u];
            m->link[k].b = name[v];
            m->link[k++].latency_us = (double)bufe_edge(g, u, v);
        }
    }
    m->confidence = NAN;
    *out = m;
    return 0;
}

static void mark_missing(struct nt_model *m)
{
    for (size_t h = 0; h < m->hosts; h++)
        m->missing[h] = m->hosts > 1;
    for (size_t k = 0; k < m->links; k++) {
        if (m->link[k].a < m->hosts)
            m->missing[m->link[k].a] = false;
        if (m->link[k].b < m->hosts)
            m->missing[m->link[k].b] = false;
    }
}

static int run_method(float *w, const struct nt_matrix *bandwidth, const struct nt_bufe_options *o,
                      struct bufe_graph *g, struct nt_bufe_result *r, struct nt_err *err)
{
    size_t n = g->hosts, count;
    r->basic_edge = nt_arena_array(&r->memory, n * n / 2, sizeof *r->basic_edge);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    count = list_candidates(w, n, r->basic_edge);
    r->basic = basic_model(g, w, r->basic_edge, count);
    if (bufe_find_switches(g, o, r, err) != 0 || make_model(g, &r->model, err) != 0)
        return -1;
    mark_missing(r->model);
    if (nt_model_canonicalise(r->model, err) != 0)
        return -1;
    r->model->family = family_of(r->model);
    return bufe_fit(w, bandwidth, r, err);
}

int nt_bufe_infer(const struct nt_matrix *latency, const struct nt_matrix *bandwidth,
                  const struct nt_bufe_options *options, struct nt_bufe_result **out,
                  struct nt_err *err)
{
    struct nt_bufe_options o;
    nt_bufe_default(&o);
    if (options != NULL)
        o = *options;
    if (check_matrices(latency, bandwidth, &o, err) != 0)
        return -1;
    NT_SCOPED struct nt_arena memory = {0};
    struct bufe_graph g = {0};
    float *w = nt_arena_array(&memory, latency->n * latency->n, sizeof *w);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    struct nt_bufe_result *r = nt_object_create(sizeof *r, err);
    if (r == NULL)
        return -1;
    make_symmetric(latency, w);
    int rc = bufe_graph_init(&g, latency->n, o.epsilon, err);
    if (rc == 0)
        rc = run_method(w, bandwidth, &o, &g, r, err);
    bufe_graph_fini(&g);
    if (rc == 0)
        *out = r;
    else
        nt_bufe_destroy(r);
    return rc;
}

void nt_bufe_destroy(struct nt_bufe_result *result)
{
    if (result == NULL)
        return;
    nt_model_destroy(result->model);
    nt_object_destroy(result);
}
