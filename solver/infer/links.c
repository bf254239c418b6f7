/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies of a tree's links by robust weighted least squares, with standard errors.
 *
 * A pair is the two host links plus the links between their switches. Hosts behind one switch
 * differ only in their own link, so the problem falls into two parts that do not disturb each
 * other: the hosts against the mean of their switch, each by itself, and means of switches with
 * links between switches, a small dense system. Readings far off are left out (Huber's weights
 * would bend the errors); the unit variance comes from what is kept. */
#include "links.h"

#include <stdlib.h>
#include <string.h>

#include <lapacke.h>

#include "lanes.h"
#include "links_work.h"
#include "stats.h"
#include "work.h"

enum { PASSES = 3, UNKNOWNS_MAX = 1500, SOLVED_MAX = 8192 };

/* Readings that are so many sd off are left out; of a start that is off itself, only those far off.
 */
static const double NEAR = 4.5, FAR = 15;

static void sites_fini(struct nt_link_sites *s)
{
    void *all[] = {s->site_of, s->at,   s->link,    s->trunk,   s->start,  s->member,
                   s->x,       s->row,  s->by_host, s->between, s->weight, s->sum,
                   s->pull,    s->kept, s->matrix,  s->right};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

static void index_links(struct nt_link_sites *s)
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

static int sites_init(struct nt_link_sites *s, const struct nt_work *w, struct nt_model *m,
                      struct nt_err *err)
{
    *s = (struct nt_link_sites){.w = w, .model = m, .reach = NEAR};
    s->site_of = malloc((m->switches + 1) * sizeof *s->site_of);
    s->at = malloc((w->n + 1) * sizeof *s->at);
    s->link = malloc((w->n + 1) * sizeof *s->link);
    s->trunk = malloc((m->links + 1) * sizeof *s->trunk);
    s->start = malloc((m->hosts + 3) * sizeof *s->start);
    s->member = malloc((w->n + 1) * sizeof *s->member);
    s->x = malloc((w->n + 1) * sizeof *s->x);
    s->row = malloc((w->n + 1) * sizeof *s->row);
    s->by_host = malloc((w->n + 1) * sizeof *s->by_host);
    s->pull = malloc((w->n + 1) * sizeof *s->pull);
    s->kept = malloc((w->n + 1) * sizeof *s->kept);
    if (!s->site_of || !s->at || !s->link || !s->trunk || !s->start || !s->member || !s->x ||
        !s->row || !s->by_host || !s->pull || !s->kept)
        return nt_err_memory(err);
    index_links(s);
    size_t unknowns = s->count + s->trunks;
    s->between = malloc((s->count * s->count + 1) * sizeof *s->between);
    s->sum = malloc((s->count * s->count + 1) * sizeof *s->sum);
    s->weight = malloc((s->count * s->count + 1) * sizeof *s->weight);
    s->matrix = malloc((unknowns * unknowns + 1) * sizeof *s->matrix);
    s->right = malloc((unknowns + 1) * sizeof *s->right);
    if (!s->between || !s->sum || !s->weight || !s->matrix || !s->right)
        return nt_err_memory(err);
    return 0;
}

/* ---- walks over the tree of switches ---- */

struct climb {
    size_t *start;
    uint32_t *to, *trunk;   /* neighbours, and the number of the trunk */
    uint32_t *stack, *path; /* switches to visit; trunks down to the present one */
    uint32_t *depth, *from;
};

static void climb_fini(struct climb *k)
{
    free(k->start);
    free(k->to);
    free(k->trunk);
    free(k->stack);
    free(k->path);
    free(k->depth);
    free(k->from);
}

static int climb_init(struct climb *k, const struct nt_link_sites *s, struct nt_err *err)
{
    size_t v = s->model->switches, h = s->model->hosts;
    *k = (struct climb){calloc(v + 3, sizeof(size_t)),
                        malloc((2 * s->trunks + 1) * sizeof(uint32_t)),
                        malloc((2 * s->trunks + 1) * sizeof(uint32_t)),
                        malloc((v + 1) * sizeof(uint32_t)),
                        malloc((v + 1) * sizeof(uint32_t)),
                        malloc((v + 1) * sizeof(uint32_t)),
                        malloc((v + 1) * sizeof(uint32_t))};
    if (!k->start || !k->to || !k->trunk || !k->stack || !k->path || !k->depth || !k->from)
        return nt_err_memory(err);
    for (size_t t = 0; t < s->trunks; t++) {
        const struct nt_link *l = &s->model->link[s->trunk[t]];
        k->start[l->a - h + 2]++;
        k->start[l->b - h + 2]++;
    }
    for (size_t x = 2; x <= v; x++)
        k->start[x + 1] += k->start[x];
    for (size_t t = 0; t < s->trunks; t++) {
        const struct nt_link *l = &s->model->link[s->trunk[t]];
        uint32_t ends[2] = {(uint32_t)(l->a - h), (uint32_t)(l->b - h)};
        for (int e = 0; e < 2; e++) {
            size_t p = k->start[ends[e] + 1]++;
            k->to[p] = ends[1 - e];
            k->trunk[p] = (uint32_t)t;
        }
    }
    return 0;
}

/* What to do with the path from site a to site b: trunks path[0..length). */
typedef void visit_fn(struct nt_link_sites *s, size_t a, size_t b, const uint32_t *path,
                      size_t length);

static void walk_from(struct climb *k, struct nt_link_sites *s, uint32_t from, visit_fn *visit)
{
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
        for (size_t p = k->start[v]; p < k->start[v + 1]; p++) {
            if (k->trunk[p] == k->from[v])
                continue;
            k->from[k->to[p]] = k->trunk[p];
            k->depth[k->to[p]] = k->depth[v] + 1;
            k->stack[top++] = k->to[p];
        }
    }
}

