/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_adaptive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rounds.h"

enum { NONE = UINT32_MAX, MERGES_FEW = 24, MERGES_MOST = 2048, REOPENED_MAX = 4 };
enum { LATE_MAX = 24 }; /* rounds: see late */
enum { TESTS_A_TIER = 8, TESTS_MORE = 16 };

static const double GAP_SDS = 6; /* classes nearer than this need more batches */

enum phase { CALIBRATE, MERGE, VERIFY, OVER };

struct adaptive {
    struct nt_planner base;
    struct nt_sparse known;
    enum phase phase;
    uint32_t *slot;                /* seats: place in the round last ordered */
    uint32_t (*pair)[2];           /* hosts, of that round */
    float *ln, *se;                /* its results; NaN: none */
    uint32_t *pings;               /* and how many each is from */
    struct nt_round_pairs round;   /* the same pairs as seats */
    uint32_t count, batches, most; /* pings per batch; batches per reading, and their limit */
    struct nt_rng rng;
    struct nt_calibrate calibrate;
    struct nt_open_cells scratch;
    bool placing;         /* all others are merged: rounds are to place slow hosts */
    size_t merged;        /* pairs of the round last ordered that are to merge */
    size_t merges, tests; /* rounds of merging and placing, of verifying */
    size_t late;          /* rounds that placed hosts among places that all were read */
    unsigned reopened;    /* how often the clustering was reopened */
};

/* ---- ordering ---- */

/* Rounds are to place slow hosts. */
static bool is_placing(const struct adaptive *s)
{
    return (s->phase == VERIFY || s->placing) && !nt_slow_all_placed(&s->known.slow);
}

/* Places of a host on a long link differ by little. */
static uint32_t batches_of(const struct adaptive *s)
{
    return is_placing(s) && 2 * s->most > s->batches ? 2 * s->most : s->batches;
}

static int write_order(struct adaptive *s, struct nt_order *order)
{
    for (size_t k = 0; k < s->round.count; k++) {
        for (int end = 0; end < 2; end++) {
            s->pair[k][end] = s->known.host[s->round.seat[k][end]];
            s->slot[s->round.seat[k][end]] = (uint32_t)k;
        }
        s->ln[k] = s->se[k] = NAN;
    }
    static const char *const phases[] = {NT_SWEEP_ADAPTIVE_CALIBRATION, NT_SWEEP_ADAPTIVE_PHASE,
                                         NT_SWEEP_ADAPTIVE_VERIFICATION};
    *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                               .pairs = s->round.count,
                               .pair = s->pair,
                               .message_bytes = NT_PING_BYTES,
                               .batches = batches_of(s),
                               .count = s->count};
    strncpy(order->phase, phases[s->phase], sizeof order->phase - 1);
    return 1;
}

/* The calibration's round without the lost; its readings keep their places. */
static size_t plan_calibration(struct adaptive *s)
{
    const struct nt_calibrate *c = &s->calibrate;
    s->batches = c->batches;
    memset(s->round.busy, 0, s->known.seats * sizeof *s->round.busy);
    s->round.count = 0;
    for (size_t k = c->from; k < c->count; k++)
        if (!s->known.lost[c->pair[k][0]] && !s->known.lost[c->pair[k][1]])
            nt_round_pairs_add(&s->round, c->pair[k][0], c->pair[k][1]);
    return s->round.count;
}

/* Readings of the round last ordered, back in the calibration's places. */
static void tell_calibration(struct adaptive *s)
{
    const struct nt_calibrate *c = &s->calibrate;
    size_t n = c->count - c->from, from = s->round.count;
    for (size_t k = n; k-- > 0;) {
        const uint32_t *pair = c->pair[c->from + k];
        bool has = from > 0 && s->round.seat[from - 1][0] == pair[0] &&
                   s->round.seat[from - 1][1] == pair[1];
        s->ln[k] = has ? s->ln[from - 1] : NAN;
        s->se[k] = has ? s->se[from - 1] : NAN;
        from -= has;
    }
    nt_calibrate_tell(&s->calibrate, s->ln, s->se);
}

