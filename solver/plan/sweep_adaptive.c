#include "sweep_adaptive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adaptive.h"

enum { NONE = UINT32_MAX, MERGES_FEW = 24, MERGES_MOST = 2048, REOPENED_MAX = 4 };

static const double GAP_SDS = 6; /* classes nearer than this want more batches */

/* ---- ordering ---------------------------------------------------------------------------------
 */

/* A host on a long link is told a place from the next by little. */
static uint32_t batches_of(const struct nt_adaptive *s)
{
    return nt_adaptive_is_placing(s) && 2 * s->most > s->batches ? 2 * s->most : s->batches;
}

static int write_order(struct nt_adaptive *s, struct nt_order *order)
{
    for (size_t k = 0; k < s->draw.count; k++) {
        for (int end = 0; end < 2; end++) {
            s->pair[k][end] = s->host[s->draw.seat[k][end]];
            s->slot[s->draw.seat[k][end]] = (uint32_t)k;
        }
        s->ln[k] = s->se[k] = NAN;
    }
    static const char *const phases[] = {NT_SWEEP_ADAPTIVE_CALIBRATION, NT_SWEEP_ADAPTIVE_PHASE,
                                         NT_SWEEP_ADAPTIVE_VERIFICATION};
    *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                               .pairs = s->draw.count,
                               .pair = s->pair,
                               .message_bytes = 8,
                               .batches = batches_of(s),
                               .count = s->count};
    strncpy(order->phase, phases[s->phase], sizeof order->phase - 1);
    return 1;
}

/* The calibration's round without the lost; its readings keep their places. */
static size_t draw_calibration(struct nt_adaptive *s)
{
    const struct nt_calibration *c = &s->calibration;
    s->batches = c->batches;
    s->draw.count = 0;
    for (size_t k = c->from; k < c->count; k++) {
        const struct nt_twice *t = &c->at[k];
        if (s->lost[t->a] || s->lost[t->b])
            continue;
        s->draw.seat[s->draw.count][0] = t->a;
        s->draw.seat[s->draw.count++][1] = t->b;
    }
    return s->draw.count;
}

/* Readings of the round last ordered, back in the calibration's places. */
static void tell_calibration(struct nt_adaptive *s)
{
    const struct nt_calibration *c = &s->calibration;
    size_t n = c->count - c->from, from = s->draw.count;
    for (size_t k = n; k-- > 0;) {
        const struct nt_twice *t = &c->at[c->from + k];
        bool has =
            from > 0 && s->draw.seat[from - 1][0] == t->a && s->draw.seat[from - 1][1] == t->b;
        s->ln[k] = has ? s->ln[from - 1] : NAN;
        s->se[k] = has ? s->se[from - 1] : NAN;
        from -= has;
    }
    nt_calibration_tell(&s->calibration, s->ln, s->se);
}

/* Classes near each other ask for quieter readings from here on. */
static void quieten(struct nt_adaptive *s)
{
    double gap = nt_classes_gap_sds(&s->classes), times = GAP_SDS / gap;
    if (gap >= GAP_SDS)
        return;
    double want = fmin(ceil(s->batches * times * times), 2 * s->most);
    s->classes.noise *= sqrt(s->batches / want);
    s->batches = (uint32_t)want;
}

/* Hosts that look slow are set aside at once: merging would take many rounds for them. */
static int set_aside(struct nt_adaptive *s, struct nt_err *err)
{
    s->readings.calibration = s->readings.planning = s->readings.count;
    nt_readings_sort(&s->readings);
    if (nt_adaptive_reread(s, err) < 0)
        return -1;
    for (size_t k = 0; k < s->slow.count; k++)
        s->aside[s->slow.host[k].seat] = true;
    return 0;
}

