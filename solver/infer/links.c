/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies of a tree's links by robust weighted least squares, with standard errors.
 *
 * A pair is the sum of two host links and the links between their switches. Hosts behind one switch
 * differ only in their own link, so the problem separates into two independent parts: each host
 * relative to the mean of its switch, and means of switches with links between switches, a small
 * dense system. Outliers are left out (Huber's weights would bias the errors); the unit variance
 * comes from the remaining readings. */
#include <stdlib.h>
#include <string.h>

#include <lapacke.h>

#include "graph.h"
#include "infer_steps.h"
#include "memory.h"
#include "stats.h"

enum { PASSES = 3, SOLVED_MAX = 8192 };

/* Readings beyond this number of sd are left out; at a start that is itself off, only the far
 * ones. */
static const double NEAR = 4.5, FAR = 15;

/* Switches that have hosts are sites. */
struct sites {
    const struct nt_work *w;
    struct nt_model *model;
    size_t count, trunks;     /* sites; links between switches */
    uint32_t *site_of;        /* switches: site or UINT32_MAX */
    uint32_t *at;             /* w->n: site of each host */
    uint32_t *link;           /* w->n: link of each host */
    uint32_t *trunk;          /* trunks: link */
    uint32_t *start, *member; /* hosts by site: the host at each place */
    double *x;                /* w->n places: host links */
    double *by_host;          /* w->n: x by host, at last */
    float *row;               /* w->n: room for readings of one host */
    double *between;          /* count*count: modelled distance */
    double *sum, *weight;     /* count*count, a >= b: residuals kept, how many */
    double *pull, *kept;      /* w->n places: weighted residuals and weights of each host */
    double *matrix, *right;   /* of the small dense system */
    double rss, used, reach;  /* of unit variance; pairs; readings beyond reach are left out */
};

/* Two values at a time, for the loops over all pairs: 16 bytes are in a register of every machine
 * that has such registers, and the compiler makes plain code of it elsewhere. A comparison gives
 * all ones or zero a lane, and is false for NaN. */
enum { LANES = 2 };

typedef double doubles __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t doubles_are __attribute__((vector_size(LANES * sizeof(double))));

static doubles load_doubles(const double *at)
{
    doubles v;
    memcpy(&v, at, sizeof v);
    return v;
}

static void store_doubles(double *at, doubles v)
{
    memcpy(at, &v, sizeof v);
}

/* v where it is so, 0 elsewhere. */
static doubles doubles_where(doubles_are is, doubles v)
{
    return (doubles)((doubles_are)v & is);
}

static void index_links(struct sites *s)
{
    const struct nt_model *m = s->model;
    uint32_t *place = s->start; /* host -> index in w, until start is needed */
    for (size_t i = 0; i < s->w->n; i++)
        place[s->w->host[i]] = (uint32_t)i;
    memset(s->site_of, 0xff, (m->switches + 1) * sizeof *s->site_of);
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        if (a >= m->hosts && b >= m->hosts) {
            s->trunk[s->trunks++] = (uint32_t)k;
            continue;
        }
        uint32_t host = a < m->hosts ? a : b, at = (a < m->hosts ? b : a) - (uint32_t)m->hosts;
        if (s->site_of[at] == UINT32_MAX)
            s->site_of[at] = (uint32_t)s->count++;
        s->at[place[host]] = s->site_of[at];
        s->link[place[host]] = (uint32_t)k;
    }
    memset(s->start, 0, (m->hosts + 2) * sizeof *s->start);
    for (size_t i = 0; i < s->w->n; i++)
        s->start[s->at[i] + 2]++;
    for (size_t a = 2; a <= s->count; a++)
        s->start[a + 1] += s->start[a];
    for (size_t i = 0; i < s->w->n; i++)
        s->member[s->start[s->at[i] + 1]++] = (uint32_t)i;
    for (size_t p = 0; p < s->w->n; p++)
        s->x[p] = m->link[s->link[s->member[p]]].latency_us;
}

