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

static bool is_of_slow(const struct nt_adaptive *s, const struct nt_pair_reading *r)
{
    return nt_slow_has(&s->slow, r->a) || nt_slow_has(&s->slow, r->b);
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
        if (is_of_slow(s, &r->at[k]))
            continue;
        while (calibration < end && r->at[calibration].turn < r->calibration)
            calibration++;
        refill_pair(c, r->at + k, calibration - k);
        for (size_t i = calibration; i < end && r->at[i].turn < r->planning; i++)
            if (nt_readings_add(&s->ledger, r->at[i].a, r->at[i].b, 0, r->at[i].ln, err) < 0)
                return -1;
    }
    return 0;
}

/* The usual pings of a reading with from <= turn < till; 0: unknown. Slow hosts have more. */
static double usual_pings(const struct nt_adaptive *s, size_t from, size_t till, float *scratch)
{
    const struct nt_readings *r = &s->readings;
    size_t n = 0;
    for (size_t k = 0; k < r->count; k++)
        if (r->at[k].turn >= from && r->at[k].turn < till && r->at[k].pings > 0 &&
            !is_of_slow(s, &r->at[k]))
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
    double before = usual_pings(s, 0, r->calibration, scratch);
    double after = usual_pings(s, r->calibration, r->planning, scratch);
    s->usual = before;
    if (before > 0 && after > before)
        s->classes.noise *= sqrt(before / after);
    free(scratch);
    return 0;
}

int nt_adaptive_reread(struct nt_adaptive *s, struct nt_err *err)
{
    for (size_t had = s->slow.count + 1; had != s->slow.count;) {
        had = s->slow.count;
        if (refill(s, err) < 0 ||
            nt_calibration_finish(&s->calibration, &s->ledger, &s->classes, err) < 0 ||
            (!s->plain &&
             nt_slow_suspect(&s->calibration, &s->classes, s->lost, &s->slow, err) < 0))
            return -1;
    }
    return 0;
}

/* All but slow hosts. */
static int merge(struct nt_adaptive *s, struct nt_err *err)
{
    for (size_t i = 0; i < s->seats; i++)
        s->aside[i] = s->lost[i] || nt_slow_has(&s->slow, (uint32_t)i);
    s->random_pairs = s->calibration.random_pairs;
    s->noise = s->classes.noise;
    if (nt_merge_init(&s->merge, s->seats, &s->classes, &s->ledger, s->aside, err) < 0)
        return -1;
    s->merging = true;
    if (quieten(s, err) < 0)
        return -1;
    return nt_merge_recall(&s->merge, err);
}

struct nt_places nt_adaptive_places(struct nt_adaptive *s)
{
    return (struct nt_places){s->seats,     s->lost,  &s->classes, &s->merge.clusters,
                              &s->readings, s->noise, s->usual};
}

/* A host that came to a cluster may stand for it from now on. */
static void pass_doubts_on(struct nt_merge *m)
{
    for (size_t l = 0; l < m->clusters.levels; l++)
        for (uint32_t i = 0; i < m->seats; i++) {
            uint32_t root = nt_clusters_find(&m->clusters, l, i);
            m->doubt[l][root] = fmaxf(m->doubt[l][root], m->doubt[l][i]);
        }
}

static int place(struct nt_adaptive *s, struct nt_err *err)
{
    struct nt_places places = nt_adaptive_places(s);
    if (s->slow.count == 0)
        return 0;
    for (size_t k = 0; k < s->slow.count; k++)
        s->slow.host[k].placed = false;
    if (nt_slow_place(&places, &s->slow, err) < 0)
        return -1;
    pass_doubts_on(&s->merge);
    return 0;
}

/* How many hosts hang with it. A slow one was likely put where nobody else is. */
static size_t mates_of(const struct nt_adaptive *s, uint32_t seat)
{
    uint32_t root = nt_clusters_find(&s->merge.clusters, 0, seat);
    size_t n = 0;
    for (uint32_t i = 0; i < s->seats; i++)
        n += nt_clusters_find(&s->merge.clusters, 0, i) == root;
    return n;
}

/* Whether so few hosts have to do with most of what is wrong: the sum of the largest blames. */
static bool few_are_to_blame(const struct nt_adaptive *s, size_t few)
{
    const uint32_t *blame = s->finding.blame;
    uint32_t worst[NT_SLOW_MAX + 1] = {0};
    size_t sum = 0;
    for (uint32_t i = 0; i < s->seats; i++) {
        size_t k = few;
        for (; k > 0 && worst[k - 1] < blame[i]; k--)
            worst[k] = worst[k - 1];
        worst[k] = blame[i];
    }
    for (size_t k = 0; k < few; k++)
        sum += worst[k];
    return 2 * sum >= s->finding.against;
}

/* Takes the host that most is held against for slow; false when it could not be that which is
 * wrong: most of what is has nothing to do with so few hosts, or they are taken already. Where few
 * are to blame few are equally so, and their mates are quickly counted. */
static bool accuse(struct nt_adaptive *s)
{
    const uint32_t *blame = s->finding.blame;
    uint32_t host = UINT32_MAX;
    size_t most = nt_slow_most(s->seats);
    if (s->plain || s->slow.count >= most || !few_are_to_blame(s, most))
        return false;
    for (uint32_t i = 0; i < s->seats; i++)
        if (blame[i] > 0 && !s->lost[i] && !nt_slow_has(&s->slow, i) &&
            (host == UINT32_MAX || blame[i] > blame[host] ||
             (blame[i] == blame[host] && mates_of(s, i) < mates_of(s, host))))
            host = i;
    if (host == UINT32_MAX)
        return false;
    nt_slow_add(&s->slow, host);
    return true;
}

/* The network with the hosts that are taken for slow now. */
static int recall_once(struct nt_adaptive *s, struct nt_err *err)
{
    if (s->merging)
        nt_merge_fini(&s->merge);
    s->merging = false;
    nt_finding_fini(&s->finding);
    s->judged = 0;
    if (merge(s, err) < 0)
        return -1;
    if (s->merge.unsettled == 0 && place(s, err) < 0)
        return -1;
    return nt_slow_all_placed(&s->slow) ? nt_adaptive_judge(s, err) : 0;
}

int nt_adaptive_recall(struct nt_adaptive *s, struct nt_err *err)
{
    s->slow.count = 0;
    s->plain = false;
    nt_readings_sort(&s->readings);
    for (;;) {
        if (nt_adaptive_reread(s, err) < 0 || recall_once(s, err) < 0)
            return -1;
        if (s->finding.against == 0 || s->merge.unsettled > 0)
            return 0;
        if (accuse(s))
            continue;
        if (s->slow.count == 0)
            return 0;
        s->slow.count = 0;
        s->plain = true;
    }
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
    if (rc == 0 && s->seats > 1)
        rc = nt_adaptive_recall(s, err);
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