static int begin_merge(struct nt_adaptive *s, struct nt_err *err)
{
    s->batches = s->calibration.batches;
    s->most = s->calibration.most;
    if (set_aside(s, err) < 0)
        return -1;
    s->random_pairs = s->calibration.random_pairs;
    s->noise = s->classes.noise;
    nt_calibration_fini(&s->calibration);
    if (nt_merge_init(&s->merge, s->seats, &s->classes, &s->ledger, s->aside, err) < 0)
        return -1;
    quieten(s);
    s->merging = true;
    s->phase = NT_ADAPTIVE_MERGE;
    return 0;
}

/* Nested tiers take far fewer rounds, so there are none; what was read so far will refute them. */
static bool is_hopeless(const struct nt_adaptive *s)
{
    size_t most = s->seats / 2 < MERGES_MOST ? s->seats / 2 : MERGES_MOST;
    return s->merges >= MERGES_FEW + most;
}

/* What is verified is what the record will tell; what that leaves open is asked for, until nothing
 * more can be. */
static int begin_verifying(struct nt_adaptive *s, struct nt_err *err)
{
    bool told = s->reopened == 0 || s->readings.count > s->readings.planning;
    s->readings.planning = s->readings.count;
    if (nt_adaptive_recall(s, err) < 0)
        return -1;
    bool open = s->merge.unsettled > 0 || s->merge.open_cells > 0;
    if (open && told && !is_hopeless(s) && s->reopened++ < REOPENED_MAX)
        nt_merge_reopen(&s->merge);
    else if (s->merge.unsettled == 0 && !nt_slow_all_placed(&s->slow) && !s->placing)
        s->placing = true;
    else
        s->phase = NT_ADAPTIVE_VERIFY;
    return 0;
}

/* A round that places slow hosts; 0: they are, or it cannot be told. */
static int next_place(struct nt_adaptive *s, struct nt_err *err)
{
    struct nt_places places = nt_adaptive_places(s);
    s->draw.count = s->merged = 0;
    memset(s->draw.busy, 0, s->seats * sizeof *s->draw.busy);
    if (nt_slow_place(&places, &s->slow, err) < 0)
        return -1;
    if (nt_slow_all_placed(&s->slow) || is_hopeless(s) || s->late >= NT_ADAPTIVE_LATE_MAX)
        return 0;
    int late = nt_slow_plan(&places, &s->slow, &s->draw, err);
    if (late < 0)
        return -1;
    s->late += late > 0;
    return s->draw.count > 0;
}

/* A round that merges, in which slow hosts meet who is idle. */
static int next_merge(struct nt_adaptive *s, struct nt_err *err)
{
    if (s->placing)
        return next_place(s, err);
    int more = is_hopeless(s) ? 0 : nt_merge_next(&s->merge, &s->rng, &s->draw, err);
    s->merged = s->draw.count;
    if (more <= 0 || s->slow.count == 0)
        return more;
    struct nt_places places = nt_adaptive_places(s);
    return nt_slow_fill(&places, &s->slow, &s->rng, &s->draw, err) < 0 ? -1 : 1;
}

static int next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct nt_adaptive *s = (struct nt_adaptive *)planner;
    while (s->phase == NT_ADAPTIVE_CALIBRATE) {
        if (s->seats < 2)
            s->phase = NT_ADAPTIVE_OVER;
        else if (nt_calibration_next(&s->calibration, &s->rng) > 0) {
            if (draw_calibration(s) > 0)
                return write_order(s, order);
            tell_calibration(s); /* nobody is left of it */
        } else if (begin_merge(s, err) < 0) {
            return -1;
        }
    }
    while (s->phase == NT_ADAPTIVE_MERGE) {
        int more = next_merge(s, err);
        if (more < 0)
            return -1;
        s->merges += more > 0;
        if (more > 0)
            return write_order(s, order);
        if (begin_verifying(s, err) < 0)
            return -1;
    }
    if (s->phase == NT_ADAPTIVE_VERIFY) {
        int more = nt_adaptive_verify(s, err);
        if (more < 0)
            return -1;
        if (more > 0)
            return write_order(s, order);
        s->phase = NT_ADAPTIVE_OVER;
    }
    s->draw.count = 0;
    return 0;
}