static int sites_init(struct sites *s, const struct nt_work *w, struct nt_model *m,
                      struct nt_arena *memory, struct nt_err *err)
{
    *s = (struct sites){.w = w, .model = m, .reach = NEAR};
    s->site_of = nt_arena_array(memory, m->switches + 1, sizeof *s->site_of);
    s->at = nt_arena_array(memory, w->n + 1, sizeof *s->at);
    s->link = nt_arena_array(memory, w->n + 1, sizeof *s->link);
    s->trunk = nt_arena_array(memory, m->links + 1, sizeof *s->trunk);
    s->start = nt_arena_array(memory, m->hosts + 3, sizeof *s->start);
    s->member = nt_arena_array(memory, w->n + 1, sizeof *s->member);
    s->row = nt_arena_array(memory, w->n + 1, sizeof *s->row);
    double **of_hosts[] = {&s->x, &s->by_host, &s->pull, &s->kept};
    for (size_t k = 0; k < sizeof of_hosts / sizeof *of_hosts; k++)
        *of_hosts[k] = nt_arena_array(memory, w->n + 1, sizeof **of_hosts[k]);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    index_links(s);
    size_t unknowns = s->count + s->trunks, square = s->count * s->count + 1;
    s->between = nt_arena_array(memory, square, sizeof *s->between);
    s->sum = nt_arena_array(memory, square, sizeof *s->sum);
    s->weight = nt_arena_array(memory, square, sizeof *s->weight);
    s->matrix = nt_arena_array(memory, unknowns * unknowns + 1, sizeof *s->matrix);
    s->right = nt_arena_array(memory, unknowns + 1, sizeof *s->right);
    return nt_arena_check(memory, err);
}

/* ---- walks over the tree of switches ---- */

struct climb {
    struct nt_graph graph;  /* of switches and trunks */
    uint32_t *stack, *path; /* switches to visit; trunks down to the present one */
    uint32_t *depth, *from;
};

static int climb_init(struct climb *k, const struct sites *s, struct nt_arena *memory,
                      struct nt_err *err)
{
    size_t v = s->model->switches;
    struct nt_model trunks = {.switches = v, .links = s->trunks};
    trunks.link = nt_arena_array(memory, s->trunks, sizeof *trunks.link);
    uint32_t **of_switches[] = {&k->stack, &k->path, &k->depth, &k->from};
    for (size_t x = 0; x < sizeof of_switches / sizeof *of_switches; x++)
        *of_switches[x] = nt_arena_array(memory, v + 1, sizeof **of_switches[x]);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t t = 0; t < s->trunks; t++) {
        const struct nt_link *l = &s->model->link[s->trunk[t]];
        trunks.link[t].a = l->a - (uint32_t)s->model->hosts;
        trunks.link[t].b = l->b - (uint32_t)s->model->hosts;
    }
    return nt_graph_init(&k->graph, &trunks, memory, err);
}

/* Called for the path from site a to site b: trunks path[0..length). */
typedef void visit_fn(struct sites *s, size_t a, size_t b, const uint32_t *path, size_t length);

static void walk_from(struct climb *k, struct sites *s, uint32_t from, visit_fn *visit)
{
    const struct nt_graph *g = &k->graph;
    size_t top = 0;
    k->stack[top++] = from;
    k->depth[from] = 0;
    k->from[from] = UINT32_MAX;
    while (top > 0) {
        uint32_t v = k->stack[--top];
        if (k->from[v] != UINT32_MAX)
            k->path[k->depth[v] - 1] = k->from[v];
        if (s->site_of[v] != UINT32_MAX && s->site_of[v] <= s->site_of[from])
            visit(s, s->site_of[from], s->site_of[v], k->path, k->depth[v]);
        for (size_t p = g->start[v]; p < g->start[v + 1]; p++) {
            if (g->link[p] == k->from[v])
                continue;
            k->from[g->to[p]] = g->link[p];
            k->depth[g->to[p]] = k->depth[v] + 1;
            k->stack[top++] = g->to[p];
        }
    }
}