/* Classes near each other need less noise in readings from here on. */
static void quieten_noise(struct adaptive *s)
{
    double gap = nt_classes_gap_sds(&s->known.classes), times = GAP_SDS / gap;
    if (gap >= GAP_SDS)
        return;
    double want = fmin(ceil(s->batches * times * times), 2 * s->most);
    s->known.classes.noise *= sqrt(s->batches / want);
    s->batches = (uint32_t)want;
}

/* Hosts that look slow are not merged, because that would take many rounds. */
static int begin_merge(struct adaptive *s, struct nt_err *err)
{
    s->batches = s->calibrate.batches;
    s->most = s->calibrate.most;
    nt_calibrate_fini(&s->calibrate);
    if (nt_sparse_end_calibration(&s->known, err) < 0)
        return -1;
    quieten_noise(s);
    s->phase = MERGE;
    return 0;
}

/* Nested tiers take far fewer rounds, so the network has none; the readings so far will refute
 * it. */
static bool has_too_many_merges(const struct adaptive *s)
{
    size_t most = s->known.seats / 2 < MERGES_MOST ? s->known.seats / 2 : MERGES_MOST;
    return s->merges >= MERGES_FEW + most;
}

/* The network that the record determines is verified; its open parts are measured until no pairs
 * are left. */
static int begin_verifying(struct adaptive *s, struct nt_err *err)
{
    struct nt_sparse *known = &s->known;
    bool has_new_readings = s->reopened == 0 || known->readings.count > known->readings.planning;
    known->readings.planning = known->readings.count;
    nt_open_cells_fini(&s->scratch); /* which is of many cells, and solving makes others */
    if (nt_sparse_solve(known, err) < 0)
        return -1;
    bool open = known->clustering.unsettled > 0 || known->clustering.open_cells > 0;
    if (open && has_new_readings && !has_too_many_merges(s) && s->reopened++ < REOPENED_MAX)
        nt_clustering_reopen(&known->clustering);
    else if (known->clustering.unsettled == 0 && !nt_slow_all_placed(&known->slow) && !s->placing)
        s->placing = true;
    else
        s->phase = VERIFY;
    return 0;
}

/* Adds the most informative pairs for the places of slow hosts, while their rounds last. */
static int plan_slow(struct adaptive *s, const struct nt_found_tree *tree, struct nt_err *err)
{
    if (s->late >= LATE_MAX)
        return 0;
    memset(s->round.busy, 0, tree->seats * sizeof *s->round.busy);
    int late = nt_round_slow(tree, &s->round, err);
    s->late += late > 0;
    return late;
}

/* A round that places slow hosts; 0: they are placed, or cannot be. */
static int next_place(struct adaptive *s, struct nt_err *err)
{
    const struct nt_found_tree tree = nt_sparse_tree(&s->known);
    s->round.count = s->merged = 0;
    if (nt_slow_place(&tree, &s->known.slow, err) < 0)
        return -1;
    if (nt_slow_all_placed(&s->known.slow) || has_too_many_merges(s))
        return 0;
    return plan_slow(s, &tree, err) < 0 ? -1 : s->round.count > 0;
}

/* A round that merges, in which slow hosts are paired with idle ones. */
static int next_merge(struct adaptive *s, struct nt_err *err)
{
    if (s->placing)
        return next_place(s, err);
    int more = has_too_many_merges(s)
                   ? 0
                   : nt_round_clusters(&s->known.clustering, &s->rng, &s->scratch, &s->round, err);
    s->merged = s->round.count;
    if (more <= 0 || s->known.slow.count == 0)
        return more;
    const struct nt_found_tree tree = nt_sparse_tree(&s->known);
    return nt_round_slow_early(&tree, &s->rng, &s->round, err) < 0 ? -1 : 1;
}

static size_t most_tests(const struct nt_found_tree *tree)
{
    return TESTS_A_TIER * tree->classes->count + TESTS_MORE +
           (nt_verify_needs_all_pairs(tree) ? 2 * tree->seats : 0);
}

