/* SPDX-License-Identifier: Apache-2.0 */
#include "prtt.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "stats.h"

enum { REGIME_POINTS_MIN = 3, REGIMES_MAX = 6, JITTERS_MIN = 4, JITTERS_MAX = 256 };

/* Message times differ at least by this share from a line, for example by a page or an
 * interrupt. */
static const double TRUE_SHARE = 0.01;

/* A size that exceeds both of its sides by this share was disturbed, because no regime has a single
 * size. */
static const double PEAK_SHARE = 0.1;

static int by_size(const void *a, const void *b)
{
    const struct nt_point *x = a, *y = b;
    return NT_ORDER(x->x, y->x, NT_ORDER(x->y, y->y, 0));
}

/* How much two measurements of one short message can differ: a connection, or the core on which a
 * process woke up, adds time to a whole round, which no error within the round shows. */
static double find_jitter(const struct nt_point *sorted, size_t n)
{
    double base = INFINITY, apart[JITTERS_MAX];
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++)
        base = fmin(base, sorted[i].y);
    for (size_t i = 1; i < n && pairs < JITTERS_MAX; i++)
        if (sorted[i].x == sorted[i - 1].x && sorted[i].y < 2 * base)
            apart[pairs++] = sorted[i].y - sorted[i - 1].y;
    if (pairs < JITTERS_MIN)
        return 0;
    qsort(apart, pairs, sizeof *apart, nt_compare_doubles);
    return apart[pairs * 7 / 10] / 2;
}

static double on_line(const struct nt_point *a, const struct nt_point *b, double x)
{
    return a->y + (x - a->x) / (b->x - a->x) * (b->y - a->y);
}

/* Above the line through its neighbours, and above the lines through the neighbours on either side.
 * At the lower end the upper side decides; at the upper end a new regime may just have begun. */
static bool is_peak(const struct nt_point *curve, size_t n, size_t i)
{
    const struct nt_point *p = &curve[i];
    double most = p->y / (1 + PEAK_SHARE);
    return i + 2 < n && on_line(p + 2, p + 1, p->x) < most &&
           (i < 1 || on_line(p - 1, p + 1, p->x) < most) &&
           (i < 2 || on_line(p - 2, p - 1, p->x) < most);
}

/* once: a bit per point that was measured only once. A second measurement that is an outlier again
 * is valid. */
static size_t drop_peaks(struct nt_point *curve, size_t n, const uint64_t *once)
{
    size_t kept = 0;
    uint64_t peaks[NT_SEGMENTS_POINTS_MAX / 64] = {0};
    for (size_t i = 0; i < n; i++)
        peaks[i / 64] |= (uint64_t)is_peak(curve, n, i) << i % 64;
    for (size_t i = 0; i < n; i++)
        if (((peaks[i / 64] & once[i / 64]) >> i % 64 & 1) == 0)
            curve[kept++] = curve[i];
    return kept;
}

size_t nt_prtt_curve(const struct nt_prtt *m, size_t n, struct nt_point *out)
{
    size_t all = 0, kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (m[i].count != 1 || m[i].hold_us > 0 || m[i].check || !(m[i].time_us > 0))
            continue;
        double time = m[i].time_us / 2, se = m[i].se_us >= 0 ? m[i].se_us / 2 : 0;
        out[all++] =
            (struct nt_point){.x = m[i].bytes, .y = time, .sd = hypot(se, TRUE_SHARE * time)};
    }
    qsort(out, all, sizeof *out, by_size);
    double jitter = find_jitter(out, all);
    uint64_t once[NT_SEGMENTS_POINTS_MAX / 64] = {0};
    for (size_t i = 0; i < all; i++) {
        bool first = kept == 0 || out[i].x > out[kept - 1].x;
        if (first)
            out[kept++] = out[i];
        if (kept > NT_SEGMENTS_POINTS_MAX)
            continue;
        uint64_t bit = UINT64_C(1) << (kept - 1) % 64;
        once[(kept - 1) / 64] = first ? once[(kept - 1) / 64] | bit : once[(kept - 1) / 64] & ~bit;
    }
    for (size_t i = 0; i < kept; i++)
        out[i].sd = hypot(out[i].sd, jitter);
    return kept > NT_SEGMENTS_POINTS_MAX ? kept : drop_peaks(out, kept, once);
}

int nt_prtt_regimes(const struct nt_point *curve, size_t n, struct nt_line *out, size_t *lines,
                    struct nt_err *err)
{
    const struct nt_segments_limits limits = {1, REGIME_POINTS_MIN, REGIMES_MAX};
    return nt_segments_fit(curve, n, &limits, out, lines, err);
}

double nt_prtt_regime_end(const struct nt_point *curve, const struct nt_line *lines, size_t n,
                          size_t k)
{
    double last = curve[lines[k].first + lines[k].count - 1].x;
    if (k + 1 >= n)
        return last;
    double next = curve[lines[k + 1].first].x, turn = lines[k].slope - lines[k + 1].slope;
    double cross = turn == 0 ? NAN : 1 + (lines[k + 1].level - lines[k].level) / turn;
    return floor(cross >= last && cross <= next ? cross : sqrt(last * next));
}