static void walk_all(struct climb *k, struct sites *s, visit_fn *visit)
{
    for (uint32_t v = 0; v < s->model->switches; v++)
        if (s->site_of[v] != UINT32_MAX)
            walk_from(k, s, v, visit);
}

static void set_between(struct sites *s, size_t a, size_t b, const uint32_t *path, size_t length)
{
    double sum = 0;
    for (size_t k = 0; k < length; k++)
        sum += s->model->link[s->trunk[path[k]]].latency_us;
    s->between[a * s->count + b] = s->between[b * s->count + a] = sum;
}

/* The block of pairs between sites a and b measures x_a + x_b + the trunks between. */
static void add_block(struct sites *s, size_t a, size_t b, const uint32_t *path, size_t length)
{
    size_t n = s->count + s->trunks;
    double weight = s->weight[a * s->count + b], sum = s->sum[a * s->count + b];
    if (!(weight > 0))
        return;
    size_t column[3] = {a, b, 0};
    double times[2] = {a == b ? 2 : 1, 1};
    size_t own = a == b ? 1 : 2;
    for (size_t k = 0; k < own; k++) {
        s->right[column[k]] += times[k] * sum;
        for (size_t l = 0; l < own; l++)
            if (column[l] <= column[k])
                s->matrix[column[k] * n + column[l]] += times[k] * times[l] * weight;
        for (size_t l = 0; l < length; l++)
            s->matrix[(s->count + path[l]) * n + column[k]] += weight;
    }
    for (size_t k = 0; k < length; k++) {
        s->right[s->count + path[k]] += sum;
        for (size_t l = 0; l < length; l++)
            if (path[l] <= path[k])
                s->matrix[(s->count + path[k]) * n + s->count + path[l]] += weight;
    }
}

/* ---- one pass over the readings ---- */

/* Readings of one host with those at places first..last: in place, or copied to be contiguous. */
static const float *readings_between(const struct sites *s, const float *row, size_t first,
                                     size_t last)
{
    const uint32_t *member = s->member;
    if (member[last - 1] - member[first] == last - 1 - first)
        return row + member[first];
    for (size_t q = first; q < last; q++)
        s->row[q - first] = row[member[q]];
    return s->row;
}

/* The residuals of one host's readings with a block of hosts, those within reach. */
struct left {
    double sum, square, used;
};

/* Readings of a block less the links of the other hosts, their limit of deviation, and their
 * weights. */
struct block {
    double base, far, weight;
};

/* d: count readings; the sites' x, pull and kept are of the hosts from place first on. */
static struct left add_row(struct sites *s, const float *d, size_t first, size_t count,
                           struct block block)
{
    const double base = block.base, far = block.far, weight = block.weight;
    const double *x = s->x + first;
    double *pull = s->pull + first, *kept = s->kept + first;
    doubles sum = {0}, square = {0}, used = {0};
    const doubles one = {1, 1};
    size_t q = 0;
    for (; q + LANES <= count; q += LANES) {
        doubles r = (doubles){(double)d[q], (double)d[q + 1]} - base - load_doubles(x + q);
        doubles_are near = r * r < far * far;
        doubles in = doubles_where(near, one);
        r = doubles_where(near, r);
        sum += r;
        square += r * r;
        used += in;
        store_doubles(pull + q, load_doubles(pull + q) + r * weight);
        store_doubles(kept + q, load_doubles(kept + q) + in * weight);
    }
    struct left all = {sum[0] + sum[1], square[0] + square[1], used[0] + used[1]};
    for (; q < count; q++) {
        double r = (double)d[q] - base - x[q];
        if (!(fabs(r) < far))
            continue;
        all.sum += r;
        all.square += r * r;
        all.used++;
        pull[q] += r * weight;
        kept[q] += weight;
    }
    return all;
}

