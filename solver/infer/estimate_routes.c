/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate_routes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "memory.h"
#include "stats.h"
#include "unknowns.h"

/* ---- least squares that are robust against a few outliers ---------------------------------------
 *
 * Huber's estimate (1981; 1.345 standard deviations, residuals divided by sqrt(1 - leverage), scale
 * by the median) finds the measurements whose deleted residual exceeds 4. These get weight 1e-4
 * instead of 0, so that the rank stays, and the others are fitted by plain least squares. Standard
 * errors come from the residual sum over the degrees of freedom of the kept rows, which has the
 * right coverage; the textbook error of Huber's estimate does not. */

#define HUBER 1.345
#define CUT 4.0        /* deleted residual beyond which a measurement does not fit */
#define WEIGHT 1e-4    /* of an outlier: small, but the rank stays */
#define EXACT 1e-9     /* of the largest measurement: finer differences are rounding */
#define ESSENTIAL 0.02 /* 1 - leverage below which no other row tests whether one fits */
/* FREEDOM_LEAST: with less a median is less precise than the sum of squares */
enum { HUBER_STEPS = 40, ROUNDS = 6, FREEDOM_LEAST = 12 };

struct robust {
    size_t rows, unknowns;
    double *x;        /* unknowns */
    double *inverse;  /* unknowns^2: times sigma^2 the covariance of x; owned */
    double *residual; /* rows: measured - fitted */
    double *leverage; /* rows: v inverse v' */
    bool *rejected;   /* rows */
    size_t rejections, freedom;
    double sigma; /* NaN without freedom */
};

struct fit {
    const struct nt_rows *rows;
    const double *measured;
    struct robust *r;
    double *work;        /* rows + unknowns */
    struct change *list; /* rows */
    float *sizes;        /* rows */
    double scale;        /* of a measurement, so far */
    double least;        /* below this it is rounding */
};

/* v inverse v' for a sparse v of n entries: value[k] in column[k]. */
static double variance_of(const struct robust *r, const uint32_t *column, const double *value,
                          size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n;
         k++) { /* by the rows of the first columns: pairs are ordered by first host */
        const double *row = r->inverse + column[k] * r->unknowns;
        double part = 0.5 * value[k] * row[column[k]];
        for (size_t l = k + 1; l < n; l++)
            part += value[l] * row[column[l]];
        sum += 2 * value[k] * part;
    }
    return sum > 0 ? sum : 0;
}

static void find_leverages(struct fit *f)
{
    const struct nt_rows *rows = f->rows;
    for (size_t i = 0; i < rows->rows; i++)
        f->r->leverage[i] =
            variance_of(f->r, rows->column + rows->start[i], rows->value + rows->start[i],
                        rows->start[i + 1] - rows->start[i]);
}

static void find_residuals(struct fit *f)
{
    const struct nt_rows *rows = f->rows;
    for (size_t i = 0; i < rows->rows; i++) {
        double fitted = 0;
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
            fitted += rows->value[k] * f->r->x[rows->column[k]];
        f->r->residual[i] = f->measured[i] - fitted;
    }
}

/* x := (add ? x : 0) + inverse A' b */
static void add_solution(struct fit *f, const double *b, bool add)
{
    const struct nt_rows *rows = f->rows;
    struct robust *r = f->r;
    double *sum = f->work + rows->rows;
    memset(sum, 0, r->unknowns * sizeof *sum);
    for (size_t i = 0; i < rows->rows; i++) {
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
            sum[rows->column[k]] += rows->value[k] * b[i];
    }
    for (size_t u = 0; u < r->unknowns; u++) {
        double x = cblas_ddot((int)r->unknowns, r->inverse + u * r->unknowns, 1, sum, 1);
        r->x[u] = add ? r->x[u] + x : x;
    }
}

/* Least squares with the weights as they are. */
static void solve_normal(struct fit *f)
{
    for (size_t i = 0; i < f->rows->rows; i++)
        f->work[i] = (f->r->rejected[i] ? WEIGHT : 1) * f->measured[i];
    add_solution(f, f->work, false);
    find_residuals(f);
}

static double spare_leverage(const struct fit *f, size_t i)
{
    double d = 1 - f->r->leverage[i];
    return d > 1e-6 ? d : 0;
}

/* The scale by the median of the residuals that could differ from 0; never below the least, so
 * that rounding is not judged. */
