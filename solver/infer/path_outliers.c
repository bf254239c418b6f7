/* SPDX-License-Identifier: Apache-2.0 */
#include "path_outliers.h"

#include <math.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

#define ALPHA 0.01 /* chance that a sound network has any suspect */
#define HOLD 0.6   /* of the limit: what must stay without any single measurement */
enum { TIER_LEAST = 4, TIERS_MAX = 64 };

/* A tier's latencies: their median, and how much they differ beyond their errors. */
struct tier {
    double median, spread2; /* spread squared */
    double limit;           /* of t */
};

struct judge {
    const struct nt_routes *routes;
    const struct nt_unknowns *unknowns;
    const struct nt_robust *robust;
    struct nt_estimate *estimate;
    unsigned char *tier_of; /* by link */
    float *values;          /* links of the estimate */
};

/* A link's tier: how near to the end of a path it gets; host links are tier 0. */
static void find_tiers(struct judge *j)
{
    const struct nt_routes *r = j->routes;
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
    const struct nt_estimate *e = j->estimate;
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
    t.limit = nt_student_quantile(1 - ALPHA / (double)j->estimate->fit.tested,
                                  fmax(TIER_LEAST, NT_MAD_WORTH * (double)n));
    return t;
}

static double tier_statistic(const struct tier *t, double us, double variance)
{
    double se = sqrt(variance + t->spread2);
    return se > 0 ? (us - t->median) / se : 0;
}

/* Whether the link stays well over its tier without any one of the measurements: a single wrong
 * one that was not found must not name a link. */
static bool test_holds(const struct judge *j, const struct tier *t, uint32_t unknown)
{
    const struct nt_robust *r = j->robust;
    const struct nt_rows *rows = j->unknowns->rows;
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
    struct nt_estimate *e = j->estimate;
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
            l->suspect = test_holds(j, &t, j->unknowns->of_link[l->link]);
    }
}

int nt_path_outliers_mark(const struct nt_routes *routes, const struct nt_unknowns *unknowns,
                          const struct nt_robust *robust, struct nt_estimate *estimate,
                          struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct judge j = {
        .routes = routes, .unknowns = unknowns, .robust = robust, .estimate = estimate};
    j.tier_of = nt_arena_array(&memory, routes->links, sizeof *j.tier_of);
    j.values = nt_arena_array(&memory, estimate->links, sizeof *j.values);
    estimate->fit.false_alarm_rate = ALPHA;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (robust->freedom > 0) {
        estimate->fit.tested = estimate->links;
        find_tiers(&j);
        for (unsigned tier = 0; tier < TIERS_MAX; tier++)
            judge_tier(&j, tier);
    }
    return 0;
}