/* As above with a weight per reading, of the host at place p with those at first..last. */
static struct left add_weighted_row(struct sites *s, size_t p, size_t first, size_t last,
                                    struct block block)
{
    const double base = block.base, far = block.far, weight = block.weight;
    size_t row = s->member[p] * s->w->n;
    struct left all = {0};
    for (size_t q = first; q < last; q++) {
        double part = (double)s->w->weight[row + s->member[q]];
        double r = (double)s->w->d[row + s->member[q]] - base - s->x[q];
        if (!(part * r * r < far * far))
            continue;
        all.sum += part * r;
        all.square += part * r * r;
        all.used += part;
        s->pull[q] += part * r * weight;
        s->kept[q] += part * weight;
    }
    return all;
}

static void add_pairs(struct sites *s, size_t a, size_t b, double sd)
{
    double distance = s->between[a * s->count + b], weight = 1 / (sd * sd), total = 0, used = 0;
    size_t first = s->start[b];
    for (size_t p = s->start[a]; p < s->start[a + 1]; p++) {
        size_t last = a == b ? p : s->start[b + 1];
        if (last == first)
            continue;
        const float *d = readings_between(s, s->w->d + s->member[p] * s->w->n, first, last);
        struct block block = {s->x[p] + distance, s->reach * sd, weight};
        struct left left = s->w->weight != NULL ? add_weighted_row(s, p, first, last, block)
                                                : add_row(s, d, first, last - first, block);
        s->pull[p] += left.sum * weight;
        s->kept[p] += left.used * weight;
        s->rss += left.square * weight;
        total += left.sum;
        used += left.used;
    }
    s->sum[a * s->count + b] = total * weight;
    s->weight[a * s->count + b] = used * weight;
    s->used += used;
}

static double block_sd(const struct sites *s, size_t a, size_t b)
{
    double level = s->between[a * s->count + b] + s->x[s->start[a]] + s->x[s->start[b]];
    return nt_noise_sd(&s->w->noise, level);
}

static void sum_readings(struct sites *s)
{
    memset(s->pull, 0, s->w->n * sizeof *s->pull);
    memset(s->kept, 0, s->w->n * sizeof *s->kept);
    s->rss = s->used = 0;
    for (size_t a = 0; a < s->count; a++)
        for (size_t b = 0; b <= a; b++)
            add_pairs(s, a, b, block_sd(s, a, b));
}

/* Whether most readings of a host, or all among the hosts of a switch, are out of reach: after a
 * link was removed, links beside it have wrong starting values and would never change. Missing
 * readings count, too, which costs a pass. */
static bool starts_off(const struct sites *s)
{
    for (size_t a = 0; a < s->count; a++) {
        double all = 0;
        for (size_t b = 0; b < s->count; b++) {
            double sd = block_sd(s, a, b);
            all += (double)(s->start[b + 1] - s->start[b]) / (sd * sd);
        }
        if (s->start[a + 1] - s->start[a] > 1 && !(s->weight[a * s->count + a] > 0))
            return true;
        for (size_t p = s->start[a]; p < s->start[a + 1]; p++)
            if (2 * s->kept[p] < all)
                return true;
    }
    return false;
}

/* Precision of a host's link relative to the mean of its switch. */
static double host_weight(const struct sites *s, size_t a, size_t p)
{
    double m = (double)(s->start[a + 1] - s->start[a]);
    double inside = m > 1 ? s->weight[a * s->count + a] / (m * (m - 1) / 2) : 0;
    return s->kept[p] - inside;
}

/* Replaces right by the solution, and the matrix (its lower half is set) by the input of
 * set_errors. A ridge far below any value leaves directions without measurements unchanged. */