static double find_scale(struct fit *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->rows->rows; i++) {
        if (spare_leverage(f, i) > 0 && !f->r->rejected[i])
            f->sizes[n++] = (float)(fabs(f->r->residual[i]) / sqrt(spare_leverage(f, i)));
    }
    double scale = n == 0 ? 0 : NT_SD_OF_MEDIAN * (double)nt_stats_median(f->sizes, n);
    return scale > f->least ? scale : f->least;
}

/* Huber's method of modified residuals: x += inverse A' (residuals cut off at the limit), which
 * ends where the weighted equations hold, with one inverse for all steps. */
static void huber_fit(struct fit *f)
{
    for (int step = 0; step < HUBER_STEPS; step++) {
        double most = 0;
        f->scale = find_scale(f);
        for (size_t i = 0; i < f->rows->rows; i++) {
            double limit = HUBER * f->scale * sqrt(spare_leverage(f, i)), r = f->r->residual[i];
            f->work[i] = spare_leverage(f, i) > 0 && fabs(r) > limit ? copysign(limit, r) : r;
        }
        add_solution(f, f->work, true);
        for (size_t i = 0; i < f->rows->rows; i++)
            f->work[i] = f->r->residual[i];
        find_residuals(f);
        for (size_t i = 0; i < f->rows->rows; i++) {
            double moved = fabs(f->work[i] - f->r->residual[i]);
            most = moved > most ? moved : most;
        }
        if (most < 1e-3 * f->scale)
            return;
    }
}

/* A measurement whose weight should change. */
struct change {
    double size; /* of its residual, in standard deviations */
    uint32_t row;
    bool reject; /* else included again */
};

/* Measurements to include again first, then the worst. */
static int by_size(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return NT_ORDER(x->reject, y->reject, NT_ORDER(y->size, x->size, NT_ORDER(x->row, y->row, 0)));
}

/* Lists included measurements that do not fit now, and rejected ones that fit as a prediction. */
static size_t list_outliers(const struct fit *f, struct change *list)
{
    size_t n = 0;
    for (size_t i = 0; i < f->rows->rows; i++) {
        bool was = f->r->rejected[i];
        double d = was ? 1 + f->r->leverage[i] : 1 - f->r->leverage[i];
        double size = d > ESSENTIAL ? fabs(f->r->residual[i]) / sqrt(d) / f->scale : 0;
        if ((size > CUT) != was)
            list[n++] = (struct change){.size = size, .row = (uint32_t)i, .reject = !was};
    }
    qsort(list, n, sizeof *list, by_size);
    return n;
}

/* The inverse in the making: inverse + sum of sign a a'. */
struct update {
    size_t used, entries, signs; /* room for the latter two */
    double *a;                   /* used * unknowns */
    double *sign;                /* used */
};

static int update_reserve(struct update *u, size_t unknowns, struct nt_arena *memory,
                          struct nt_err *err)
{
    u->a = nt_arena_grow(memory, u->a, &u->entries, (u->used + 1) * unknowns, sizeof *u->a);
    u->sign = nt_arena_grow(memory, u->sign, &u->signs, u->used + 1, sizeof *u->sign);
    return nt_arena_check(memory, err);
}

static double row_product(const struct nt_rows *rows, size_t i, const double *x)
{
    double sum = 0;
    for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
        sum += rows->value[k] * x[rows->column[k]];
    return sum;
}

/* Changes one weight (Sherman and Morrison). A measurement that no remaining one tests is kept: of
 * measurements that contradict each other only the worst is rejected. */
static void change_weight(struct fit *f, struct update *u, const struct change *c)
{
    const struct nt_rows *rows = f->rows;
    size_t n = f->r->unknowns;
    double *t = u->a + u->used * n, sign = c->reject ? 1 : -1;
    memset(t, 0, n * sizeof *t);
    for (size_t k = rows->start[c->row]; k < rows->start[c->row + 1]; k++)
        cblas_daxpy((int)n, rows->value[k], f->r->inverse + rows->column[k] * n, 1, t, 1);
    for (size_t p = 0; p < u->used; p++) {
        const double *a = u->a + p * n;
        cblas_daxpy((int)n, u->sign[p] * row_product(rows, c->row, a), a, 1, t, 1);
    }
    double leverage = row_product(rows, c->row, t);
    if (c->reject && 1 - leverage < ESSENTIAL)
        return;
    double scale = 1 / sqrt(1 / (1 - WEIGHT) - sign * leverage);
    for (size_t k = 0; k < n; k++)
        t[k] *= scale;
    u->sign[u->used++] = sign;
    f->r->rejected[c->row] = c->reject;
    f->r->rejections += c->reject ? 1 : (size_t)-1;
}

