#include "calibrate.h"

#include <math.h>
#include <stdlib.h>

#include "stats.h"

enum { BATCHES_FIRST = 3, BATCHES_MAX = 16, FEW_PAIRS = 8 };

static const double WANTED_SD = 0.012;
static const double READING_US = 20e3;           /* what a reading may take */
static const double LEAST_SD = 0.01;             /* real paths of one class differ by that */
static const double CHI_SQUARE_2_MEDIAN = 0.693; /* over 2: of a variance from three batches */
static const double LEAST_AGREEING = 0.005;      /* share of agreeing pairs that are wrong twice */
static const double DISAGREE_SDS = 4.5;

/* Few hosts: there must be pairs under one switch of four among the random ones. */
static unsigned random_legs(size_t seats)
{
    unsigned legs = seats < 200 ? 5 : 2;
    return seats - 1 < legs ? (unsigned)seats - 1 : legs;
}

int nt_calibration_init(struct nt_calibration *c, size_t seats, uint32_t pings, struct nt_err *err)
{
    *c = (struct nt_calibration){
        .seats = seats, .pings = pings, .batches = BATCHES_FIRST, .most = BATCHES_MAX};
    if (seats < 2)
        return 0;
    c->legs = 2 + random_legs(seats);
    c->room = c->legs * (seats / 2);
    c->at = calloc(c->room, sizeof *c->at);
    c->order = calloc(seats, sizeof *c->order);
    c->scratch = calloc(c->room, sizeof *c->scratch);
    if (c->at == NULL || c->order == NULL || c->scratch == NULL) {
        nt_calibration_fini(c);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a sweep of %zu hosts", seats);
    }
    for (uint32_t i = 0; i < seats; i++)
        c->order[i] = i;
    return 0;
}

void nt_calibration_fini(struct nt_calibration *c)
{
    free(c->at);
    free(c->order);
    free(c->scratch);
    *c = (struct nt_calibration){0};
}

static void begin_leg(struct nt_calibration *c, struct nt_rng *rng)
{
    c->from = c->count;
    if (c->leg >= 2)
        nt_rng_shuffle(rng, c->order, c->seats);
    for (size_t i = c->leg == 1; i + 1 < c->seats && c->count < c->room; i += 2)
        c->at[c->count++] = (struct nt_twice){c->order[i], c->order[i + 1], NAN, NAN};
}

int nt_calibration_next(struct nt_calibration *c, struct nt_rng *rng)
{
    if (c->second)
        return 1;
    while (c->leg < c->legs) {
        if (c->leg == 0 && c->count > 0) /* the first one again, with more batches */
            return 1;
        begin_leg(c, rng);
        if (c->count > c->from)
            return 1;
        c->leg++;
    }
    return 0;
}

/* From the standard errors within readings (median: accidents), or no idea. Of a few pairs they may
 * all be small by chance, and classes would run into one: those get all that may be. */
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
    double want = ceil(variance / (WANTED_SD * WANTED_SD) - 0.2);
    return want < 2 ? 2 : want > BATCHES_MAX ? BATCHES_MAX : (uint32_t)want;
}

/* Where pings are slow a round is not to take much longer for them than it does anyway. */
static uint32_t affordable(const struct nt_calibration *c, const float *ln)
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

static bool settle(struct nt_calibration *c, const float *ln, const float *se)
{
    c->most = affordable(c, ln);
    uint32_t want = batches_for(se, c->count - c->from, c->batches, c->scratch);
    want = want < c->most ? want : c->most;
    bool again = 2 * want > 3 * c->batches;
    c->settled = true;
    c->batches = want; /* two or more: they show a standard error */
    return !again;
}

void nt_calibration_tell(struct nt_calibration *c, const float *ln, const float *se)
{
    if (!c->settled && !settle(c, ln, se))
        return;
    for (size_t k = c->from; k < c->count; k++)
        *(c->second ? &c->at[k].second : &c->at[k].first) = ln[k - c->from];
    if (c->second)
        c->leg++;
    c->second = !c->second;
}

/* ---- the end ----------------------------------------------------------------------------------
 */

static double difference(const struct nt_twice *t)
{
    return fabs((double)t->first - (double)t->second); /* NaN when one is */
}

static bool disagree(const struct nt_calibration *c, const struct nt_twice *t)
{
    return difference(t) > DISAGREE_SDS * sqrt(2) * c->noise;
}

bool nt_calibration_agrees(const struct nt_calibration *c, const struct nt_twice *t)
{
    return !isnan(difference(t)) && !disagree(c, t);
}

static int find_noise(struct nt_calibration *c, struct nt_err *err)
{
    size_t n = 0, apart = 0;
    float *off = c->scratch;
    for (size_t k = 0; k < c->count; k++)
        if (!isnan(difference(&c->at[k])))
            off[n++] = (float)difference(&c->at[k]);
    double sd = n > 0 ? (double)nt_stats_median(off, n) / (0.6745 * sqrt(2)) : 0;
    if (n == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no pair of hosts could be measured twice");
    c->noise = fmax(sd, LEAST_SD);
    for (size_t k = 0; k < c->count; k++)
        apart += disagree(c, &c->at[k]);
    c->outliers = fmin(0.65 * ((double)apart + 1) / (double)n, 0.3);
    return 0;
}

/* Accidents are mostly slow ones; how many are not is what a fast reading's proof depends on. */
static void find_sides(const struct nt_calibration *c, struct nt_classes *classes)
{
    double low = 0.5, high = 0.5;
    for (size_t k = 0; k < c->count; k++)
        if (disagree(c, &c->at[k]))
            nt_classes_blame(classes, (double)c->at[k].first, (double)c->at[k].second, &low, &high);
    classes->low_share = low / (low + high);
}

int nt_calibration_finish(struct nt_calibration *c, struct nt_readings *ledger,
                          struct nt_classes *classes, struct nt_err *err)
{
    if (find_noise(c, err) < 0)
        return -1;
    double *value = calloc(c->count + 1, sizeof *value);
    size_t n = 0;
    int rc = 0;
    if (value == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu readings", c->count);
    for (size_t k = 0; k < c->count && rc == 0; k++) {
        const struct nt_twice *t = &c->at[k];
        if (nt_calibration_agrees(c, t)) {
            value[n++] = ((double)t->first + (double)t->second) / 2;
            c->random_pairs += t->a + 1 != t->b && t->b + 1 != t->a; /* no neighbours */
        }
        if (!isnan(t->first))
            rc = nt_readings_add(ledger, t->a, t->b, 0, t->first, err);
        if (!isnan(t->second) && rc == 0)
            rc = nt_readings_add(ledger, t->a, t->b, 0, t->second, err);
    }
    if (rc == 0 && n == 0)
        rc = nt_err_set(err, NT_ERR_INPUT, "no pair of hosts gave the same latency twice");
    if (rc == 0)
        rc = nt_classes_fit(value, n, fmax(c->noise / sqrt(2), LEAST_SD),
                            fmax(LEAST_AGREEING, c->outliers * c->outliers), classes, err);
    if (rc == 0) {
        classes->noise = c->noise;
        classes->outliers = c->outliers;
        find_sides(c, classes);
    }
    free(value);
    return rc;
}
