/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a matrix of readings that noise does not explain. */
#include <lapacke.h>
#include <string.h>

#include "direct_network.h"
#include "memory.h"
#include "stats.h"

enum { ROUNDS = 8, ROUNDS_LARGE = 4, LARGE = 128 };

/* Threshold for a spectrum of unknown noise, in units of its median (Gavish and Donoho 2014,
 * table IV for square matrices). */
static const double ABOVE_MEDIAN = 2.858;

struct scratch {
    double *full;  /* n*n: readings with the gaps filled, then eigenvectors */
    double *value; /* n */
    float *size;   /* n*n/2 */
    double *work;  /* LAPACK's: work_size of them, 3 + 5 n of the others */
    lapack_int *whole, work_size;
};

/* Missing pairs start with the medians of their rows. */
static void first_guess(const struct nt_work *w, struct scratch *r, float *out)
{
    size_t n = w->n;
    for (size_t i = 0; i < n; i++) {
        size_t known = 0;
        for (size_t j = 0; j < n; j++)
            if (w->d[i * n + j] == w->d[i * n + j])
                r->size[known++] = w->d[i * n + j];
        r->value[i] = known > 0 ? (double)nt_stats_median(r->size, known) : 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            out[i * n + j] = (float)(0.5 * (r->value[i] + r->value[j]));
}

/* Relative residuals beyond so many sd are wrong readings. */
static const float WRONG_SDS = 4;

static float find_reach(const struct nt_work *w, const float *out, struct scratch *r)
{
    size_t count = 0;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            float v = w->d[i * w->n + j];
            if (v == v)
                r->size[count++] = fabsf(v - out[i * w->n + j]) / v;
        }
    return count > 0 ? WRONG_SDS * (float)NT_SD_OF_MEDIAN * nt_stats_median(r->size, count) : 0;
}

static void fill_missing(const struct nt_work *w, const float *out, float reach, struct scratch *r)
{
    for (size_t k = 0; k < w->n * w->n; k++) {
        float v = w->d[k];
        bool good = v == v && fabsf(v - out[k]) <= reach * v;
        r->full[k] = (double)(good ? v : out[k]);
    }
}

/* Sums the parts above the threshold. */
static int project_spectrum(size_t n, struct scratch *r, float *out, struct nt_err *err)
{
    const lapack_int m = (lapack_int)n, whole_size = 3 + 5 * m;
    lapack_int info;
    LAPACK_dsyevd("V", "L", &m, r->full, &m, r->value, r->work, &r->work_size, r->whole,
                  &whole_size, &info);
    if (info != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "no eigenvalues of %zu hosts", n);
    for (size_t k = 0; k < n; k++)
        r->size[k] = (float)fabs(r->value[k]);
    double limit = ABOVE_MEDIAN * (double)nt_stats_median(r->size, n);
    memset(out, 0, n * n * sizeof *out);
    for (size_t k = 0; k < n; k++) {
        const double *x = r->full + k * n;
        if (fabs(r->value[k]) <= limit)
            continue;
        for (size_t i = 0; i < n; i++) {
            float f = (float)(r->value[k] * x[i]);
            for (size_t j = 0; j < n; j++)
                out[i * n + j] += f * (float)x[j];
        }
    }
    return 0;
}

int nt_denoise(const struct nt_work *w, float *out, struct nt_err *err)
{
    size_t n = w->n, work = 1 + 6 * n + 2 * n * n; /* the least that dsyevd takes */
    int rounds = n > LARGE ? ROUNDS_LARGE : ROUNDS, status = 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct scratch r = {.full = nt_arena_array(&memory, n * n, sizeof *r.full),
                        .value = nt_arena_array(&memory, n, sizeof *r.value),
                        .size = nt_arena_array(&memory, n * n, sizeof *r.size),
                        .work = nt_arena_array(&memory, work, sizeof *r.work),
                        .whole = nt_arena_array(&memory, 3 + 5 * n, sizeof *r.whole),
                        .work_size = (lapack_int)work};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    first_guess(w, &r, out);
    for (int round = 0; round < rounds && status == 0; round++) {
        /* at first every reading counts: the start has no structure to judge them by */
        fill_missing(w, out, round < 2 ? INFINITY : find_reach(w, out, &r), &r);
        status = project_spectrum(n, &r, out, err);
    }
    for (size_t i = 0; i < n && status == 0; i++)
        out[i * n + i] = NAN;
    return status;
}