static void apply_update(struct robust *r, const struct update *u)
{
    size_t n = r->unknowns;
    for (size_t k = 0; k < n; k++) {
        for (size_t p = 0; p < u->used; p++) {
            const double *a = u->a + p * n;
            cblas_daxpy((int)(n - k), u->sign[p] * a[k], a + k, 1, r->inverse + k * n + k, 1);
        }
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t l = k + 1; l < n; l++)
            r->inverse[l * n + k] = r->inverse[k * n + l];
    }
}

static int change_weights(struct fit *f, const struct change *list, size_t n, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct update u = {0};
    size_t least = f->rows->rows - (f->rows->rows - f->r->unknowns) / 2; /* half the freedom */
    for (size_t k = 0; k < n; k++) {
        if (list[k].reject && f->rows->rows - f->r->rejections <= least)
            break;
        if (update_reserve(&u, f->r->unknowns, &memory, err) != 0)
            return -1;
        change_weight(f, &u, &list[k]);
    }
    if (u.used > 0)
        apply_update(f->r, &u);
    return 0;
}

static void find_sigma(struct fit *f)
{
    struct robust *r = f->r;
    size_t kept = r->rows - r->rejections;
    double sum = 0;
    for (size_t i = 0; i < r->rows; i++)
        sum += r->rejected[i] ? 0 : r->residual[i] * r->residual[i];
    r->freedom = kept > r->unknowns ? kept - r->unknowns : 0;
    r->sigma = r->freedom > 0 ? sqrt(sum / (double)r->freedom) : NAN;
}

static int reject_outliers(struct fit *f, struct nt_err *err)
{
    int rc = 0;
    for (int round = 0; round < ROUNDS && rc == 0; round++) {
        size_t n = list_outliers(f, f->list);
        if (n == 0 && round > 0)
            break;
        rc = change_weights(f, f->list, n, err);
        solve_normal(f);
        find_leverages(f);
        find_sigma(f);
        if (f->r->freedom == 0)
            break;
        /* an outlier that is still included would enlarge the sum of squares and hide itself and
         * others */
        f->scale = f->r->freedom < FREEDOM_LEAST ? fmax(f->r->sigma, f->least) : find_scale(f);
    }
    return rc;
}

static int fit_init(struct fit *f, struct nt_arena *memory, struct nt_err *err)
{
    size_t m = f->rows->rows, n = f->rows->columns;
    struct robust *r = f->r;
    *r = (struct robust){.rows = m, .unknowns = n};
    r->x = nt_arena_array(memory, n, sizeof *r->x);
    r->residual = nt_arena_array(memory, m, sizeof *r->residual);
    r->leverage = nt_arena_array(memory, m, sizeof *r->leverage);
    r->rejected = nt_arena_array(memory, m, sizeof *r->rejected);
    f->work = nt_arena_array(memory, m + n + 1, sizeof *f->work);
    f->list = nt_arena_array(memory, m + 1, sizeof *f->list);
    f->sizes = nt_arena_array(memory, m + 1, sizeof *f->sizes);
    return nt_arena_check(memory, err);
}

/* measured[rows->rows]; the rows have full rank. */
static int fit_robust(const struct nt_rows *rows, const double *measured, struct robust *r,
                      struct nt_arena *memory, struct nt_err *err)
{
    struct fit f = {.rows = rows, .measured = measured, .r = r};
    if (fit_init(&f, memory, err) != 0 || nt_normal_inverse(rows, &r->inverse, err) != 0)
        return -1;
    find_leverages(&f);
    solve_normal(&f);
    find_sigma(&f);
    if (r->freedom == 0)
        return 0;
    for (size_t i = 0; i < rows->rows; i++)
        f.least = fmax(f.least, EXACT * fabs(measured[i]));
    if (r->sigma <= f.least) /* the noise is only rounding: there are no outliers to resist */
        return 0;
    huber_fit(&f);
    return reject_outliers(&f, err);
}

struct work {
    const struct nt_routes *routes;
    const struct nt_measured *measured;
    struct nt_unknowns *unknowns;
    struct robust robust;
    struct nt_estimate *estimate;
    struct nt_arena memory;
    uint32_t *column; /* of one sum of links */
    double *value;
};