static void walk_all(struct climb *k, struct nt_link_sites *s, visit_fn *visit)
{
    for (uint32_t v = 0; v < s->model->switches; v++)
        if (s->site_of[v] != UINT32_MAX)
            walk_from(k, s, v, visit);
}

static void set_between(struct nt_link_sites *s, size_t a, size_t b, const uint32_t *path,
                        size_t length)
{
    double sum = 0;
    for (size_t k = 0; k < length; k++)
        sum += s->model->link[s->trunk[path[k]]].latency_us;
    s->between[a * s->count + b] = s->between[b * s->count + a] = sum;
}

/* The block of pairs between sites a and b measures x_a + x_b + the trunks between. */
static void add_block(struct nt_link_sites *s, size_t a, size_t b, const uint32_t *path,
                      size_t length)
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

/* Readings of one host to those at places first..last: as they stand, or copied to be in a row. */
static const float *readings_between(const struct nt_link_sites *s, const float *row, size_t first,
                                     size_t last)
{
    const uint32_t *member = s->member;
    if (member[last - 1] - member[first] == last - 1 - first)
        return row + member[first];
    for (size_t q = first; q < last; q++)
        s->row[q - first] = row[member[q]];
    return s->row;
}

/* What one host's readings leave over against a block of hosts, those within reach. */
struct left {
    double sum, square, used;
};

