/* SPDX-License-Identifier: Apache-2.0 */
#include "min_latency.h"

#include <stdbool.h>
#include <stdlib.h>

#include "stats.h"

/* So many pairs of a host were read more than twice, or of all hosts: fewer tell nothing of the
 * host, or of the noise. */
enum { PAIRS_MIN = 3, ALL_PAIRS_MIN = 10 };

/* What is usual of all pairs: how far the lowest reading is below the next one. Of readings that
 * are late (exponential) it is more than eight times that in one of 256 pairs; others that were
 * disturbed rarely agree within two. An outlier is at least a fiftieth of a latency. */
static const float STEPS_APART = 8, STEPS_AGREE = 2, SHARE_MIN = 0.02F;

/* The lowest is left out as one that is wrong by itself. usual_us: 0: not known. */
static bool stands_alone(const struct nt_min_latency *low, float usual_us)
{
    float step = low->next - low->lowest;
    return nt_min_latency_of(low) > low->lowest ||
           (low->count > 2 && step > fmaxf(STEPS_APART * usual_us, SHARE_MIN * low->lowest) &&
            low->highest - low->next <= STEPS_AGREE * usual_us);
}

/* How far the lowest reading is below the next one, of half of a host's pairs at least. work: 2 n.
 */
static float usual_step_us(const struct nt_min_latency *low, size_t n, size_t host, float *work)
{
    size_t pairs = 0;
    for (size_t other = 0; other < n; other++) {
        const struct nt_min_latency *of[] = {&low[host * n + other], &low[other * n + host]};
        for (size_t way = 0; way < 2; way++)
            if (of[way]->count > 2)
                work[pairs++] = of[way]->next - of[way]->lowest;
    }
    return pairs < PAIRS_MIN ? 0 : nt_stats_median(work, pairs);
}

/* work: n * n. */
static float step_of_all_us(const struct nt_min_latency *low, size_t n, float *work)
{
    size_t pairs = 0;
    for (size_t k = 0; k < n * n; k++)
        if (low[k].count > 2)
            work[pairs++] = low[k].next - low[k].lowest;
    return pairs < ALL_PAIRS_MIN ? 0 : nt_stats_median(work, pairs);
}

int nt_min_latency_matrix(const struct nt_min_latency *low, struct nt_matrix *m,
                          struct nt_matrix *error, struct nt_err *err)
{
    uint32_t n = (uint32_t)m->n;
    float *usual = malloc((n + (size_t)n * n + 2 * (size_t)n + 1) * sizeof *usual);
    if (usual == NULL)
        return nt_err_memory(err);
    float usual_us = step_of_all_us(low, n, usual + n);
    for (uint32_t a = 0; a < n; a++)
        usual[a] = usual_step_us(low, n, a, usual + n);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            const struct nt_min_latency *of = &low[(size_t)a * n + b];
            if (of->count == 0)
                continue;
            bool alone = stands_alone(of, usual_us);
            /* what is above it is of another network, and tells nothing of its error */
            bool changed = alone && 2 * fmaxf(usual[a], usual[b]) >= of->next - of->lowest;
            nt_matrix_set(m, a, b, alone && !changed ? of->next : of->lowest);
            if (error != NULL)
                nt_matrix_set(error, a, b,
                              changed ? NAN
                              : alone ? of->highest - of->next
                                      : nt_min_latency_error(of));
        }
    free(usual);
    return 0;
}
