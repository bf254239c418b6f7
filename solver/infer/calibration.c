/* SPDX-License-Identifier: Apache-2.0 */
#include "calibration.h"

#include <math.h>
#include <stdlib.h>

#include "stats.h"

static const double LEAST_SD = 0.01;        /* relative: paths of one class differ by that */
static const double LEAST_AGREEING = 0.005; /* share of agreeing pairs that are wrong twice */
static const double DISAGREE_SDS = 4.5;
/* Of two readings that disagree one is wrong, and a few are both: so much of a reading a pair. Over
 * OUTLIERS_MOST nothing can be told from wrong readings, and the fit does not ask for more. */
static const double WRONG_A_PAIR = 0.65, OUTLIERS_MOST = 0.3;

int nt_calibration_init(struct nt_calibration *c, size_t seats, size_t pairs, struct nt_err *err)
{
    *c = (struct nt_calibration){.seats = seats, .at = calloc(pairs + 1, sizeof *c->at)};
    return c->at != NULL ? 0 : nt_err_memory(err);
}

void nt_calibration_fini(struct nt_calibration *c)
{
    free(c->at);
    *c = (struct nt_calibration){0};
}

static double reading_difference(const struct nt_double_reading *t)
{
    return fabs((double)t->first - (double)t->second); /* NaN when one is */
}

static bool readings_disagree(const struct nt_calibration *c, const struct nt_double_reading *t)
{
    return reading_difference(t) > DISAGREE_SDS * sqrt(2) * c->noise;
}

bool nt_calibration_agrees(const struct nt_calibration *c, const struct nt_double_reading *t)
{
    return !isnan(reading_difference(t)) && !readings_disagree(c, t);
}

static int find_noise(struct nt_calibration *c, struct nt_err *err)
{
    size_t n = 0, apart = 0;
    float *off = calloc(c->count + 1, sizeof *off);
    if (off == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < c->count; k++)
        if (!isnan(reading_difference(&c->at[k])))
            off[n++] = (float)reading_difference(&c->at[k]);
    double sd = n > 0 ? (double)nt_stats_median(off, n) / (NT_MEDIAN_OF_SD * sqrt(2)) : 0;
    free(off);
    if (n == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no pair of hosts could be measured twice");
    c->noise = fmax(sd, LEAST_SD);
    for (size_t k = 0; k < c->count; k++)
        apart += readings_disagree(c, &c->at[k]);
    c->outliers = fmin(WRONG_A_PAIR * ((double)apart + 1) / (double)n, OUTLIERS_MOST);
    return 0;
}

/* Outliers are mostly slow; the share of fast ones decides how much a fast reading proves. */
static void find_sides(const struct nt_calibration *c, struct nt_classes *classes)
{
    double low = 0.5, high = 0.5;
    for (size_t k = 0; k < c->count; k++)
        if (readings_disagree(c, &c->at[k]))
            nt_classes_blame(classes, (double)c->at[k].first, (double)c->at[k].second, &low, &high);
    classes->low_share = low / (low + high);
}

int nt_calibration_classes(struct nt_calibration *c, struct nt_readings *ledger,
                           struct nt_classes *classes, struct nt_err *err)
{
    if (find_noise(c, err) < 0)
        return -1;
    double *value = calloc(c->count + 1, sizeof *value);
    size_t n = 0;
    int rc = 0;
    if (value == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < c->count && rc == 0; k++) {
        const struct nt_double_reading *t = &c->at[k];
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