/* 1: s->round verifies; 0: verification has ended. A network with open tiers has no result to
 * verify. A record without such rounds would count as cut short, so if all possible tests were read
 * before, one round reads some of them again. */
static int next_test(struct adaptive *s, struct nt_err *err)
{
    struct nt_sparse *known = &s->known;
    s->round.count = 0;
    if (nt_sparse_judge(known, err) < 0)
        return -1;
    const struct nt_found_tree tree = nt_sparse_tree(known);
    if (known->finding.contradicting == 0 && known->clustering.unsettled == 0 &&
        s->tests < most_tests(&tree)) {
        int rc = nt_slow_all_placed(&known->slow)
                     ? nt_round_tests(&tree, &known->finding, &s->rng, &s->round, err)
                     : plan_slow(s, &tree, err);
        if (rc < 0)
            return -1;
        if (s->tests == 0 && s->round.count == 0)
            nt_round_pairs_fill(known->seats, known->lost, &s->round);
    }
    s->tests += s->round.count > 0;
    return s->round.count > 0;
}

static int adaptive_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct adaptive *s = (struct adaptive *)planner;
    while (s->phase == CALIBRATE) {
        if (s->known.seats < 2)
            s->phase = OVER;
        else if (nt_calibrate_next(&s->calibrate, &s->rng) > 0) {
            if (plan_calibration(s) > 0)
                return write_order(s, order);
            tell_calibration(s); /* no host of it is left */
        } else if (begin_merge(s, err) < 0) {
            return -1;
        }
    }
    while (s->phase == MERGE) {
        int more = next_merge(s, err);
        if (more < 0)
            return -1;
        s->merges += more > 0;
        if (more > 0)
            return write_order(s, order);
        if (begin_verifying(s, err) < 0)
            return -1;
    }
    if (s->phase == VERIFY) {
        int more = next_test(s, err);
        if (more < 0)
            return -1;
        if (more > 0)
            return write_order(s, order);
        nt_sparse_set_verdict(&s->known);
        s->phase = OVER;
    }
    s->round.count = 0;
    return 0;
}

/* ---- results ---- */

static bool is_reading(const struct adaptive *s, const struct nt_result *r)
{
    return r->ok && r->value_us > 0 && isfinite(r->value_us) && r->a < s->known.hosts &&
           r->b < s->known.hosts && r->a != r->b && s->known.seat[r->a] != NT_SPARSE_NO_SEAT &&
           s->known.seat[r->b] != NT_SPARSE_NO_SEAT;
}

static void take_result(struct adaptive *s, const struct nt_result *r)
{
    if (!is_reading(s, r))
        return;
    size_t k = s->slot[s->known.seat[r->a]];
    if (k >= s->round.count || s->slot[s->known.seat[r->b]] != k)
        return; /* not of this round */
    s->ln[k] = (float)log(r->value_us);
    s->se[k] = (float)(r->se_us / r->value_us);
    s->pings[k] = r->count;
}

static int keep_readings(struct adaptive *s, struct nt_err *err)
{
    struct nt_readings *to = &s->known.readings;
    for (size_t k = 0; k < s->round.count; k++) {
        const uint32_t *seat = s->round.seat[k];
        if ((isnan(s->ln[k])
                 ? nt_readings_note_failure(to, seat[0], seat[1], err)
                 : nt_readings_add(to, seat[0], seat[1], s->pings[k], s->ln[k], err)) < 0)
            return -1;
    }
    return 0;
}

static int adaptive_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                         struct nt_err *err)
{
    struct adaptive *s = (struct adaptive *)planner;
    int rc = 0;
    for (size_t k = 0; k < n; k++)
        take_result(s, &results[k]);
    if (keep_readings(s, err) < 0)
        return -1;
    if (s->phase == CALIBRATE)
        tell_calibration(s);
    else if (s->phase == MERGE)
        rc = nt_round_clusters_tell(&s->known.clustering, &s->round, s->merged, s->ln, err);
    for (size_t k = 0; k < s->round.count; k++)
        s->slot[s->round.seat[k][0]] = s->slot[s->round.seat[k][1]] = NONE;
    s->round.count = 0;
    return rc;
}

