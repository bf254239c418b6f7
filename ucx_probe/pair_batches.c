/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_batches.h"

#include <math.h>
#include <string.h>

#include "stats.h"

void nt_pair_batch_add(struct nt_pair_batches *b, const float *times, size_t n)
{
    float values[512];
    n = n < 512 ? n : 512;
    if (n == 0 || b->n == NT_PAIR_BATCHES_MAX)
        return;
    memcpy(values, times, n * sizeof *values);
    b->low[b->n++] = (double)nt_stats_quantile(values, n, 0.1);
}

/* Standard error of the batches' mean. One batch knows nothing of its error: half its value. */
static double batch_standard_error(const struct nt_pair_batches *b)
{
    double mean = 0, square = 0;
    if (b->n < 2)
        return b->n == 0 ? 0 : b->low[0] / 2;
    for (size_t i = 0; i < b->n; i++)
        mean += b->low[i] / (double)b->n;
    for (size_t i = 0; i < b->n; i++)
        square += (b->low[i] - mean) * (b->low[i] - mean);
    return sqrt(square / (double)(b->n - 1) / (double)b->n);
}

/* How well the lowest batches agree. What disturbs only ever adds, and on shared cores most turns
 * are disturbed: the others say nothing of the lowest ones. */
double nt_pair_batch_lowest_gap(const struct nt_pair_batches *b)
{
    double lowest = INFINITY, second = INFINITY;
    if (b->n < 2)
        return b->n == 0 ? 0 : b->low[0] / 2;
    for (size_t i = 0; i < b->n; i++) {
        second = fmin(second, fmax(lowest, b->low[i]));
        lowest = fmin(lowest, b->low[i]);
    }
    return second - lowest;
}

void nt_pair_batch_result(float *times, size_t n, const struct nt_pair_batches *b, double scale,
                          struct nt_result *result)
{
    result->ok = true;
    result->value_us = (double)nt_stats_quantile(times, n, 0.1) * scale;
    result->median_us = (double)nt_stats_quantile(times, n, 0.5) * scale;
    result->se_us = batch_standard_error(b) * scale;
}