/* ---- aggregated links: shortest runs of links on a path of which only the sum is determined - */

/* The sum of the null vector up to a place of a path: a run is determined when it ends on the value
 * at which it began. */
struct prefix {
    uint64_t sum;
    uint32_t at;
};

struct search {
    struct nt_estimate *e; /* whose runs these are */
    size_t starts_room, links_room;
    uint32_t *slot; /* slots of them: run + 1; 0 is free */
    size_t slots;
    struct nt_arena memory; /* of slot */
    struct prefix prefix[NT_ROUTE_LINKS_MAX + 1];
};

static int by_sum(const void *a, const void *b)
{
    const struct prefix *x = a, *y = b;
    return NT_ORDER(x->sum, y->sum, NT_ORDER(x->at, y->at, 0));
}

/* Link k of a run of n, reversed so that the lower end is first. */
static uint32_t turned_link(const uint32_t *link, size_t n, size_t k)
{
    return link[0] <= link[n - 1] ? link[k] : link[n - 1 - k];
}

static size_t hash_links(const uint32_t *link, size_t n)
{
    uint64_t h = n;
    for (size_t k = 0; k < n; k++)
        h = (h ^ turned_link(link, n, k)) * 0x9e3779b97f4a7c15u;
    return (size_t)((h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 20);
}

static bool same_links(const struct search *s, size_t run, const uint32_t *link, size_t n)
{
    const size_t *start = s->e->run_start + run;
    const uint32_t *there = s->e->run_link + start[0];
    if (start[1] - start[0] != n)
        return false;
    for (size_t k = 0; k < n; k++) {
        if (there[k] != turned_link(link, n, k))
            return false;
    }
    return true;
}

static size_t find_links(const struct search *s, const uint32_t *link, size_t n)
{
    size_t at = hash_links(link, n) & (s->slots - 1);
    while (s->slot[at] != 0 && !same_links(s, s->slot[at] - 1, link, n))
        at = (at + 1) & (s->slots - 1);
    return at;
}

/* Room for one run more, of n links; false: no memory. */
static bool grow_table(struct search *s, size_t n)
{
    struct nt_estimate *e = s->e;
    size_t used = e->run_start[e->aggregates];
    void *link =
        nt_arena_grow(&e->memory, e->run_link, &s->links_room, used + n, sizeof *e->run_link);
    void *start = nt_arena_grow(&e->memory, e->run_start, &s->starts_room, e->aggregates + 2,
                                sizeof *e->run_start);
    if (link == NULL || start == NULL)
        return false;
    e->run_link = link;
    e->run_start = start;
    if ((e->aggregates + 1) * 2 <= s->slots)
        return true;
    s->slots *= 2;
    s->slot = nt_arena_array(&s->memory, s->slots, sizeof *s->slot);
    for (size_t k = 0; s->slot != NULL && k < e->aggregates; k++)
        s->slot[find_links(s, e->run_link + e->run_start[k],
                           e->run_start[k + 1] - e->run_start[k])] = (uint32_t)k + 1;
    return s->slot != NULL;
}

static bool add_aggregate(struct search *s, const uint32_t *link, size_t n)
{
    struct nt_estimate *e = s->e;
    if (s->slot[find_links(s, link, n)] != 0)
        return true;
    if (!grow_table(s, n))
        return false;
    size_t start = e->run_start[e->aggregates];
    for (size_t k = 0; k < n; k++)
        e->run_link[start + k] = turned_link(link, n, k);
    e->run_start[++e->aggregates] = start + n;
    s->slot[find_links(s, e->run_link + start, n)] = (uint32_t)e->aggregates;
    return true;
}

/* Neighbours among equal sums are the shortest runs from either end. */
static bool search_path(struct search *s, const struct nt_unknowns *u, const uint32_t *link,
                        size_t n)
{
    bool hidden = false;
    s->prefix[0] = (struct prefix){.sum = 0, .at = 0};
    for (size_t k = 0; k < n; k++) {
        hidden = hidden || !nt_unknowns_alone(u, link[k]);
        s->prefix[k + 1] =
            (struct prefix){.sum = nt_echelon_plus(s->prefix[k].sum, u->echelon->null[link[k]]),
                            .at = (uint32_t)k + 1};
    }
    if (!hidden)
        return true;
    qsort(s->prefix, n + 1, sizeof *s->prefix, by_sum);
    for (size_t k = 0; k < n; k++) {
        uint32_t from = s->prefix[k].at, to = s->prefix[k + 1].at;
        if (s->prefix[k].sum != s->prefix[k + 1].sum || to - from < 2)
            continue;
        if (!add_aggregate(s, link + from, to - from))
            return false;
    }
    return true;
}

/* Every different run over all routes, a run and its reverse being the same; in the order in
 * which the routes show them. */
static int find_aggregates(const struct work *w, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct search *s = nt_arena_array(&memory, 1, sizeof *s);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    s->e = w->estimate;
    s->slots = 256;
    s->slot = nt_arena_array(&s->memory, s->slots, sizeof *s->slot);
    s->starts_room = 64;
    s->e->run_start = nt_arena_array(&s->e->memory, s->starts_room, sizeof *s->e->run_start);
    bool ok = s->e->run_start != NULL && s->slot != NULL;
    for (size_t p = 0; p < w->routes->pairs && ok; p++) {
        const uint32_t *link = nt_route_links(w->routes, p);
        size_t there = w->routes->there[p], length = nt_route_length(w->routes, p);
        ok = search_path(s, w->unknowns, link, there) &&
             search_path(s, w->unknowns, link + there, length - there);
    }
    nt_arena_fini(&s->memory);
    return ok ? 0 : nt_err_memory(err);
}

/* ---- links slower than their tier ---- */

#define ALPHA 0.01 /* chance that a sound network has any suspect */
#define HOLD 0.6   /* of the limit: must remain without any single measurement */
enum { TIER_LEAST = 4, TIERS_MAX = 64 };

/* A tier's latencies: their median, and how much they differ beyond their errors. */
struct tier {
    double median, spread2; /* spread squared */
    double limit;           /* of t */
};

struct judge {
    const struct work *w;
    unsigned char *tier_of; /* by link */
    float *values;          /* links of the estimate */
};

/* A link's tier is its distance from the nearest end of a path; host links are tier 0. */
static void find_tiers(struct judge *j)
{
    const struct nt_routes *r = j->w->routes;
    memset(j->tier_of, TIERS_MAX - 1, r->links);
    for (size_t p = 0; p < r->pairs; p++) {
        size_t length = nt_route_length(r, p), there = r->there[p];
        for (size_t k = 0; k < length; k++) {
            size_t first = k < there ? 0 : there, end = k < there ? there : length;
            size_t before = k - first, behind = end - 1 - k;
            size_t depth = before < behind ? before : behind;
            unsigned char *tier = &j->tier_of[r->link[r->start[p] + k]];
            if (depth < *tier)
                *tier = (unsigned char)depth;
        }
    }
}

static size_t gather_tier(struct judge *j, unsigned tier, double *variance)
{
    const struct nt_estimate *e = j->w->estimate;
    size_t n = 0;
    *variance = 0;
    for (size_t k = 0; k < e->links; k++) {
        if (j->tier_of[e->link[k].link] != tier)
            continue;
        j->values[n++] = (float)e->link[k].latency.us;
        *variance += e->link[k].latency.se_us * e->link[k].latency.se_us;
    }
    *variance /= n > 0 ? (double)n : 1;
    return n;
}

static struct tier describe_tier(struct judge *j, size_t n, double variance)
{
    struct tier t = {.median = (double)nt_stats_median(j->values, n)};
    double mad = (double)nt_stats_mad(j->values, n);
    t.spread2 = fmax(0, mad * mad - variance);
    t.limit = nt_student_quantile(1 - ALPHA / (double)j->w->estimate->fit.tested,
                                  fmax(TIER_LEAST, NT_MAD_EFFICIENCY * (double)n));
    return t;
}

static double tier_statistic(const struct tier *t, double us, double variance)
{
    double se = sqrt(variance + t->spread2);
    return se > 0 ? (us - t->median) / se : 0;
}

/* Whether the link remains well above its tier without any one of the measurements, so that a
 * single undetected outlier does not make a link suspect. */
static bool test_holds(const struct judge *j, const struct tier *t, uint32_t unknown)
{
    const struct robust *r = &j->w->robust;
    const struct nt_rows *rows = j->w->unknowns->rows;
    const double *row = r->inverse + unknown * r->unknowns;
    double s2 = r->sigma * r->sigma;
    for (size_t i = 0; i < rows->rows; i++) {
        double g = 0, spare = 1 - r->leverage[i];
        if (r->rejected[i])
            continue;
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
            g += row[rows->column[k]] * rows->value[k];
        if (fabs(g) < 1e-9)
            continue;
        if (spare < 1e-3)
            return false;
        double us = r->x[unknown] - g * r->residual[i] / spare;
        if (tier_statistic(t, us, s2 * (row[unknown] + g * g / spare)) < HOLD * t->limit)
            return false;
    }
    return true;
}

static void judge_tier(struct judge *j, unsigned tier)
{
    struct nt_estimate *e = j->w->estimate;
    double variance;
    size_t n = gather_tier(j, tier, &variance);
    if (n < TIER_LEAST)
        return;
    struct tier t = describe_tier(j, n, variance);
    for (size_t k = 0; k < e->links; k++) {
        struct nt_link_estimate *l = &e->link[k];
        if (j->tier_of[l->link] != tier)
            continue;
        double se = l->latency.se_us;
        if (tier_statistic(&t, l->latency.us, se * se) > t.limit)
            l->suspect = test_holds(j, &t, j->w->unknowns->of_link[l->link]);
    }
}

/* Marks the links of the estimate and fills fit.tested and fit.false_alarm_rate. No link is suspect
 * without degrees of freedom for the noise. */
static int mark_outliers(struct work *w, struct nt_err *err)
{
    struct judge j = {.w = w};
    j.tier_of = nt_arena_array(&w->memory, w->routes->links, sizeof *j.tier_of);
    j.values = nt_arena_array(&w->memory, w->estimate->links, sizeof *j.values);
    w->estimate->fit.false_alarm_rate = ALPHA;
    if (nt_arena_check(&w->memory, err) != 0)
        return -1;
    if (w->robust.freedom > 0) {
        w->estimate->fit.tested = w->estimate->links;
        find_tiers(&j);
        for (unsigned tier = 0; tier < TIERS_MAX; tier++)
            judge_tier(&j, tier);
    }
    return 0;
}

/* ---- the estimate ---- */

/* The share of each of these links summed, which must follow from the measurements. */
static struct nt_figure figure_of(struct work *w, const uint32_t *link, size_t n, double share)
{
    size_t used = 0;
    double us = 0;
    for (size_t k = 0; k < n; k++) {
        uint32_t unknown = w->unknowns->of_link[link[k]];
        if (unknown == NT_UNKNOWN_NONE)
            continue;
        us += share * w->robust.x[unknown];
        w->column[used] = unknown;
        w->value[used++] = share;
    }
    double variance = variance_of(&w->robust, w->column, w->value, used);
    return (struct nt_figure){.us = us, .se_us = w->robust.sigma * sqrt(variance)};
}

static int write_links(struct work *w, struct nt_err *err)
{
    struct nt_estimate *e = w->estimate;
    e->link = nt_arena_array(&e->memory, w->unknowns->count, sizeof *e->link);
    if (nt_arena_check(&e->memory, err) != 0)
        return -1;
    for (size_t u = 0; u < w->unknowns->count; u++) {
        uint32_t link = w->unknowns->link[u];
        if (nt_unknowns_alone(w->unknowns, link))
            e->link[e->links++] =
                (struct nt_link_estimate){.link = link, .latency = figure_of(w, &link, 1, 1)};
    }
    return mark_outliers(w, err);
}

static int write_aggregates(struct work *w, struct nt_err *err)
{
    struct nt_estimate *e = w->estimate;
    if (find_aggregates(w, err) != 0)
        return -1;
    e->run_latency = nt_arena_array(&e->memory, e->aggregates, sizeof *e->run_latency);
    for (size_t k = 0; e->run_latency != NULL && k < e->aggregates; k++)
        e->run_latency[k] =
            figure_of(w, e->run_link + e->run_start[k], e->run_start[k + 1] - e->run_start[k], 1);
    return nt_arena_check(&e->memory, err);
}

/* The way back has the links of the way there, turned round. */
static bool is_turned(const uint32_t *link, size_t there, size_t n)
{
    bool same = n == 2 * there;
    for (size_t k = 0; same && k < there; k++)
        same = link[k] == link[n - 1 - k];
    return same;
}

/* The measurements are round trips. A clock at host h that is late by t adds t to every direction
 * from h and subtracts it from every direction to h, and no round trip shows it. So if the links of
 * the two directions at a host have different names, no single direction is determined by any
 * measurement. If cables have one name and only the paths differ (Liu et al., table 3), a direction
 * is determined if the sum of its links is. */
static void write_ways(struct work *w, size_t p, struct nt_figure way[2])
{
    const uint32_t *link = nt_route_links(w->routes, p);
    size_t n = nt_route_length(w->routes, p), there = w->routes->there[p];
    const struct nt_figure unknown = {NAN, NAN};
    way[0] = way[1] = unknown;
    if (there == n || is_turned(link, there, n) ||
        !nt_echelon_follows(w->unknowns->echelon, link, there))
        return; /* and of the way back: the sum is known */
    way[0] = figure_of(w, link, there, 1);
    way[1] = figure_of(w, link + there, n - there, 1);
}

static int write_pairs(struct work *w, struct nt_err *err)
{
    struct nt_estimate *e = w->estimate;
    const struct nt_routes *r = w->routes;
    e->pair = nt_arena_array(&e->memory, r->pairs, sizeof *e->pair);
    e->pair_latency = nt_arena_array(&e->memory, r->pairs, sizeof *e->pair_latency);
    e->way = nt_arena_array(&e->memory, r->pairs, sizeof *e->way);
    if (nt_arena_check(&e->memory, err) != 0)
        return -1;
    for (size_t p = 0; p < r->pairs; p++) {
        const uint32_t *link = nt_route_links(r, p);
        size_t n = nt_route_length(r, p);
        if (!nt_echelon_follows(w->unknowns->echelon, link, n))
            continue;
        e->pair[e->pairs][0] = r->host[p][0];
        e->pair[e->pairs][1] = r->host[p][1];
        write_ways(w, p, e->way[e->pairs]);
        e->pair_latency[e->pairs++] = figure_of(w, link, n, 1.0 / nt_route_directions(r, p));
    }
    return 0;
}

static void write_fit(struct work *w)
{
    const struct robust *r = &w->robust;
    struct nt_fit *fit = &w->estimate->fit;
    double mean = 0, total = 0, rest = 0;
    size_t kept = r->rows - r->rejections;
    for (size_t i = 0; i < r->rows; i++)
        mean += r->rejected[i] ? 0 : w->measured->latency_us[i] / (double)kept;
    for (size_t i = 0; i < r->rows; i++) {
        double d = w->measured->latency_us[i] - mean;
        total += r->rejected[i] ? 0 : d * d;
        rest += r->rejected[i] ? 0 : r->residual[i] * r->residual[i];
    }
    fit->measured = r->rows;
    fit->rank = r->unknowns;
    fit->freedom = r->freedom;
    fit->rejected = r->rejections;
    fit->sigma_us = r->sigma;
    fit->rms_us = sqrt(rest / (double)kept);
    fit->r2 = total > 0 ? 1 - rest / total : NAN;
}

static int estimate_links(struct work *w, struct nt_err *err)
{
    const struct nt_measured *m = w->measured;
    if (nt_unknowns_create(w->routes, m->pair, m->count, &w->unknowns, err) != 0 ||
        fit_robust(w->unknowns->rows, m->latency_us, &w->robust, &w->memory, err) != 0)
        return -1;
    w->column = nt_arena_array(&w->memory, 2 * (size_t)NT_ROUTE_LINKS_MAX, sizeof *w->column);
    w->value = nt_arena_array(&w->memory, 2 * (size_t)NT_ROUTE_LINKS_MAX, sizeof *w->value);
    w->estimate = nt_object_create(sizeof *w->estimate, err);
    if (w->estimate == NULL || nt_arena_check(&w->memory, err) != 0)
        return -1;
    write_fit(w);
    if (write_links(w, err) != 0 || write_aggregates(w, err) != 0)
        return -1;
    return write_pairs(w, err);
}

int nt_estimate_routes(const struct nt_routes *routes, const struct nt_measured *measured,
                       struct nt_estimate **out, struct nt_err *err)
{
    if (measured->count == 0)
        return nt_err_set(err, NT_ERR_INPUT, "there are no measurements");
    struct work w = {.routes = routes, .measured = measured};
    int rc = estimate_links(&w, err);
    if (rc == 0)
        *out = w.estimate;
    else
        nt_estimate_destroy(w.estimate);
    nt_unknowns_destroy(w.unknowns);
    free(w.robust.inverse);
    nt_arena_fini(&w.memory);
    return rc;
}