/* d: count readings; x, pull and kept of the hosts that they are of. */
static struct left add_row(const float *d, const double *x, size_t count, double base, double far,
                           double weight, double *pull, double *kept)
{
    nt_doubles sum = {0}, square = {0}, used = {0};
    const nt_doubles one = {1, 1};
    size_t q = 0;
    for (; q + NT_DOUBLES <= count; q += NT_DOUBLES) {
        nt_doubles r = (nt_doubles){(double)d[q], (double)d[q + 1]} - base - nt_doubles_load(x + q);
        nt_doubles_are near = r * r < far * far;
        nt_doubles in = nt_doubles_where(near, one);
        r = nt_doubles_where(near, r);
        sum += r;
        square += r * r;
        used += in;
        nt_doubles_store(pull + q, nt_doubles_load(pull + q) + r * weight);
        nt_doubles_store(kept + q, nt_doubles_load(kept + q) + in * weight);
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

/* The same with a weight for each reading, of the host at place p to those at first..last. */
static struct left add_weighted_row(struct nt_link_sites *s, size_t p, size_t first, size_t last,
                                    double base, double far, double weight)
{
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

static void add_pairs(struct nt_link_sites *s, size_t a, size_t b, double sd)
{
    double distance = s->between[a * s->count + b], weight = 1 / (sd * sd), total = 0, used = 0;
    size_t first = s->start[b];
    for (size_t p = s->start[a]; p < s->start[a + 1]; p++) {
        size_t last = a == b ? p : s->start[b + 1];
        if (last == first)
            continue;
        const float *d = readings_between(s, s->w->d + s->member[p] * s->w->n, first, last);
        struct left left =
            s->w->weight != NULL
                ? add_weighted_row(s, p, first, last, s->x[p] + distance, s->reach * sd, weight)
                : add_row(d, s->x + first, last - first, s->x[p] + distance, s->reach * sd, weight,
                          s->pull + first, s->kept + first);
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

static double block_sd(const struct nt_link_sites *s, size_t a, size_t b)
{
    double level = s->between[a * s->count + b] + s->x[s->start[a]] + s->x[s->start[b]];
    return nt_noise_sd(&s->w->noise, level);
}

static void median_pass(struct nt_link_sites *s)
{
    memset(s->pull, 0, s->w->n * sizeof *s->pull);
    memset(s->kept, 0, s->w->n * sizeof *s->kept);
    s->rss = s->used = 0;
    for (size_t a = 0; a < s->count; a++)
        for (size_t b = 0; b <= a; b++)
            add_pairs(s, a, b, block_sd(s, a, b));
}

/* Most readings of a host, or all among the hosts of a switch, are out of reach: where a link was
 * taken out, those beside it are not what they were, and would never change. Readings that are not
 * measured count, too: that costs a pass. */
static bool starts_off(const struct nt_link_sites *s)
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

/* Weight by which a host is known against the mean of its switch. */
static double host_weight(const struct nt_link_sites *s, size_t a, size_t p)
{
    double m = (double)(s->start[a + 1] - s->start[a]);
    double inside = m > 1 ? s->weight[a * s->count + a] / (m * (m - 1) / 2) : 0;
    return s->kept[p] - inside;
}

/* right becomes the solution, the matrix (its lower half is set) what set_errors inverts. A ridge
 * far below any figure leaves the directions that nothing measures where they are. */
static int solve_matrix(struct nt_link_sites *s, size_t n, struct nt_err *err)
{
    double most = 0;
    if (n > SOLVED_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu unknowns, at most %d", n, (int)SOLVED_MAX);
    for (size_t k = 0; k < n; k++)
        most = fmax(most, s->matrix[k * n + k]);
    for (size_t k = 0; k < n; k++)
        s->matrix[k * n + k] += most * 1e-10 + 1e-300;
    lapack_int size = (lapack_int)n; /* our rows are its columns: the lower half is its upper one */
    if (n > 0 &&
        LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'U', size, 1, s->matrix, size, s->right, size) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "a matrix of %zu is not positive definite", n);
    return 0;
}

static int climb_step(struct nt_link_sites *s, struct climb *k, bool first, struct nt_err *err)
{
    size_t n = s->count + s->trunks;
    walk_all(k, s, set_between);
    median_pass(s);
    if (first && starts_off(s)) {
        s->reach = FAR;
        median_pass(s);
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

/* NaN if nothing measures the direction: only the ridge of solve_matrix, 1e-10 of the largest
 * weight, or 1e-300 if there is none, holds it. least: of all variances. */
static double error_of(double unit, double variance, double least)
{
    return variance < 1e9 * least && variance < 1e200 ? unit * sqrt(variance) : (double)NAN;
}

/* Standard errors; those of few readings are widened so that twice an error still covers 95 %. */
static int set_errors(struct nt_link_sites *s, struct nt_err *err)
{
    size_t n = s->count + s->trunks;
    double df = s->used - (double)s->w->n - (double)s->trunks, unit = NAN;
    if (df >= 1)
        unit = sqrt(s->rss / df) * nt_student_quantile(0.975, df) / NT_SDS_95;
    else if (s->w->noise.known)
        unit = 1;
    if (n > UNKNOWNS_MAX)
        unit = NAN;
    else if (n > 0 && LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, s->matrix,
                                          (lapack_int)n) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "a factor of %zu is singular", n);
    double least = INFINITY;
    for (size_t k = 0; k < n; k++)
        least = fmin(least, s->matrix[k * n + k]);
    for (size_t p = 0; p < s->w->n; p++) {
        size_t i = s->member[p], a = s->at[i];
        double m = (double)(s->start[a + 1] - s->start[a]), weight = host_weight(s, a, p);
        double variance = s->matrix[a * n + a];
        if (m > 1)
            variance += weight > 1e-9 * s->kept[p] ? (1 - 1 / m) / weight : NAN;
        struct nt_link *l = &s->model->link[s->link[i]];
        l->latency_us = s->x[p];
        l->latency_se_us = error_of(unit, variance, least);
    }
    for (size_t t = 0; t < s->trunks; t++) {
        size_t k = s->count + t;
        s->model->link[s->trunk[t]].latency_se_us = error_of(unit, s->matrix[k * n + k], least);
    }
    return 0;
}

/* Hosts that differ more than their links are long leave some with none: every host has one. */
static void raise_zero_host_links(struct nt_link_sites *s)
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

int nt_links_fit(const struct nt_work *w, struct nt_model *model, struct nt_err *err)
{
    struct nt_link_sites s;
    struct climb k = {0};
    int status = sites_init(&s, w, model, err);
    if (status == 0)
        status = climb_init(&k, &s, err);
    for (int p = 0; p < PASSES && status == 0; p++)
        status = climb_step(&s, &k, p == 0, err);
    if (status == 0)
        status = set_errors(&s, err);
    if (status == 0) {
        walk_all(&k, &s, set_between);
        status = nt_links_quality(&s, err);
    }
    for (size_t l = 0; l < model->links && status == 0; l++)
        if (!(model->link[l].latency_us > 0)) /* a path cannot get shorter by a link */
            model->link[l].latency_us = 0;
    if (status == 0)
        raise_zero_host_links(&s);
    climb_fini(&k);
    sites_fini(&s);
    return status;
}
