/* SPDX-License-Identifier: Apache-2.0 */
#include "min_latency.h"

#include <stdbool.h>
#include <stdlib.h>

#include "stats.h"

/* So many pairs of a host were read more than twice: fewer tell nothing of the host. */
enum { PAIRS_MIN = 3 };

/* The lowest is left out as one that is wrong by itself. */
static bool stands_alone(const struct nt_min_latency *low)
{
    return nt_min_latency_of(low) > low->lowest;
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

int nt_min_latency_matrix(const struct nt_min_latency *low, struct nt_matrix *m,
                          struct nt_matrix *error, struct nt_err *err)
{
    uint32_t n = (uint32_t)m->n;
    float *usual = malloc((3 * (size_t)n + 1) * sizeof *usual);
    if (usual == NULL)
        return nt_err_memory(err);
    for (uint32_t a = 0; a < n; a++)
        usual[a] = usual_step_us(low, n, a, usual + n);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            const struct nt_min_latency *of = &low[(size_t)a * n + b];
            if (of->count == 0)
                continue;
            /* what is above it is of another network, and tells nothing of its error */
            bool lowest =
                stands_alone(of) && 2 * fmaxf(usual[a], usual[b]) >= of->next - of->lowest;
            nt_matrix_set(m, a, b, lowest ? of->lowest : nt_min_latency_of(of));
            if (error != NULL)
                nt_matrix_set(error, a, b, lowest ? NAN : nt_min_latency_error(of));
        }
    free(usual);
    return 0;
}
