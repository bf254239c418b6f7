/* The adaptive sweep from its record: the same evidence without a planner's rounds. The planner
 * itself takes its network from here, so that both are the same. */
#include <math.h>
#include <stdlib.h>

#include "adaptive.h"
#include "stats.h"

/* The calibration's readings two by two, as it took them: the last ones, for a first round that
 * was too noisy is taken again. */
static void refill_pair(struct nt_calibration *c, const struct nt_pair_reading *r, size_t n)
{
    for (size_t k = n % 2 == 1 && n > 1; k < n; k += 2)
        c->at[c->count++] =
            (struct nt_twice){r[k].a, r[k].b, r[k].ln, k + 1 < n ? r[k + 1].ln : NAN};
}

/* Readings after the calibration go straight to the ledger: they are no fair sample of the
 * classes. */
static int refill(struct nt_adaptive *s, struct nt_err *err)
{
    struct nt_calibration *c = &s->calibration;
    const struct nt_readings *r = &s->readings;
    nt_calibration_fini(c);
    nt_readings_fini(&s->ledger);
    *c = (struct nt_calibration){.seats = s->seats, .batches = 1, .room = r->count};
    c->at = calloc(r->count + 1, sizeof *c->at);
    c->scratch = calloc(r->count + 1, sizeof *c->scratch);
    if (c->at == NULL || c->scratch == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu readings", r->count);
    for (size_t k = 0, end; k < r->count; k = end) {
        size_t calibration = k;
        end = nt_readings_next_pair(r, k);
        while (calibration < end && r->at[calibration].turn < r->calibration)
            calibration++;
        refill_pair(c, r->at + k, calibration - k);
        for (size_t i = calibration; i < end && r->at[i].turn < r->planning; i++)
            if (nt_readings_add(&s->ledger, r->at[i].a, r->at[i].b, 0, r->at[i].ln, err) < 0)
                return -1;
    }
    return 0;
}

/* The usual pings of a reading with from <= turn < till; 0: unknown. */
static double usual_pings(const struct nt_readings *r, size_t from, size_t till, float *scratch)
{
    size_t n = 0;
    for (size_t k = 0; k < r->count; k++)
        if (r->at[k].turn >= from && r->at[k].turn < till && r->at[k].pings > 0)
            scratch[n++] = (float)r->at[k].pings;
    return n > 0 ? (double)nt_stats_select(scratch, n, n / 2) : 0;
}

/* More pings a reading than in calibration are quieter readings. */
static int quieten(struct nt_adaptive *s, struct nt_err *err)
{
    const struct nt_readings *r = &s->readings;
    float *scratch = malloc((r->count + 1) * sizeof *scratch);
    if (scratch == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu readings", r->count);
    double before = usual_pings(r, 0, r->calibration, scratch);
    double after = usual_pings(r, r->calibration, r->planning, scratch);
    if (before > 0 && after > before)
        s->classes.noise *= sqrt(before / after);
    free(scratch);
    return 0;
}

int nt_adaptive_recall(struct nt_adaptive *s, struct nt_err *err)
{
    if (s->merging)
        nt_merge_fini(&s->merge);
    s->merging = false;
    nt_readings_sort(&s->readings);
    if (refill(s, err) < 0 ||
        nt_calibration_finish(&s->calibration, &s->ledger, &s->classes, err) < 0)
        return -1;
    s->random_pairs = s->calibration.random_pairs;
    s->noise = s->classes.noise;
    if (nt_merge_init(&s->merge, s->seats, &s->classes, &s->ledger, s->lost, err) < 0)
        return -1;
    s->merging = true;
    if (quieten(s, err) < 0)
        return -1;
    return nt_merge_recall(&s->merge, err);
}

/* ---- the record -------------------------------------------------------------------------------
 */

static int take_phase(struct nt_adaptive *s, const struct nt_adaptive_record *record, size_t from,
                      size_t n, struct nt_err *err)
{
    for (size_t k = from; k < from + n; k++) {
        const struct nt_result *r = &record->result[k];
        if (nt_adaptive_is_reading(s, r) &&
            nt_readings_add(&s->readings, s->seat[r->a], s->seat[r->b], r->count,
                            (float)log(r->value_us), err) < 0)
            return -1;
    }
    return 0;
}

static int take(struct nt_adaptive *s, const struct nt_adaptive_record *record, struct nt_err *err)
{
    size_t calibrated = record->calibration, planned = calibrated + record->planning;
    if (take_phase(s, record, 0, calibrated, err) < 0)
        return -1;
    s->readings.calibration = s->readings.count;
    if (take_phase(s, record, calibrated, record->planning, err) < 0)
        return -1;
    s->readings.planning = s->readings.count;
    return take_phase(s, record, planned, record->verification, err);
}

int nt_sweep_adaptive_recall(size_t hosts, const bool *absent,
                             const struct nt_adaptive_record *record, struct nt_model **out,
                             struct nt_adaptive_check *check, struct nt_err *err)
{
    struct nt_planner *planner;
    if (nt_sweep_adaptive_create(hosts, NULL, absent, 1, 1, &planner, err) < 0)
        return -1;
    struct nt_adaptive *s = (struct nt_adaptive *)planner;
    int rc = take(s, record, err);
    if (rc == 0 && s->seats > 1 && (rc = nt_adaptive_recall(s, err)) == 0)
        rc = nt_adaptive_judge(s, err);
    if (rc == 0) {
        s->phase = NT_ADAPTIVE_OVER;
        nt_adaptive_decide(s);
        rc = nt_sweep_adaptive_model(planner, out, err);
    }
    if (rc == 0)
        nt_sweep_adaptive_check(planner, check);
    nt_planner_destroy(planner);
    return rc;
}
