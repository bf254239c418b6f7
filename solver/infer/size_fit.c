/* SPDX-License-Identifier: Apache-2.0 */
#include "size_fit.h"

#include <math.h>

#include "faults.h"
#include "memory.h"
#include "segments.h"
#include "stats.h"

enum { REGIME_POINTS_MIN = 3, REGIMES_MAX = 6 };

/* Assumed error of a time, since matrices come without errors: without residuals (two sizes) it
 * decides whether a slope is determined. Times that differ by less than a slow link's from the
 * usual ones may be the same: three sd. The medians of all pairs are as near to lines as message
 * times are at best (core/prtt.c). */
static const double OFF_SHARE = (NT_FAULT_SLOWER - 1) / 3, CURVE_SHARE = 0.01;

/* The sizes of one regime, as indices of the used sizes. */
struct regime {
    size_t first, count;
};

struct sizes {
    const struct nt_sized *m;
    size_t step, used; /* each step-th size is used: segments have a bound */
    struct regime shortest, longest;
    struct nt_point *point; /* room for used */
};

static double time_us(const struct sizes *s, size_t k, size_t i, size_t j)
{
    return (double)nt_matrix_get(s->m->latency[k * s->step], i, j);
}

static struct nt_point point_of(double bytes, double us, double share)
{
    return (struct nt_point){bytes, us, share * us};
}

/* ---- where the protocol changes ---- */
/* The median over all pairs of each size. Returns how many sizes have one. */
static int median_curve(struct sizes *s, size_t *points, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t n = s->m->latency[0]->n;
    float *time = nt_arena_array(&memory, n * n + 1, sizeof *time);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    *points = 0;
    for (size_t k = 0; k < s->used; k++) {
        const struct nt_matrix *m = s->m->latency[k * s->step];
        size_t count = 0;
        for (size_t i = 0; i < n * n; i++)
            if (i / n != i % n && m->at[i] > 0)
                time[count++] = m->at[i];
        if (count > 0)
            s->point[(*points)++] = point_of(s->m->bytes[k * s->step],
                                             (double)nt_stats_median(time, count), CURVE_SHARE);
    }
    return 0;
}

/* With arbitrary sizes there are no regimes: then all sizes are one regime. */
static int find_regimes(struct sizes *s, struct nt_err *err)
{
    struct nt_line line[NT_SEGMENTS_MAX];
    size_t points, lines;
    s->shortest = s->longest = (struct regime){0, s->used};
    if (median_curve(s, &points, err) != 0)
        return -1;
    if (points < s->used || points < REGIME_POINTS_MIN)
        return 0;
    const struct nt_segments_limits limits = {0, REGIME_POINTS_MIN, REGIMES_MAX};
    if (nt_segments_fit(s->point, points, &limits, line, &lines, err) != 0)
        return -1;
    s->shortest = (struct regime){line[0].first, line[0].count};
    s->longest = (struct regime){line[lines - 1].first, line[lines - 1].count};
    return 0;
}

/* ---- a pair ---- */
/* us per byte; NaN: not shown. */
static double slope_of(const struct sizes *s, struct regime r, size_t i, size_t j)
{
    struct nt_line line;
    size_t n = 0;
    for (size_t k = r.first; k < r.first + r.count; k++)
        if (time_us(s, k, i, j) > 0)
            s->point[n++] = point_of(s->m->bytes[k * s->step], time_us(s, k, i, j), OFF_SHARE);
    if (n < 2)
        return (double)NAN;
    nt_line_fit(s->point, n, 0, &line);
    return line.slope > 0 && line.slope_se <= line.slope / 2 ? line.slope : (double)NAN;
}

/* A rate that was measured in one direction only is used for both. */
static double rate_slope(const struct nt_matrix *rate, size_t i, size_t j)
{
    double forth = (double)nt_matrix_get(rate, i, j), back = (double)nt_matrix_get(rate, j, i);
    return 1 / (isnan(forth) ? back : forth); /* MB/s are bytes per us */
}

static void fit_pair(const struct sizes *s, size_t i, size_t j, struct nt_size_fit *out)
{
    double us = time_us(s, 0, i, j), per_byte;
    if (isnan(us))
        return;
    out->pairs++;
    if (s->m->sizes == 1) {
        per_byte = rate_slope(s->m->rate, i, j);
    } else {
        double longest = slope_of(s, s->longest, i, j);
        per_byte = slope_of(s, s->shortest, i, j);
        per_byte = isnan(per_byte) ? longest : per_byte;
        if (!isnan(longest))
            nt_matrix_set(out->rate, i, j, (float)(1 / longest));
    }
    double own = us - s->m->bytes[0] * per_byte;
    if (isnan(per_byte)) {
        out->unclear++;
        own = s->m->sizes == 1 ? (double)NAN : us;
    }
    if (own <= 0 && us > 0) {
        out->negative++;
        own = NAN;
    }
    nt_matrix_set(out->latency, i, j, (float)own);
}

int nt_size_fit(const struct nt_sized *measured, struct nt_size_fit *out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t n = measured->latency[0]->n;
    size_t step = (measured->sizes + NT_SEGMENTS_POINTS_MAX - 1) / NT_SEGMENTS_POINTS_MAX;
    struct sizes s = {.m = measured, .step = step, .used = (measured->sizes + step - 1) / step};
    struct nt_size_fit made = {0};
    s.point = nt_arena_array(&memory, s.used, sizeof *s.point);
    if (nt_arena_check(&memory, err) != 0 || (measured->sizes > 1 && find_regimes(&s, err) != 0) ||
        nt_matrix_create(n, NT_MATRIX_LATENCY_US, &made.latency, err) != 0 ||
        (measured->sizes > 1 &&
         nt_matrix_create(n, NT_MATRIX_BANDWIDTH_MBPS, &made.rate, err) != 0)) {
        nt_size_fit_fini(&made);
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j)
                fit_pair(&s, i, j, &made);
    *out = made;
    return 0;
}

void nt_size_fit_fini(struct nt_size_fit *fit)
{
    nt_matrix_destroy(fit->latency);
    nt_matrix_destroy(fit->rate);
    *fit = (struct nt_size_fit){0};
}
