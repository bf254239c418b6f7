/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a direct network whose links are given. */
#include <string.h>

#include "direct_network.h"
#include "stats.h"

/* base + hop * hops by least squares, residuals clipped at three times their mean. */
static void fit_line(const struct nt_work *w, struct nt_direct *d)
{
    double reach = INFINITY;
    for (int round = 0; round < 4; round++) {
        double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, size = 0;
        for (size_t i = 1; i < w->n; i++)
            for (size_t j = 0; j < i; j++) {
                double y = (double)nt_direct_reading(w, d, i, j), x = d->hops[i * w->n + j];
                if (y != y)
                    continue;
                double r = round == 0 ? 0 : y - d->base - d->hop * x;
                if (fabs(r) > reach)
                    y -= r - copysign(reach, r);
                size += fabs(r);
                s += 1;
                sx += x;
                sy += y;
                sxx += x * x;
                sxy += x * y;
            }
        double spread = s * sxx - sx * sx;
        d->hop = spread > 1e-9 * s * sxx ? (s * sxy - sx * sy) / spread : 0;
        d->base = (sy - d->hop * sx) / s;
        reach = round == 0 ? INFINITY : 3 * size / s;
    }
}

static void fit_offsets(const struct nt_work *w, struct nt_direct *d, float *values)
{
    for (size_t i = 0; i < w->n; i++) {
        size_t count = 0;
        for (size_t j = 0; j < w->n; j++) {
            float r = w->d[i * w->n + j] - d->offset[j] -
                      (float)(d->base + d->hop * d->hops[i * w->n + j]);
            if (r == r)
                values[count++] = r;
        }
        if (count > 0)
            d->offset[i] = 0.5f * (d->offset[i] + nt_stats_median(values, count));
    }
}

static double mean_residual(const struct nt_work *w, const struct nt_direct *d)
{
    double sum = 0, count = 0;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double r =
                (double)nt_direct_reading(w, d, i, j) - d->base - d->hop * d->hops[i * w->n + j];
            if (v == v) {
                sum += fabs(r) / v;
                count++;
            }
        }
    /* a perfect fit on a grid of readings is worth no more than the grid's step */
    return count > 0 ? sum / count + NT_GRID_RESIDUAL * w->noise.least : INFINITY;
}

double nt_score(double mean, double pairs, double unknowns)
{
    if (unknowns >= pairs - 1)
        return INFINITY;
    return 2 * pairs * log(mean * pairs / (pairs - unknowns) + 1e-9) + unknowns * log(pairs);
}

/* With and without own overheads, whichever is worth its unknowns. The graph is described by its
 * links, and each may be any of the pairs; equal link latencies cost one unknown. */
void nt_direct_fit(const struct nt_work *w, struct nt_direct *d, float *values)
{
    double pairs = (double)w->pairs, n = (double)w->n;
    memset(d->offset, 0, w->n * sizeof *d->offset);
    fit_line(w, d);
    d->residual = mean_residual(w, d);
    d->score = nt_score(d->residual, pairs, (double)d->links + 2);
    if (!(d->hop > 0))
        d->score = INFINITY;
    double base = d->base, hop = d->hop;
    for (int round = 0; round < 6; round++) {
        fit_offsets(w, d, values);
        fit_line(w, d);
    }
    double residual = mean_residual(w, d);
    double score = nt_score(residual, pairs, (double)d->links + 2 + n);
    d->offsets = d->hop > 0 && score < d->score;
    if (d->offsets) {
        d->score = score;
        d->residual = residual;
        return;
    }
    memset(d->offset, 0, w->n * sizeof *d->offset);
    d->base = base;
    d->hop = hop;
}