static int solve_matrix(struct sites *s, size_t n, struct nt_err *err)
{
    double most = 0;
    if (n > SOLVED_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu unknowns, at most %d", n, (int)SOLVED_MAX);
    for (size_t k = 0; k < n; k++)
        most = fmax(most, s->matrix[k * n + k]);
    for (size_t k = 0; k < n; k++)
        s->matrix[k * n + k] += most * 1e-10 + 1e-300;
    /* our rows are its columns: the lower half is its upper one */
    lapack_int size = (lapack_int)n, one = 1, info = 0;
    if (n > 0)
        LAPACK_dposv("U", &size, &one, s->matrix, &size, s->right, &size, &info);
    if (info != 0)
        return nt_err_set(err, NT_ERR_INPUT, "a matrix of %zu is not positive definite", n);
    return 0;
}

static int climb_step(struct sites *s, struct climb *k, bool first, struct nt_err *err)
{
    size_t n = s->count + s->trunks;
    walk_all(k, s, set_between);
    sum_readings(s);
    if (first && starts_off(s)) {
        s->reach = FAR;
        sum_readings(s);
        s->reach = NEAR;
    }
    memset(s->matrix, 0, n * n * sizeof *s->matrix);
    memset(s->right, 0, n * sizeof *s->right);
    walk_all(k, s, add_block);
    if (solve_matrix(s, n, err) != 0)
        return -1;
    for (size_t a = 0; a < s->count; a++) {
        double mean = 0, count = 0;
        for (size_t p = s->start[a]; p < s->start[a + 1]; p++) {
            double weight = host_weight(s, a, p);
            mean += weight > 0 ? s->pull[p] / s->kept[p] : 0;
            count++;
        }
        mean /= count;
        for (size_t p = s->start[a]; p < s->start[a + 1]; p++) {
            double weight = host_weight(s, a, p);
            if (weight > 1e-9 * s->kept[p] && count > 1)
                s->x[p] += (s->pull[p] - mean * s->kept[p]) / weight;
            s->x[p] += s->right[a];
        }
    }
    for (size_t t = 0; t < s->trunks; t++)
        s->model->link[s->trunk[t]].latency_us += s->right[s->count + t];
    return 0;
}

/* NaN if nothing measures the direction, which then depends only on the ridge of solve_matrix,
 * 1e-10 of the largest weight, or 1e-300 if there is none. least: of all variances. */
static double error_of(double unit, double variance, double least)
{
    return variance < 1e9 * least && variance < 1e200 ? unit * sqrt(variance) : (double)NAN;
}

/* The diagonal of the inverse, into right: of U^-1 U^-T, where U is the factor by solve_matrix. The
 * product as a whole would take half of the time. */
static int set_variances(struct sites *s, size_t n, struct nt_err *err)
{
    lapack_int size = (lapack_int)n, info = 0;
    if (n > 0)
        LAPACK_dtrtri("U", "N", &size, s->matrix, &size, &info);
    if (info != 0)
        return nt_err_set(err, NT_ERR_INPUT, "a factor of %zu is singular", n);
    memset(s->right, 0, n * sizeof *s->right);
    for (size_t k = 0; k < n; k++)
        for (size_t l = 0; l <= k; l++)
            s->right[l] += s->matrix[k * n + l] * s->matrix[k * n + l];
    return 0;
}

/* Standard errors; those from few readings are enlarged so that twice an error still covers 95
 * %. */
static int set_errors(struct sites *s, struct nt_err *err)
{
    size_t n = s->count + s->trunks;
    double df = s->used - (double)s->w->n - (double)s->trunks, unit = NAN;
    if (df >= 1)
        unit = sqrt(s->rss / df) * nt_student_quantile(0.975, df) / NT_SDS_95;
    else if (s->w->noise.known)
        unit = 1;
    if (n > NT_UNKNOWNS_MAX)
        unit = NAN;
    else if (set_variances(s, n, err) != 0)
        return -1;
    const double *variance_of = s->right;
    double least = INFINITY;
    for (size_t k = 0; k < n; k++)
        least = fmin(least, variance_of[k]);
    for (size_t p = 0; p < s->w->n; p++) {
        size_t i = s->member[p], a = s->at[i];
        double m = (double)(s->start[a + 1] - s->start[a]), weight = host_weight(s, a, p);
        double variance = variance_of[a];
        if (m > 1)
            variance += weight > 1e-9 * s->kept[p] ? (1 - 1 / m) / weight : NAN;
        struct nt_link *l = &s->model->link[s->link[i]];
        l->latency_us = s->x[p];
        l->latency_se_us = error_of(unit, variance, least);
    }
    for (size_t t = 0; t < s->trunks; t++)
        s->model->link[s->trunk[t]].latency_se_us =
            error_of(unit, variance_of[s->count + t], least);
    return 0;
}

/* Hosts that differ more than their links are long leave some with none: every host has one. */
static void raise_zero_host_links(struct sites *s)
{
    const double LEAST = 0.01;
    double sum = 0;
    for (size_t i = 0; i < s->w->n; i++)
        sum += s->model->link[s->link[i]].latency_us;
    for (size_t i = 0; i < s->w->n; i++) {
        double *us = &s->model->link[s->link[i]].latency_us;
        *us = fmax(*us, LEAST * sum / (double)s->w->n);
    }
}

/* ---- residuals of the fit ---- */

/* Residuals of the fit of links. */

enum { PAIRS_OFF_MAX = 65536 };

/* Relative: exact readings leave that little. */
static const double ROUNDING = 5e-5;

static int add_off(struct nt_model *m, size_t i, size_t j, size_t *capacity, struct nt_err *err)
{
    if (m->pairs_off >= PAIRS_OFF_MAX)
        return 0;
    if (m->pairs_off == *capacity) {
        size_t more = *capacity * 2 + 16;
        uint32_t(*grown)[2] = realloc(m->pair_off, more * sizeof *grown);
        if (grown == NULL)
            return nt_err_memory(err);
        m->pair_off = grown;
        *capacity = more;
    }
    m->pair_off[m->pairs_off][0] = (uint32_t)i;
    m->pair_off[m->pairs_off++][1] = (uint32_t)j;
    return 0;
}

/* Sums over readings, and whether the fit leaves more of one than may be. */
struct quality {
    doubles sum, square, rest;
    bool off;
};

/* The expected readings of a host from its switch, by the host at the other end. */
struct view {
    double *far_end; /* n: latency without the host's own link */
    double *most;    /* n: largest square of a residual, or less */
    double *least;   /* sites: shortest host link */
    double *x;       /* n: host links */
};

/* d: the readings of a host to the count before it, NaN not measured. */
static void add_quality(struct quality *q, const float *d, const struct view *view, size_t count,
                        double own)
{
    doubles_are off = {0};
    size_t j = 0;
    for (; j + LANES <= count; j += LANES) {
        doubles v = {(double)d[j], (double)d[j + 1]};
        doubles r = v - load_doubles(view->far_end + j) - own, square = r * r;
        q->sum += doubles_where(v == v, v);
        q->square += doubles_where(v == v, v * v);
        q->rest += doubles_where(v == v, square);
        off |= square > load_doubles(view->most + j);
    }
    q->off = (off[0] | off[1]) != 0;
    for (; j < count; j++) {
        double v = (double)d[j], r = v - view->far_end[j] - own;
        if (v != v)
            continue;
        q->sum[0] += v;
        q->square[0] += v * v;
        q->rest[0] += r * r;
        q->off |= r * r > view->most[j];
    }
}

/* Lists the pairs of host i with earlier hosts that are off by more than limit sd. */
static int add_off_row(struct sites *s, size_t i, const struct view *view, double limit,
                       size_t *capacity, struct nt_err *err)
{
    const float *d = s->w->d + i * s->w->n;
    for (size_t j = 0; j < i; j++) {
        double p = view->x[i] + view->far_end[j], r = (double)d[j] - p;
        if (r * r > view->most[j] && fabs(r) > limit * nt_noise_sd(&s->w->noise, p) &&
            add_off(s->model, s->w->host[i], s->w->host[j], capacity, err) < 0)
            return -1;
    }
    return 0;
}

static void view_from(const struct sites *s, size_t site, double limit, struct view *view)
{
    const double *between = s->between + site * s->count;
    for (size_t b = 0; b < s->count; b++) {
        double level = view->least[site] + between[b] + view->least[b];
        double most = limit * nt_noise_sd(&s->w->noise, level);
        for (size_t p = s->start[b]; p < s->start[b + 1]; p++) {
            view->far_end[s->member[p]] = s->x[p] + between[b];
            view->most[s->member[p]] = 0.999 * most * most; /* rounding hides none */
        }
    }
}

/* In the arrays of the passes, for none follows. */
static void view_init(const struct sites *s, struct view *view)
{
    *view = (struct view){s->pull, s->kept, s->right, s->by_host};
    for (size_t a = 0; a < s->count; a++) {
        view->least[a] = INFINITY;
        for (size_t p = s->start[a]; p < s->start[a + 1]; p++) {
            view->x[s->member[p]] = s->x[p];
            view->least[a] = fmin(view->least[a], s->x[p]);
        }
    }
}

/* Sum of the squared residuals of the pairs that are off. */
static double off_square(const struct sites *s, const struct view *view)
{
    const struct nt_work *w = s->w;
    double sum = 0;
    for (size_t i = 0, next = 0; i < w->n && next < s->model->pairs_off; i++) {
        if (s->model->pair_off[next][0] != w->host[i])
            continue;
        view_from(s, s->at[i], 1, (struct view *)view);
        for (size_t j = 0; j < i && next < s->model->pairs_off; j++) {
            bool is = s->model->pair_off[next][0] == w->host[i] &&
                      s->model->pair_off[next][1] == w->host[j];
            double r = (double)w->d[i * w->n + j] - view->x[i] - view->far_end[j];
            sum += is ? r * r : 0;
            next += is;
        }
    }
    return sum;
}

/* R2 over all measured pairs, rms over those that fit. A pair is off if not one in a hundred
 * networks without outliers has such a pair. */
static int judge_quality(struct sites *s, struct nt_err *err)
{
    const struct nt_work *w = s->w;
    double count = (double)w->pairs;
    double df = s->used - (double)w->n - (double)s->trunks;
    double unit = df >= 1 ? sqrt(s->rss / df) : 1;
    double limit = -nt_normal_quantile(0.005 / (count > 1 ? count : 1)) * unit;
    struct quality q = {{0}, {0}, {0}, false};
    struct view view;
    size_t capacity = 0;
    view_init(s, &view);
    s->model->pairs_off = 0; /* of the fit before */
    for (size_t i = 0; i < w->n; i++) {
        if (i == 0 || s->at[i] != s->at[i - 1])
            view_from(s, s->at[i], limit, &view);
        add_quality(&q, w->d + i * w->n, &view, i, view.x[i]);
        if (q.off && df >= 1 && add_off_row(s, i, &view, limit, &capacity, err) < 0)
            return -1;
    }
    double sum = q.sum[0] + q.sum[1], rest = q.rest[0] + q.rest[1], off = off_square(s, &view);
    double square = q.square[0] + q.square[1], spread = square - sum * sum / count;
    double fits = count - (double)s->model->pairs_off;
    s->model->rms_us = sqrt(fmax(0, rest - off) / fmax(fits, 1));
    s->model->r2 = spread > 1e-9 * square ? 1 - rest / spread : NAN;
    /* a link lengthens a reading across it by twice its latency relative to other readings */
    double level = count > 0 ? sum / count : 0, rms = s->model->rms_us;
    double resolution = NT_SDS_95 * sqrt(2) / 2 * unit * nt_noise_sd(&w->noise, level);
    resolution = rms < ROUNDING * level ? fmax(resolution, rms) : resolution;
    s->model->resolution_us = fmin(resolution, level / 2); /* no link is longer */
    return 0;
}

int nt_links_fit(const struct nt_work *w, struct nt_model *model, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct sites s;
    struct climb k;
    if (sites_init(&s, w, model, &memory, err) < 0 || climb_init(&k, &s, &memory, err) < 0)
        return -1;
    for (int p = 0; p < PASSES; p++)
        if (climb_step(&s, &k, p == 0, err) < 0)
            return -1;
    if (set_errors(&s, err) < 0)
        return -1;
    walk_all(&k, &s, set_between);
    if (judge_quality(&s, err) < 0)
        return -1;
    for (size_t l = 0; l < model->links; l++)
        if (!(model->link[l].latency_us > 0)) /* a path cannot get shorter by a link */
            model->link[l].latency_us = 0;
    raise_zero_host_links(&s);
    return 0;
}
