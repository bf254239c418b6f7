/* SPDX-License-Identifier: Apache-2.0 */
#include "reading_noise.h"

#include <math.h>
#include <stdlib.h>

#include "stats.h"

/* The standard error of three batches is lower than the true one more often than not. */
static const double OF_FEW_BATCHES = 1.2;

int nt_reading_noise_note(struct nt_reading_noise *s, double us, double se_us, uint32_t pings,
                          struct nt_err *err)
{
    if (!(us > 0) || !(se_us >= 0) || !isfinite(us) || !isfinite(se_us))
        return 0;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity > 0 ? 2 * s->capacity : 64;
        void *at = realloc(s->at, capacity * sizeof *s->at);
        if (at == NULL)
            return nt_err_memory(err);
        s->at = at;
        s->capacity = capacity;
    }
    s->at[s->count].relative = (float)(se_us / us);
    s->at[s->count++].pings = pings;
    if (pings > s->most_pings)
        s->most_pings = pings;
    return 0;
}

double nt_reading_noise_sd(const struct nt_reading_noise *s)
{
    float *value = malloc((s->count + 1) * sizeof *value);
    size_t n = 0;
    for (size_t k = 0; value != NULL && k < s->count; k++)
        if (2 * (uint64_t)s->at[k].pings >= s->most_pings)
            value[n++] = s->at[k].relative;
    double noise = n > 0 ? OF_FEW_BATCHES * (double)nt_stats_median(value, n) : 0;
    free(value);
    return noise;
}

void nt_reading_noise_fini(struct nt_reading_noise *s)
{
    free(s->at);
    *s = (struct nt_reading_noise){0};
}