static void adaptive_lose(struct nt_planner *planner, uint32_t host)
{
    struct adaptive *s = (struct adaptive *)planner;
    if (host < s->known.hosts && s->known.seat[host] != NT_SPARSE_NO_SEAT)
        nt_sparse_lose(&s->known, s->known.seat[host]);
}

/* ---- making and unmaking ---- */

static void adaptive_destroy(struct nt_planner *planner)
{
    struct adaptive *s = (struct adaptive *)planner;
    nt_calibrate_fini(&s->calibrate);
    nt_open_cells_fini(&s->scratch);
    nt_sparse_fini(&s->known);
    free(s->slot);
    free(s->pair);
    free(s->ln);
    free(s->se);
    free(s->pings);
    free(s->round.seat);
    free(s->round.cell);
    free(s->round.busy);
    free(s);
}

static const struct nt_planner_ops OPS = {adaptive_next, adaptive_tell, adaptive_lose,
                                          adaptive_destroy, NULL};

int nt_sweep_adaptive_create(const struct nt_sweep_setup *setup, const uint32_t *order,
                             struct nt_planner **out, struct nt_err *err)
{
    size_t hosts = setup->hosts;
    if (hosts > NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "a sweep of %zu hosts: at most %d", hosts,
                          (int)NT_HOSTS_MAX);
    struct adaptive *s = calloc(1, sizeof *s);
    if (s == NULL)
        return nt_err_memory(err);
    size_t pairs = hosts / 2 + 1;
    s->base.ops = &OPS;
    s->count = setup->count;
    s->slot = calloc(hosts + 1, sizeof *s->slot);
    s->pair = calloc(pairs, sizeof *s->pair);
    s->ln = calloc(pairs, sizeof *s->ln);
    s->se = calloc(pairs, sizeof *s->se);
    s->pings = calloc(pairs, sizeof *s->pings);
    s->round.seat = calloc(pairs, sizeof *s->round.seat);
    s->round.cell = calloc(pairs, sizeof *s->round.cell);
    s->round.busy = calloc(hosts + 1, sizeof *s->round.busy);
    nt_rng_init(&s->rng, setup->seed);
    int rc = -1;
    if (!s->slot || !s->pair || !s->ln || !s->se || !s->pings || !s->round.seat || !s->round.cell ||
        !s->round.busy)
        nt_err_memory(err);
    else
        rc = nt_sparse_init(&s->known, hosts, order, setup->missing, err);
    if (rc == 0) {
        memset(s->slot, 0xff, hosts * sizeof *s->slot);
        rc = nt_calibrate_init(&s->calibrate, s->known.seats, setup->count, err);
    }
    if (rc < 0)
        adaptive_destroy(&s->base);
    else
        *out = &s->base;
    return rc;
}

const struct nt_sparse *nt_sweep_adaptive_state(const struct nt_planner *planner)
{
    return &((const struct adaptive *)planner)->known;
}

void nt_sweep_adaptive_facts(const struct nt_planner *planner,
                             struct nt_sweep_adaptive_facts *facts)
{
    const struct adaptive *s = (const struct adaptive *)planner;
    const struct nt_sparse *known = &s->known;
    *facts = (struct nt_sweep_adaptive_facts){
        .batches = s->batches, .readings = known->ledger.count, .tests = s->tests};
    if (!known->clustered)
        return;
    facts->classes = known->classes.count;
    for (size_t c = 0; c < known->classes.count; c++)
        facts->class_us[c] = exp(known->classes.mean[c]);
    facts->noise = known->classes.noise;
    facts->outliers = known->classes.outliers;
    facts->resolution_us = nt_classes_resolution_us(&known->classes);
    facts->open_cells = known->clustering.open_cells;
}
