/* SPDX-License-Identifier: Apache-2.0 */
#include "calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

enum { BATCHES_FIRST = 3, BATCHES_MAX = 16, FEW_PAIRS = 8 };

static const double WANTED_SD = 0.012;
static const double READING_US = 20e3;           /* what a reading may take */
static const double CHI_SQUARE_2_MEDIAN = 0.693; /* over 2: of a variance from three batches */

/* Few hosts: there must be pairs under one switch of four among the random ones. */
static unsigned random_matchings(size_t seats)
{
    unsigned matchings = seats < 200 ? 5 : 2;
    return seats - 1 < matchings ? (unsigned)seats - 1 : matchings;
}

int nt_calibrate_init(struct nt_calibrate *c, size_t seats, uint32_t pings, struct nt_err *err)
{
    *c = (struct nt_calibrate){
        .seats = seats, .pings = pings, .batches = BATCHES_FIRST, .most = BATCHES_MAX};
    if (seats < 2)
        return 0;
    c->matchings = 2 + random_matchings(seats);
    c->capacity = c->matchings * (seats / 2);
    c->pair = calloc(c->capacity, sizeof *c->pair);
    c->order = calloc(seats, sizeof *c->order);
    c->scratch = calloc(c->capacity, sizeof *c->scratch);
    if (c->pair == NULL || c->order == NULL || c->scratch == NULL) {
        nt_calibrate_fini(c);
        return nt_err_memory(err);
    }
    for (uint32_t i = 0; i < seats; i++)
        c->order[i] = i;
    return 0;
}

void nt_calibrate_fini(struct nt_calibrate *c)
{
    free(c->pair);
    free(c->order);
    free(c->scratch);
    *c = (struct nt_calibrate){0};
}

static void begin_matching(struct nt_calibrate *c, struct nt_rng *rng)
{
    c->from = c->count;
    if (c->matching >= 2)
        nt_rng_shuffle(rng, c->order, c->seats);
    for (size_t i = c->matching == 1; i + 1 < c->seats && c->count < c->capacity; i += 2)
        memcpy(c->pair[c->count++], &c->order[i], sizeof *c->pair);
}

int nt_calibrate_next(struct nt_calibrate *c, struct nt_rng *rng)
{
    if (c->second)
        return 1;
    while (c->matching < c->matchings) {
        if (c->matching == 0 && c->count > 0) /* the first one again, with more batches */
            return 1;
        begin_matching(c, rng);
        if (c->count > c->from)
            return 1;
        c->matching++;
    }
    return 0;
}

/* From the standard errors within readings (the median: outliers), or unknown. Of a few pairs they
 * may all be small by chance, and classes would merge: those get the most batches. */
static uint32_t batches_for(const float *se, size_t n, uint32_t had, float *scratch)
{
    size_t seen = 0;
    for (size_t k = 0; k < n; k++)
        if (se[k] > 0)
            scratch[seen++] = se[k] * se[k];
    if (seen == 0)
        return had;
    if (n < FEW_PAIRS)
        return BATCHES_MAX;
    double variance = (double)nt_stats_median(scratch, seen) / CHI_SQUARE_2_MEDIAN * had;
    const double LITTLE = 0.2; /* of a batch: no further one for so little */
    double want = ceil(variance / (WANTED_SD * WANTED_SD) - LITTLE);
    return want < 2 ? 2 : want > BATCHES_MAX ? BATCHES_MAX : (uint32_t)want;
}

/* Where pings are slow a round is not to take much longer for them than it does anyway. */
static uint32_t affordable_batches(const struct nt_calibrate *c, const float *ln)
{
    size_t n = 0;
    for (size_t k = 0; k < c->count - c->from; k++)
        if (!isnan(ln[k]))
            c->scratch[n++] = ln[k];
    if (n == 0 || c->pings == 0)
        return BATCHES_MAX;
    double batch_us = 2 * exp((double)nt_stats_median(c->scratch, n)) * c->pings;
    double most = fmin(fmax(floor(READING_US / batch_us), BATCHES_FIRST), BATCHES_MAX);
    return (uint32_t)most;
}

static bool settle_batches(struct nt_calibrate *c, const float *ln, const float *se)
{
    c->most = affordable_batches(c, ln);
    uint32_t want = batches_for(se, c->count - c->from, c->batches, c->scratch);
    want = want < c->most ? want : c->most;
    bool again = 2 * want > 3 * c->batches;
    c->settled = true;
    c->batches = want; /* two or more: they show a standard error */
    return !again;
}

void nt_calibrate_tell(struct nt_calibrate *c, const float *ln, const float *se)
{
    if (!c->settled && !settle_batches(c, ln, se))
        return;
    if (c->second)
        c->matching++;
    c->second = !c->second;
}
