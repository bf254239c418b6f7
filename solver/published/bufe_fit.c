/* SPDX-License-Identifier: Apache-2.0 */
/* Section 2.4: the latencies of links that cannot be measured by themselves, by a linear
 * regression over all pairs of hosts; and the links' throughputs, as far as pairs show them (2.3).
 */
#include "bufe_graph.h"

#include <lapacke.h>
#include <string.h>

#include "graph.h"

struct waiting {
    double distance;
    uint32_t vertex;
};

/* Shortest paths from one host; a path counts only where it is the only one (2.4). */
struct paths {
    size_t vertices;
    struct nt_graph graph;
    struct waiting *heap; /* 2*links + 1 of them */
    size_t waiting;
    double *distance;
    uint32_t *via, *previous; /* the last link of the path, and the vertex before it */
    bool *done, *several;
};

struct fit {
    const struct nt_model *model;
    const float *latency;              /* hosts*hosts, infinity: not measured */
    const struct nt_matrix *bandwidth; /* may be NULL */
    struct nt_bufe_result *r;
    double *throughput; /* links of them, MB/s; 0: unknown */
    double *normal;     /* links*links: A'A */
    double *right;      /* links: A'b */
    double sum, sum_squares, residual_squares;
    size_t rows;
};

static int paths_init(struct paths *p, const struct nt_model *m, struct nt_arena *memory,
                      struct nt_err *err)
{
    size_t v = m->hosts + m->switches;
    *p = (struct paths){.vertices = v};
    p->heap = nt_arena_array(memory, 2 * m->links + 1, sizeof *p->heap);
    p->distance = nt_arena_array(memory, v, sizeof *p->distance);
    p->via = nt_arena_array(memory, v, sizeof *p->via);
    p->previous = nt_arena_array(memory, v, sizeof *p->previous);
    p->done = nt_arena_array(memory, v, sizeof *p->done);
    p->several = nt_arena_array(memory, v, sizeof *p->several);
    return nt_graph_init(&p->graph, m, memory, err);
}

static bool heap_before(struct waiting a, struct waiting b)
{
    return a.distance != b.distance ? a.distance < b.distance : a.vertex < b.vertex;
}

static void heap_push(struct paths *p, struct waiting w)
{
    size_t k = p->waiting++;
    for (; k > 0 && heap_before(w, p->heap[(k - 1) / 2]); k = (k - 1) / 2)
        p->heap[k] = p->heap[(k - 1) / 2];
    p->heap[k] = w;
}

static struct waiting heap_pop(struct paths *p)
{
    struct waiting first = p->heap[0], last = p->heap[--p->waiting];
    size_t k = 0;
    for (size_t child; (child = 2 * k + 1) < p->waiting; k = child) {
        if (child + 1 < p->waiting && heap_before(p->heap[child + 1], p->heap[child]))
            child++;
        if (!heap_before(p->heap[child], last))
            break;
        p->heap[k] = p->heap[child];
    }
    p->heap[k] = last;
    return first;
}

static void relax_vertex(struct paths *p, const struct nt_model *m, uint32_t u)
{
    for (uint32_t k = p->graph.start[u]; k < p->graph.start[u + 1]; k++) {
        uint32_t link = p->graph.link[k], to = p->graph.to[k];
        double d = p->distance[u] + m->link[link].latency_us;
        if (p->done[to])
            continue;
        if (d < p->distance[to] * (1 - 1e-6)) {
            p->distance[to] = d;
            p->via[to] = link;
            p->previous[to] = u;
            p->several[to] = p->several[u];
            heap_push(p, (struct waiting){d, to});
        } else if (d <= p->distance[to] * (1 + 1e-6)) {
            p->several[to] = true;
        }
    }
}

/* Dijkstra. Each push follows a step not taken before, so 2*links + 1 places are enough. */
static void paths_from(struct paths *p, const struct nt_model *m, uint32_t source)
{
    for (size_t v = 0; v < p->vertices; v++) {
        p->distance[v] = INFINITY;
        p->done[v] = p->several[v] = false;
    }
    p->distance[source] = 0;
    p->waiting = 0;
    heap_push(p, (struct waiting){0, source});
    while (p->waiting > 0) {
        uint32_t u = heap_pop(p).vertex;
        if (p->done[u])
            continue;
        p->done[u] = true;
        relax_vertex(p, m, u);
    }
}

/* One value a pair, the mean of both directions; 0: not measured. */
static double pair_bandwidth(const struct nt_matrix *b, size_t i, size_t j)
{
    float x = nt_matrix_get(b, i, j), y = nt_matrix_get(b, j, i);
    float v = isnan(x) ? y : isnan(y) ? x : (x + y) / 2;
    return isnan(v) ? 0 : (double)v;
}

typedef void pair_work(struct fit *f, const struct paths *p, uint32_t from, uint32_t to);

/* A pair's throughput is the smallest on its path (assumption 2.1.3), so a link has at least
 * the largest of the pairs that use it. */
static void see_throughput(struct fit *f, const struct paths *p, uint32_t from, uint32_t to)
{
    double t = pair_bandwidth(f->bandwidth, from, to);
    for (uint32_t v = to; v != from; v = p->previous[v])
        if (t > f->throughput[p->via[v]])
            f->throughput[p->via[v]] = t;
}

static double measured_latency(const struct fit *f, uint32_t from, uint32_t to)
{
    return (double)f->latency[from * f->model->hosts + to];
}

