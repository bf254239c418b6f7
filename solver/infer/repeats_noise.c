/* SPDX-License-Identifier: Apache-2.0 */
/* The noise of readings as repeats of a pair show it: a second source where hosts are few. */
#include "infer.h"
#include "stats.h"
#include "work.h"

/* How repeats' noise grows with the latency: of the readings nearer to the least latency and those
 * nearer to the greatest, by their middle. 1: too few of either. */
static double repeats_power(const struct nt_matrix *m, const struct nt_matrix *se)
{
    enum { LEAST = 8 };
    float near[NT_INFER_ERRORS_HOSTS * NT_INFER_ERRORS_HOSTS];
    float far[NT_INFER_ERRORS_HOSTS * NT_INFER_ERRORS_HOSTS];
    double least = INFINITY, most = 0, level[2] = {0};
    size_t nears = 0, fars = 0;
    for (size_t k = 0; k < m->n * m->n; k++)
        if (nt_work_usable(m->at[k]) && se->at[k] >= 0) {
            least = fmin(least, (double)m->at[k]);
            most = fmax(most, (double)m->at[k]);
        }
    for (size_t k = 0; k < m->n * m->n; k++)
        if (nt_work_usable(m->at[k]) && se->at[k] >= 0) {
            bool is_far = (double)(m->at[k] * m->at[k]) > least * most;
            level[is_far] += log((double)m->at[k]);
            if (is_far)
                far[fars++] = se->at[k];
            else
                near[nears++] = se->at[k];
        }
    if (nears < LEAST || fars < LEAST)
        return 1;
    double apart = level[1] / (double)fars - level[0] / (double)nears;
    double a = (double)nt_stats_median(near, nears), b = (double)nt_stats_median(far, fars);
    return a > 0 && b > 0 && apart > 0.15 ? fmax(0, fmin(log(b / a) / apart, 1)) : 1;
}

void nt_noise_of_repeats(const struct nt_matrix *m, const struct nt_matrix *se,
                         struct nt_noise *noise)
{
    double sum = 0;
    size_t count = 0;
    if (se == NULL || se->n != m->n || m->n > NT_INFER_ERRORS_HOSTS)
        return;
    noise->flatter = 1 - repeats_power(m, se);
    for (size_t k = 0; k < m->n * m->n; k++)
        if (nt_work_usable(m->at[k]) && se->at[k] >= 0) {
            sum += (double)(se->at[k] / m->at[k]);
            count++;
        }
    if (count == 0)
        return;
    noise->repeats = sum / (double)count;
    const double PATHS = 0.01; /* what differs between paths, which repeats do not see */
    noise->prior = hypot(noise->repeats, PATHS);
}
