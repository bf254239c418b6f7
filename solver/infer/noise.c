/* SPDX-License-Identifier: Apache-2.0 */
/* Noise from the four-point condition. */
#include "work.h"

#include <string.h>

#include "stats.h"

enum { QUARTETS = 8000, ENUMERATE_HOSTS = 16 };

struct gaps {
    float gap[QUARTETS], level[QUARTETS], scratch[QUARTETS];
    size_t count;
};

static void add_quartet(struct gaps *g, const float *d, size_t n, const size_t x[4])
{
    float s0 = d[x[0] * n + x[1]] + d[x[2] * n + x[3]];
    float s1 = d[x[0] * n + x[2]] + d[x[1] * n + x[3]];
    float s2 = d[x[0] * n + x[3]] + d[x[1] * n + x[2]];
    float sum = s0 + s1 + s2;
    if (sum != sum || g->count == QUARTETS)
        return;
    float high = fmaxf(s0, fmaxf(s1, s2)), low = fminf(s0, fminf(s1, s2));
    float middle = sum - high - low;
    g->gap[g->count] = high - middle;
    g->level[g->count++] = 0.25f * (high + middle);
}

static void all_quartets(struct gaps *g, const float *d, size_t n)
{
    for (size_t a = 3; a < n; a++)
        for (size_t b = 2; b < a; b++)
            for (size_t c = 1; c < b; c++)
                for (size_t e = 0; e < c; e++)
                    add_quartet(g, d, n, (size_t[]){a, b, c, e});
}

/* Half of the quartets anywhere, half inside windows of the order, where hosts are near. */
static void some_quartets(struct gaps *g, const float *d, size_t n, struct nt_rng *rng)
{
    for (size_t q = 0; q < QUARTETS; q++) {
        size_t width = n;
        if (q % 2 == 1)
            while (width > 16 && nt_rng_below(rng, 2) == 0)
                width /= 2;
        size_t first = nt_rng_below(rng, n - width + 1), x[4];
        for (size_t k = 0; k < 4; k++)
            x[k] = first + nt_rng_below(rng, width);
        bool distinct = x[0] != x[1] && x[0] != x[2] && x[0] != x[3] && x[1] != x[2] &&
                        x[1] != x[3] && x[2] != x[3];
        if (distinct)
            add_quartet(g, d, n, x);
    }
}

/* Exponent from the middle gaps of the lower and the upper half of the levels. */
static double noise_exponent(struct gaps *g)
{
    size_t m = g->count, low = 0, high = 0;
    double level[2] = {0, 0};
    memcpy(g->scratch, g->level, m * sizeof *g->scratch);
    float split = nt_stats_median(g->scratch, m);
    for (size_t k = 0; k < m; k++) {
        if (g->level[k] <= split) {
            g->scratch[low++] = g->gap[k];
            level[0] += (double)g->level[k];
        } else {
            g->scratch[m - ++high] = g->gap[k];
            level[1] += (double)g->level[k];
        }
    }
    if (high < 50 || low < 50)
        return 1;
    level[0] /= (double)low;
    level[1] /= (double)high;
    float a = nt_stats_median(g->scratch, low), b = nt_stats_median(g->scratch + low, high);
    if (!(level[1] > 1.15 * level[0]) || !(a > 0) || !(b > 0))
        return 1;
    double p = log((double)(b / a)) / log(level[1] / level[0]);
    return p < 0 ? 0 : p > 1 ? 1 : p;
}

/* When readings stand on a grid, gaps under one step do not show. */
static double grid_floor(struct gaps *g, double level)
{
    size_t zero = 0, some = 0;
    for (size_t k = 0; k < g->count; k++) {
        if ((double)g->gap[k] < 1e-5 * level)
            zero++;
        else
            g->scratch[some++] = g->gap[k];
    }
    if (zero * 20 < g->count || some == 0)
        return 0;
    /* medians snap to the grid and leave residuals of zero: nearly a step, not q/sqrt(12) */
    double step = (double)nt_stats_quantile(g->scratch, some, 0.1);
    /* a step of an eighth of the readings is no grid, it is exact readings of few levels */
    return fmin(0.8 * step, 0.1 * level);
}

/* All values are multiples of the step. */
static bool is_grid(const float *value, size_t count, double step)
{
    for (size_t k = 0; k < count; k++) {
        double steps = (double)value[k] / step;
        if (fabs(steps - round(steps)) > 1e-3 + 1e-5 * steps)
            return false;
    }
    return true;
}

/* Readings of a few values that are near each other stand on a grid too coarse for any gap to
 * show: lone readings one step lower fit a tree as well as a switch of two hosts does. The step,
 * or 0; values that are an eighth apart, or no multiples of a step, are exact readings of few
 * levels. */
static double coarse_step(const float *d, size_t n)
{
    enum { DISTINCT = 8, READINGS = 100000 };
    float seen[DISTINCT];
    size_t distinct = 0, readings = 0;
    double step = INFINITY, level = 0;
    for (size_t i = 1; i < n && readings < READINGS; i++)
        for (size_t j = 0; j < i; j++) {
            float v = d[i * n + j];
            size_t k = 0;
            while (k < distinct && fabsf(v - seen[k]) > 1e-5f * v)
                k++;
            readings += v == v;
            if (v != v || k < distinct)
                continue;
            if (distinct == DISTINCT)
                return 0;
            for (size_t l = 0; l < distinct; l++)
                step = fmin(step, (double)fabsf(v - seen[l]));
            level = fmax(level, (double)v);
            seen[distinct++] = v;
        }
    return step < level / 8 && is_grid(seen, distinct, step) ? step : 0;
}

void nt_noise_estimate(const float *d, size_t n, const struct nt_rng *rng, struct nt_noise *noise)
{
    struct gaps g = {.count = 0};
    struct nt_rng own = *rng;
    const double prior = 0.03;
    *noise = (struct nt_noise){.power = 1, .scale = prior, .least = 1e-4};
    if (n < 4)
        return;
    if (n <= ENUMERATE_HOSTS)
        all_quartets(&g, d, n);
    else
        some_quartets(&g, d, n, &own);
    if (g.count == 0)
        return;
    double p = noise->power = noise_exponent(&g);
    memcpy(g.scratch, g.level, g.count * sizeof *g.scratch);
    double level = (double)nt_stats_median(g.scratch, g.count);
    double floor_us = fmax(1e-4 * level, grid_floor(&g, level));
    floor_us = fmax(floor_us, 0.3 * coarse_step(d, n)); /* rounding alone: 1/sqrt(12) */
    for (size_t k = 0; k < g.count; k++)
        g.scratch[k] = (float)((double)g.gap[k] / pow((double)g.level[k], p));
    /* middle of the gap in units of the sd of a pair: 0.98 behind one switch, where the three sums
     * are alike, 1.35 where one stands apart; the smaller one never takes noise for structure. A
     * quartet or five need the other: the prior and their few degrees of freedom guard them */
    double scale = (double)nt_stats_median(g.scratch, g.count) / (n < 6 ? 1.3 : 0.98);
    double least = floor_us / pow(level, p), guess = prior * pow(level, 1 - p);
    noise->least = floor_us / level;
    scale = scale > least ? scale : least;
    /* few hosts say little about their noise: the prior counts as 3 more pairs */
    double df = 0.8 * (double)n * ((double)n - 3) / 2;
    noise->scale = sqrt((df * scale * scale + 3 * guess * guess) / (df + 3));
}
