/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two trees of the same readings to take. */

#include "memory.h"
#include "stats.h"
#include "work.h"

enum { OFF = 5, SUPPORT = 3 };

double nt_score(double mean, double pairs, double unknowns)
{
    if (unknowns >= pairs - 1)
        return INFINITY;
    return 2 * pairs * log(mean * pairs / (pairs - unknowns) + 1e-9) + unknowns * log(pairs);
}

/* Relative residuals of all measured pairs; their number. */
static size_t model_residuals(const struct nt_work *w, const struct nt_matrix *p, float *r)
{
    size_t count = 0;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            float v = w->d[i * w->n + j];
            if (v == v)
                r[count++] = (v - nt_matrix_get(p, w->host[i], w->host[j])) / v;
        }
    return count;
}

static double model_score(const struct nt_work *w, const float *r, size_t count, size_t links)
{
    double sum = 0, pairs = (double)count;
    for (size_t k = 0; k < count; k++)
        sum += r[k] == r[k] ? (double)fabsf(r[k]) : 1;
    return nt_score(sum / pairs + NT_GRID_RESIDUAL * nt_noise_least(w), pairs,
                    fmin((double)links, pairs - 2));
}

/* A leaf of two hosts and one reading that is far too low look the same. Where wrong readings are
 * left over the next one was probably wrong too: then more pairs than a few must support it. */
static bool is_supported(const float *first, const float *second, float *scratch, size_t count,
                         double least)
{
    size_t known = 0, off = 0, gained = 0;
    for (size_t k = 0; k < count; k++)
        if (second[k] == second[k])
            scratch[known++] = fabsf(second[k]);
    float sd = (float)NT_SD_OF_MEDIAN * nt_stats_median(scratch, known);
    float reach = OFF * (sd > (float)least ? sd : (float)least);
    for (size_t k = 0; k < count; k++) {
        bool now = fabsf(second[k]) > reach;
        off += now;
        gained += !now && fabsf(first[k]) > reach;
    }
    return gained >= SUPPORT * off;
}

int nt_model_select(const struct nt_work *w, const struct nt_model *first,
                    const struct nt_model *second, bool *better, struct nt_err *err)
{
    size_t pairs = w->n * w->n / 2 + 1;
    NT_SCOPED struct nt_arena memory = {0};
    float *r = nt_arena_array(&memory, 3 * pairs, sizeof *r);
    struct nt_matrix *a = NULL, *b = NULL;
    int status = nt_arena_check(&memory, err);
    if (status == 0)
        status = nt_model_latencies(first, &a, err);
    if (status == 0)
        status = nt_model_latencies(second, &b, err);
    if (status == 0) {
        size_t count = model_residuals(w, a, r);
        model_residuals(w, b, r + pairs);
        *better = model_score(w, r + pairs, count, second->links) <
                      model_score(w, r, count, first->links) &&
                  is_supported(r, r + pairs, r + 2 * pairs, count, nt_noise_least(w));
    }
    nt_matrix_destroy(a);
    nt_matrix_destroy(b);
    return status;
}
