/* SPDX-License-Identifier: Apache-2.0 */
/* A fit that left a pattern behind. */

#include "confidence.h"
#include "memory.h"
#include "stats.h"

enum { STEPS = 12, ROWS = 256 };

/* Residuals, clipped at three times their middle size; unknown ones are 0. *noise: the norm that as
 * much noise would have. */
static int misfit_residuals(const struct nt_work *w, const struct nt_matrix *modelled, size_t n,
                            size_t skip, float *r, double *noise, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    float *size = nt_arena_array(&memory, n * n / 2 + 1, sizeof *size);
    size_t count = 0;
    double square = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            size_t a = i * skip, b = j * skip;
            float v = w->d[a * w->n + b];
            float p = nt_matrix_get(modelled, w->host[a], w->host[b]);
            float x = i == j || v != v || p != p ? 0 : (v - p) / p;
            r[i * n + j] = r[j * n + i] = x;
            if (x != 0)
                size[count++] = fabsf(x);
        }
    float sd = count > 0 ? (float)NT_SD_OF_MEDIAN * nt_stats_median(size, count) : 0;
    /* what a grid of readings or their digits leave has patterns that mean nothing */
    float least = fmaxf((float)nt_noise_least(w), 1e-4f);
    bool none = sd < least;
    sd = none ? least : sd;
    for (size_t k = 0; k < n * n; k++) {
        float x = r[k] / sd;
        r[k] = x > 3 ? 3 : x < -3 ? -3 : x;
        square += (double)(r[k] * r[k]);
    }
    *noise = 2 * sqrt(none ? fmax(square / (double)n, (double)n) : square / (double)n);
    return 0;
}

/* Power iteration; the square avoids the sign of the eigenvalue. */
static double largest_residuals(const float *r, size_t n, double *x, double *y)
{
    double norm = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = i % 3 == 0 ? 1 : i % 3 == 1 ? -0.7 : 0.4;
    for (int step = 0; step < STEPS; step++) {
        double square = 0;
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += (double)r[i * n + j] * x[j];
            y[i] = sum;
            square += sum * sum;
        }
        norm = sqrt(square);
        for (size_t i = 0; i < n && norm > 0; i++)
            x[i] = y[i] / norm;
    }
    return norm;
}

int nt_misfit(const struct nt_work *w, const struct nt_matrix *modelled, double *misfit,
              struct nt_err *err)
{
    size_t skip = (w->n + ROWS - 1) / ROWS, n = w->n / (skip > 0 ? skip : 1);
    double noise = 0;
    *misfit = 0;
    if (n < 8)
        return 0;
    NT_SCOPED struct nt_arena memory = {0};
    float *r = nt_arena_array(&memory, n * n, sizeof *r);
    double *x = nt_arena_array(&memory, 2 * n, sizeof *x);
    if (nt_arena_check(&memory, err) != 0 ||
        misfit_residuals(w, modelled, n, skip, r, &noise, err) != 0)
        return -1;
    *misfit = largest_residuals(r, n, x, x + n) / (noise + 1e-9);
    return 0;
}
