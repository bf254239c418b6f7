/* SPDX-License-Identifier: Apache-2.0 */
#include "min_latency.h"

#include <stdbool.h>
#include <stdlib.h>

#include "stats.h"

/* Minimum number of pairs of a host with three readings or more, and of such hosts; fewer do not
 * show the state of the host, or the noise. */
enum { PAIRS_MIN = 3, HOSTS_MIN = 5 };

/* For readings with exponential delays, the lowest is more than eight times as far below the next
 * one as usual in one of 256 pairs; other disturbed readings rarely agree within a factor of two.
 * An outlier is at least a fiftieth of a latency too low. */
static const float STEPS_APART = 8, STEPS_AGREE = 2, SHARE_MIN = 0.02F;

/* The lowest reading is an outlier. usual_us 0: unknown. */
static bool stands_alone(const struct nt_min_latency *low, float usual_us)
{
    float step = low->next - low->lowest;
    if (nt_min_latency_of(low) > low->lowest)
        return true;
    return low->count > 2 && usual_us > 0 &&
           step > fmaxf(STEPS_APART * usual_us, SHARE_MIN * low->lowest) &&
           low->highest - low->next <= STEPS_AGREE * usual_us;
}

/* How far the lowest reading is below the next one: the median of a host's pairs, 0: of too few.
 * work: 2 n. */
static float step_of_host_us(const struct nt_min_latency *low, size_t n, size_t host, float *work)
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

/* The median of the hosts that have one, 0: of too few. work: n. */
static float usual_step_us(const float *step_us, size_t n, float *work)
{
    size_t hosts = 0;
    for (size_t k = 0; k < n; k++)
        if (step_us[k] > 0)
            work[hosts++] = step_us[k];
    return hosts < HOSTS_MIN ? 0 : nt_stats_median(work, hosts);
}

int nt_min_latency_matrix(const struct nt_min_latency *low, struct nt_matrix *m,
                          struct nt_matrix *error, struct nt_err *err)
{
    size_t n = m->n;
    float *step_us = calloc(3 * n + 1, sizeof *step_us);
    if (step_us == NULL)
        return nt_err_memory(err);
    float *work = step_us + n;
    for (size_t a = 0; a < n; a++)
        step_us[a] = step_of_host_us(low, n, a, work);
    float usual_us = usual_step_us(step_us, n, work);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            const struct nt_min_latency *of = &low[a * n + b];
            if (of->count == 0)
                continue;
            bool alone = stands_alone(of, usual_us);
            /* readings above it belong to another state of the network and do not show its error */
            bool changed = alone && 2 * fmaxf(step_us[a], step_us[b]) >= of->next - of->lowest;
            nt_matrix_set(m, a, b, alone && !changed ? of->next : of->lowest);
            if (error != NULL)
                nt_matrix_set(error, a, b,
                              changed ? NAN
                              : alone ? of->highest - of->next
                                      : nt_min_latency_error(of));
        }
    free(step_us);
    return 0;
}