/* ---- results ----------------------------------------------------------------------------------
 */

bool nt_adaptive_is_reading(const struct nt_adaptive *s, const struct nt_result *r)
{
    return r->ok && r->value_us > 0 && isfinite(r->value_us) && r->a < s->hosts &&
           r->b < s->hosts && r->a != r->b && s->seat[r->a] != NONE && s->seat[r->b] != NONE;
}

static void take_result(struct nt_adaptive *s, const struct nt_result *r)
{
    if (!nt_adaptive_is_reading(s, r))
        return;
    size_t k = s->slot[s->seat[r->a]];
    if (k >= s->draw.count || s->slot[s->seat[r->b]] != k)
        return; /* not of this round */
    s->ln[k] = (float)log(r->value_us);
    s->se[k] = (float)(r->se_us / r->value_us);
    s->pings[k] = r->count;
}

static int keep_readings(struct nt_adaptive *s, struct nt_err *err)
{
    for (size_t k = 0; k < s->draw.count; k++)
        if (!isnan(s->ln[k]) && nt_readings_add(&s->readings, s->draw.seat[k][0],
                                                s->draw.seat[k][1], s->pings[k], s->ln[k], err) < 0)
            return -1;
    return 0;
}

static int tell_merge(struct nt_adaptive *s, struct nt_err *err)
{
    struct nt_draw merged = s->draw;
    merged.count = s->merged;
    return nt_merge_tell(&s->merge, &merged, s->ln, err);
}

static int tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                struct nt_err *err)
{
    struct nt_adaptive *s = (struct nt_adaptive *)planner;
    int rc = 0;
    for (size_t k = 0; k < n; k++)
        take_result(s, &results[k]);
    if (keep_readings(s, err) < 0)
        return -1;
    if (s->phase == NT_ADAPTIVE_CALIBRATE)
        tell_calibration(s);
    else if (s->phase == NT_ADAPTIVE_MERGE)
        rc = tell_merge(s, err);
    for (size_t k = 0; k < s->draw.count; k++)
        s->slot[s->draw.seat[k][0]] = s->slot[s->draw.seat[k][1]] = NONE;
    s->draw.count = 0;
    return rc;
}

static void lose(struct nt_planner *planner, uint32_t host)
{
    struct nt_adaptive *s = (struct nt_adaptive *)planner;
    if (host < s->hosts && s->seat[host] != NONE)
        s->lost[s->seat[host]] = s->aside[s->seat[host]] = true;
}

/* ---- making and unmaking ----------------------------------------------------------------------
 */

static void destroy(struct nt_planner *planner)
{
    struct nt_adaptive *s = (struct nt_adaptive *)planner;
    if (s->merging)
        nt_merge_fini(&s->merge);
    nt_calibration_fini(&s->calibration);
    nt_readings_fini(&s->ledger);
    nt_readings_fini(&s->readings);
    nt_finding_fini(&s->finding);
    free(s->host);
    free(s->seat);
    free(s->lost);
    free(s->aside);
    free(s->slot);
    free(s->pair);
    free(s->ln);
    free(s->se);
    free(s->pings);
    free(s->draw.seat);
    free(s->draw.cell);
    free(s->draw.busy);
    free(s);
}

static const struct nt_planner_ops OPS = {next, tell, lose, destroy};

const struct nt_adaptive *nt_adaptive_of(const struct nt_planner *planner)
{
    return planner != NULL && planner->ops == &OPS ? (const struct nt_adaptive *)planner : NULL;
}