/* A row of A: the links on the path. Only A'A and A'b are kept; A would have n*(n-1)/2 rows. */
static void add_row(struct fit *f, const struct paths *p, uint32_t from, uint32_t to)
{
    double latency = measured_latency(f, from, to);
    if (!isfinite(latency))
        return;
    for (uint32_t v = to; v != from; v = p->previous[v]) {
        for (uint32_t u = to; u != from; u = p->previous[u])
            f->normal[(size_t)p->via[v] * f->model->links + p->via[u]] += 1;
        f->right[p->via[v]] += latency;
    }
    f->rows++;
    f->sum += latency;
    f->sum_squares += latency * latency;
}

static void add_residual(struct fit *f, const struct paths *p, uint32_t from, uint32_t to)
{
    double latency = measured_latency(f, from, to);
    if (!isfinite(latency))
        return;
    for (uint32_t v = to; v != from; v = p->previous[v])
        latency -= f->r->fitted_us[p->via[v]];
    f->residual_squares += latency * latency;
}

static void for_each_pair(struct fit *f, struct paths *p, pair_work *work)
{
    for (uint32_t from = 0; from < f->model->hosts; from++) {
        paths_from(p, f->model, from);
        for (uint32_t to = from + 1; to < f->model->hosts; to++)
            if (p->done[to] && !p->several[to])
                work(f, p, from, to);
    }
}

/* Cholesky of a copy (scratch); false where A'A is singular or nearly so. */
static bool solve_regular(struct fit *f, lapack_int n, double *copy)
{
    double reciprocal = 0;
    memcpy(copy, f->normal, (size_t)n * (size_t)n * sizeof *copy);
    double norm = LAPACKE_dlansy(LAPACK_COL_MAJOR, '1', 'L', n, copy, n);
    return LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, copy, n) == 0 &&
           LAPACKE_dpocon(LAPACK_COL_MAJOR, 'L', n, copy, n, norm, &reciprocal) == 0 &&
           reciprocal > 1e-9 &&
           LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', n, 1, copy, n, f->r->fitted_us, n) == 0;
}

/* Least squares; where links cannot be told apart, the solution of smallest norm. */
static int solve_fit(struct fit *f, struct nt_err *err)
{
    lapack_int n = (lapack_int)f->model->links, rank = n, info = 0;
    NT_SCOPED struct nt_arena memory = {0};
    double *copy = nt_arena_array(&memory, (size_t)n * (size_t)n, sizeof *copy);
    lapack_int *order = nt_arena_array(&memory, (size_t)n, sizeof *order);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memcpy(f->r->fitted_us, f->right, f->model->links * sizeof *f->right);
    if (!solve_regular(f, n, copy))
        info = LAPACKE_dgelsy(LAPACK_COL_MAJOR, n, n, 1, f->normal, n, f->r->fitted_us, n, order,
                              1e-9, &rank);
    if (info != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "bufe: the regression failed (%d)", (int)info);
    f->r->rank = (size_t)rank;
    f->r->rows = f->rows;
    f->r->fitted = true;
    return 0;
}

static void set_figures(struct fit *f, struct nt_model *m)
{
    for (size_t k = 0; k < m->links && f->r->fitted; k++) /* a model has no negative lengths */
        m->link[k].latency_us = f->r->fitted_us[k] > 0 ? f->r->fitted_us[k] : 0;
    for (size_t k = 0; k < m->links; k++) {
        if (f->throughput[k] > 0)
            m->link[k].bandwidth_MBps = m->link[k].bandwidth_back_MBps = f->throughput[k];
        /* one flow does not fill a link between switches (2.3.3) */
        m->link[k].at_least =
            f->throughput[k] > 0 && m->link[k].a >= m->hosts && m->link[k].b >= m->hosts;
    }
    if (!f->r->fitted)
        return;
    double total = f->sum_squares - f->sum * f->sum / (double)f->rows;
    if (f->residual_squares < 1e-18 * f->sum_squares) /* rounding, which differs by machine */
        f->residual_squares = 0;
    m->rms_us = sqrt(f->residual_squares / (double)f->rows);
    m->r2 = total > 1e-12 * f->sum_squares ? 1 - f->residual_squares / total : 1;
}

int bufe_fit(const float *symmetric, const struct nt_matrix *bandwidth, struct nt_bufe_result *r,
             struct nt_err *err)
{
    struct nt_model *m = r->model;
    struct fit fit = {.model = m, .latency = symmetric, .bandwidth = bandwidth, .r = r}, *f = &fit;
    NT_SCOPED struct nt_arena memory = {0};
    struct paths p;
    if (m->links == 0 || m->links > NT_BUFE_FIT_LINKS_MAX)
        return 0;
    f->throughput = nt_arena_array(&memory, m->links, sizeof *f->throughput);
    f->normal = nt_arena_array(&memory, m->links * m->links, sizeof *f->normal);
    f->right = nt_arena_array(&memory, m->links, sizeof *f->right);
    r->fitted_us = nt_arena_array(&r->memory, m->links, sizeof *r->fitted_us);
    if (nt_arena_check(&r->memory, err) != 0 || paths_init(&p, m, &memory, err) != 0)
        return -1;
    int rc = 0;
    if (f->bandwidth != NULL)
        for_each_pair(f, &p, see_throughput);
    for_each_pair(f, &p, add_row);
    if (f->rows > 0 && (rc = solve_fit(f, err)) == 0)
        for_each_pair(f, &p, add_residual);
    if (rc == 0)
        set_figures(f, m);
    return rc;
}