static int sit_down(struct nt_adaptive *s, const uint32_t *order, const bool *absent,
                    struct nt_err *err)
{
    memset(s->seat, 0xff, s->hosts * sizeof *s->seat);
    memset(s->slot, 0xff, s->hosts * sizeof *s->slot);
    for (size_t i = 0; i < s->hosts; i++) {
        uint32_t host = order != NULL ? order[i] : (uint32_t)i;
        if (host >= s->hosts || s->seat[host] != NONE)
            return nt_err_set(err, NT_ERR_INPUT,
                              "a sweep of %zu hosts in an order with host %u twice", s->hosts,
                              host);
        if (absent != NULL && absent[host])
            continue;
        s->seat[host] = (uint32_t)s->seats;
        s->host[s->seats++] = host;
    }
    return nt_calibration_init(&s->calibration, s->seats, s->count, err);
}

int nt_sweep_adaptive_create(size_t hosts, const uint32_t *order, const bool *absent,
                             uint32_t count, uint64_t seed, struct nt_planner **out,
                             struct nt_err *err)
{
    if (hosts > NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "a sweep of %zu hosts: at most %d", hosts,
                          (int)NT_HOSTS_MAX);
    struct nt_adaptive *s = calloc(1, sizeof *s);
    if (s == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a sweep of %zu hosts", hosts);
    size_t pairs = hosts / 2 + 1;
    s->base.ops = &OPS;
    s->hosts = hosts;
    s->count = count;
    s->host = calloc(hosts + 1, sizeof *s->host);
    s->seat = calloc(hosts + 1, sizeof *s->seat);
    s->lost = calloc(hosts + 1, sizeof *s->lost);
    s->aside = calloc(hosts + 1, sizeof *s->aside);
    s->slot = calloc(hosts + 1, sizeof *s->slot);
    s->pair = calloc(pairs, sizeof *s->pair);
    s->ln = calloc(pairs, sizeof *s->ln);
    s->se = calloc(pairs, sizeof *s->se);
    s->pings = calloc(pairs, sizeof *s->pings);
    s->draw.seat = calloc(pairs, sizeof *s->draw.seat);
    s->draw.cell = calloc(pairs, sizeof *s->draw.cell);
    s->draw.busy = calloc(hosts + 1, sizeof *s->draw.busy);
    nt_rng_init(&s->rng, seed);
    int rc = -1;
    if (!s->host || !s->seat || !s->lost || !s->aside || !s->slot || !s->pair || !s->ln || !s->se ||
        !s->pings || !s->draw.seat || !s->draw.cell || !s->draw.busy)
        nt_err_set(err, NT_ERR_SYSTEM, "no memory for a sweep of %zu hosts", hosts);
    else
        rc = sit_down(s, order, absent, err);
    if (rc < 0)
        destroy(&s->base);
    else
        *out = &s->base;
    return rc;
}

void nt_sweep_adaptive_facts(const struct nt_planner *planner,
                             struct nt_sweep_adaptive_facts *facts)
{
    const struct nt_adaptive *s = nt_adaptive_of(planner);
    *facts = (struct nt_sweep_adaptive_facts){0};
    if (s == NULL)
        return;
    facts->batches = s->batches;
    facts->readings = s->ledger.count;
    facts->tests = s->tests;
    if (!s->merging)
        return;
    facts->classes = s->classes.count;
    for (size_t c = 0; c < s->classes.count; c++)
        facts->class_us[c] = exp(s->classes.mean[c]);
    facts->noise = s->classes.noise;
    facts->outliers = s->classes.outliers;
    facts->resolution_us = nt_classes_resolution_us(&s->classes);
    facts->open_cells = s->merge.open_cells;
}

void nt_sweep_adaptive_check(const struct nt_planner *planner, struct nt_adaptive_check *check)
{
    const struct nt_adaptive *s = nt_adaptive_of(planner);
    *check = (struct nt_adaptive_check){.verdict = NT_ADAPTIVE_OPEN};
    if (s == NULL)
        return;
    check->verdict = s->seats > 1 ? s->verdict : NT_ADAPTIVE_SOUND;
    check->tested = s->finding.tested;
    check->against = s->finding.against;
    if (check->against > 0) {
        check->a = s->host[s->finding.first.a];
        check->b = s->host[s->finding.first.b];
    }
}
