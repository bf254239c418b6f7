/* SPDX-License-Identifier: Apache-2.0 */
/* The campaign on simulated networks: its measurements, their order, and its end. */
#include "asserts.h"
#include "campaign.h"
#include "made_network.h"
#include "plan_model.h"
#include "shape.h"
#include "sweep_sim.h"

enum { PHASES_MAX = 24 };

struct trial {
    const char *topology;
    enum nt_level level;
    double budget_s, lap_s, max_load;
    bool latency_only;
    const char *lose_in; /* phase in whose second round a host is lost; NULL: none */
    uint32_t lose;
    double disturbed; /* share of readings */
    size_t rails;     /* of a host; 0: one that is not named */
};

struct seen {
    size_t phases, rounds, latencies; /* rounds of the first phase */
    char phase[PHASES_MAX][32];
    double ended_s, load_s, rested_s;
    double loaded_s, loaded_from_s; /* the last round of flows, and when it began */
    double worst_share;             /* of the time from one such round to the next */
    bool exact;
    size_t warnings;
    char cut[256], warned[2048];
};

static void check_order(const struct nt_order *order, size_t hosts, const bool *lost)
{
    bool *busy = calloc(hosts, sizeof *busy);
    assert_above(order->pairs, 0);
    for (size_t k = 0; k < order->pairs; k++)
        for (int end = 0; end < 2; end++) {
            uint32_t h = order->pair[k][end];
            assert_below(h, hosts);
            if (busy[h] && !(order->kind == NT_ORDER_KERNEL && end == 1))
                fail_msg("%s: host %u twice", order->phase, h);
            if (lost[h])
                fail_msg("%s: host %u was lost", order->phase, h);
            busy[h] = true;
        }
    free(busy);
}

/* Trains and holds over a pair alone: both overheads 5 us, the gap 8 us, all links at one rate.
 * Takes longer by a fifth than the planner expects. */
static double answer_prtt(const struct nt_network *n, const struct nt_order *o,
                          struct nt_result *results, size_t *got)
{
    enum { O_US = 5, GAP_US = 8 };
    for (*got = 0; *got < o->pairs; ++*got) {
        uint32_t a = o->pair[*got][0], b = o->pair[*got][1];
        double flight = nt_network_latency(n, a, b) + o->message_bytes / n->arc[0].rate_MBps;
        double next = fmax(GAP_US + o->message_bytes / n->arc[0].rate_MBps, O_US + o->delay_us);
        double us = 2 * (flight + 2 * O_US) + (o->count - 1.0) * next;
        results[*got] = (struct nt_result){.a = a,
                                           .b = b,
                                           .ok = true,
                                           .count = o->count,
                                           .bytes = o->message_bytes,
                                           .value_us = fmax(us, o->hold_us + O_US),
                                           .se_us = 0.01 * us};
    }
    return 0.2 * o->window_s;
}

static void note_phase(struct seen *seen, const char *phase)
{
    if (seen->phases > 0 && strcmp(seen->phase[seen->phases - 1], phase) == 0)
        return;
    assert_below(seen->phases, PHASES_MAX);
    snprintf(seen->phase[seen->phases++], 32, "%s", phase);
}

static bool has(const struct seen *seen, const char *phase)
{
    for (size_t k = 0; k < seen->phases; k++)
        if (strcmp(seen->phase[k], phase) == 0)
            return true;
    return false;
}

static void conclude(struct nt_campaign *c, const struct nt_network *n, struct seen *seen)
{
    SCOPED(model) *truth;
    struct nt_inferred known;
    seen->warnings = nt_campaign_warnings(c);
    for (size_t k = 0; k < seen->warnings; k++)
        snprintf(seen->warned + strlen(seen->warned), sizeof seen->warned - strlen(seen->warned),
                 "%s\n", nt_campaign_warning(c, k));
    if (nt_campaign_budget_warning(c) != NULL)
        snprintf(seen->cut, sizeof seen->cut, "%s", nt_campaign_budget_warning(c));
    assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
    nt_campaign_take_inferred(c, &known);
    seen->exact = known.model != NULL && nt_shape_equal(known.model, truth);
    nt_inferred_fini(&known);
}

static void note_load(struct seen *s, const struct nt_order *order, double lap_s)
{
    if (order->kind != NT_ORDER_BANDWIDTH && order->kind != NT_ORDER_KERNEL)
        return;
    double share = s->loaded_s / (s->ended_s - s->loaded_from_s);
    if (s->loaded_s > 0 && share > s->worst_share)
        s->worst_share = share;
    s->loaded_s = order->window_s + lap_s;
    s->loaded_from_s = s->ended_s;
}

static double slow_first_prtt_s; /* what the first round of LogGP takes in addition */

enum { ASKED_MORE_S = 1 }; /* went by before the campaign began */

static const char *const RAILS[] = {"fab0", "fab1"};

/* prtt: LogGP is answered, too, which takes long. */
static struct seen run_on(struct trial t, struct nt_network *n, bool prtt)
{
    struct seen seen = {0};
    struct nt_measure_noise noise = {.sd = 0.01, .outliers = t.disturbed, .seed = 5};
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_campaign_options options = {.level = t.level,
                                          .latency_only = t.latency_only,
                                          .budget_s = t.budget_s,
                                          .asked_s = t.budget_s + ASKED_MORE_S,
                                          .max_load = t.max_load > 0 ? t.max_load : 1,
                                          .rails = t.rails,
                                          .rail = RAILS,
                                          .seed = 1};
    struct nt_campaign *c;
    struct nt_order order;
    struct nt_result *results = calloc(n->hosts, sizeof *results);
    bool *lost = calloc(n->hosts, sizeof *lost);
    size_t in_phase = 0;
    int rc;
    must(nt_campaign_create(n->hosts, NULL, &options, &c, &err));
    while ((rc = nt_campaign_next(c, seen.ended_s, &order, &err)) == 1) {
        size_t got = 0, phases = seen.phases;
        check_order(&order, n->hosts, lost);
        note_phase(&seen, order.phase);
        in_phase = seen.phases > phases ? 1 : in_phase + 1;
        double more_s = 0;
        if (prtt && order.kind == NT_ORDER_PRTT)
            more_s =
                answer_prtt(n, &order, results, &got) + (in_phase == 1 ? slow_first_prtt_s : 0);
        else
            assert_int_equal(
                nt_order_answer(&noisy, &order, (uint32_t)seen.rounds, results, &got, &err), 0);
        double rest = nt_campaign_pause_s(c);
        seen.load_s += order.window_s;
        seen.rested_s += rest;
        seen.ended_s += rest;
        note_load(&seen, &order, t.lap_s);
        seen.ended_s += t.lap_s + order.window_s + more_s;
        seen.rounds++;
        seen.latencies += seen.phases == 1;
        if (t.lose_in != NULL && in_phase == 1 && strcmp(order.phase, t.lose_in) == 0) {
            lost[t.lose] = true;
            nt_campaign_lose(c, t.lose);
        }
        must(nt_campaign_tell(c, results, got, t.lap_s + order.window_s + more_s, &err));
        assert_below(seen.rounds, 100000);
    }
    if (rc != 0)
        fail_msg("%s: %s", t.topology, err.text);
    conclude(c, n, &seen);
    nt_campaign_destroy(c);
    nt_network_destroy(n);
    free(results);
    free(lost);
    return seen;
}

static struct seen run(struct trial t)
{
    return run_on(t, made_network(t.topology), false);
}

static void show(const struct trial *t, const struct seen *s)
{
    print_message("%s within %g s:", t->topology, t->budget_s);
    for (size_t k = 0; k < s->phases; k++)
        print_message(" %s", s->phase[k]);
    print_message("; %zu rounds, %.2f s\n%s", s->rounds, s->ended_s, s->warned);
}

TEST(a_level_has_its_phases)
{
    static const struct {
        enum nt_level level;
        const char *phase[8];
    } table[] = {
        {NT_LEVEL_QUICK, {"latency"}},
        {NT_LEVEL_STANDARD, {"latency", "host-links", "tiers"}},
        {NT_LEVEL_FULL, {"latency", "host-links", "tiers", "link-latency", "ladder", "sizes"}},
    };
    for (size_t k = 0; k < 3; k++) {
        struct trial t = {"tree:2x2x4", table[k].level, 1000, 0.02, 1, false, NULL, 0, 0, 0};
        struct seen s = run(t);
        show(&t, &s);
        for (size_t p = 0; p < 8 && table[k].phase[p] != NULL; p++)
            assert_true(has(&s, table[k].phase[p]));
        assert_int_equal(has(&s, "tiers"), table[k].level >= NT_LEVEL_STANDARD);
        assert_int_equal(has(&s, "sizes"), table[k].level == NT_LEVEL_FULL);
        assert_string_equal(s.warned, "");
        assert_string_equal(s.cut, "");
        assert_true(s.exact);
    }
}

TEST(a_budget_holds_and_more_of_it_never_knows_less)
{
    static const double budgets[] = {0.15, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 60, 200};
    static const char *const topologies[] = {"star:2", "tree:2x4", "tree:2x2x4", "torus:3x3",
                                             "ring:5,hosts=2"};
    for (size_t n = 0; n < 5; n++)
        for (int slow = 0; slow < 2; slow++) {
            size_t before = 0;
            for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
                struct trial t = {topologies[n],
                                  NT_LEVEL_FULL,
                                  budgets[k],
                                  slow ? 0.05 : 0.01,
                                  1,
                                  false,
                                  NULL,
                                  0,
                                  0,
                                  0};
                struct seen s = run(t);
                double stop = nt_campaign_measuring_s(t.budget_s);
                /* the very first round is begun without knowing what it costs */
                assert_at_most(s.ended_s, stop + (s.rounds < 2 ? t.lap_s : 0));
                assert_holds(s.phases >= before || t.budget_s < 5, "%zu phases, %zu with less time",
                             s.phases, before);
                assert_true((s.cut[0] == '\0') == (strstr(s.warned, "budget") == NULL));
                char asked[32]; /* what the user gave, not what was left of it */
                double asked_s = t.budget_s + ASKED_MORE_S;
                snprintf(asked, sizeof asked, "budget of %.*f s", asked_s < 9.95, asked_s);
                assert_holds(s.cut[0] == '\0' || strstr(s.cut, asked) != NULL, "%s, expected %s",
                             s.cut, asked);
                before = s.phases;
            }
        }
}

TEST(links_on_cycles_are_loaded)
{
    static const char *const topologies[] = {"ring:5,hosts=3", "torus:4x4,hosts=2"};
    for (size_t k = 0; k < sizeof topologies / sizeof *topologies; k++) {
        struct trial t = {topologies[k], NT_LEVEL_STANDARD, 5, 0.01, 1, false, NULL, 0, 0, 0};
        struct seen s = run(t);
        show(&t, &s);
        assert_true(has(&s, "host-links") && has(&s, "tiers"));
        assert_string_equal(s.cut, "");
    }
}

TEST(shared_hosts_get_no_load)
{
    struct trial t = {"tree:2x4", NT_LEVEL_FULL, 100, 0.02, 1, true, NULL, 0, 0, 0};
    struct seen s = run(t);
    show(&t, &s);
    assert_true(s.load_s == 0);
    assert_true(has(&s, "latency") && has(&s, "link-latency") && !has(&s, "tiers"));
    assert_non_null(
        strstr(s.warned, "bandwidth of host links: not measured, because on shared hosts"));
    assert_string_equal(s.cut, "");
}

TEST(max_load_rests)
{
    struct trial t = {"tree:2x4", NT_LEVEL_STANDARD, 1000, 0.001, 0.2, false, NULL, 0, 0, 0};
    struct seen s = run(t);
    double phases_s = s.load_s + s.rested_s;
    print_message("load %.2f s, rest %.2f s\n", s.load_s, s.rested_s);
    assert_above(s.load_s, 0);
    assert_at_most(s.load_s, 0.21 * phases_s);
    assert_above(s.worst_share, 0.1);
    assert_at_most(s.worst_share, 0.2 + 1e-9);
    t.max_load = 1;
    s = run(t);
    assert_true(s.rested_s == 0);
    assert_above(s.worst_share, 0.9);
}

/* From one round of flows to the next, with all that is between; kernels are not run. */
TEST(max_load_holds_at_every_level_and_within_the_budget)
{
    static const double shares[] = {0.05, 0.1, 0.3, 0.7, 0.999};
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++)
        for (int level = NT_LEVEL_STANDARD; level <= NT_LEVEL_FULL; level++)
            for (int budget = 2; budget <= 200; budget *= 10) {
                struct trial t = {"tree:2x2x4",
                                  (enum nt_level)level,
                                  budget,
                                  0.02,
                                  shares[k],
                                  false,
                                  NULL,
                                  0,
                                  0,
                                  0};
                struct seen s = run(t);
                assert_at_most(s.worst_share, shares[k] + 1e-9);
                assert_at_most(s.ended_s, nt_campaign_measuring_s(budget));
                assert_false(has(&s, "kernels"));
                assert_int_equal(level == NT_LEVEL_FULL,
                                 strstr(s.warned, "kernels: not measured") != NULL);
                assert_true(budget < 200 || has(&s, "tiers"));
            }
}

/* 45 rounds are planned, 135 the most. */
TEST(disturbed_latencies_are_repeated_for_a_part_of_the_time)
{
    static const struct {
        enum nt_level level;
        double budget_s, disturbed;
        size_t least, most; /* rounds */
    } table[] = {
        {NT_LEVEL_STANDARD, 1000, 0, 45, 45}, {NT_LEVEL_STANDARD, 1000, 0.6, 90, 135},
        {NT_LEVEL_STANDARD, 12, 0.6, 75, 83}, {NT_LEVEL_STANDARD, 2, 0.6, 45, 45},
        {NT_LEVEL_QUICK, 2, 0.6, 56, 61},
    };
    for (size_t k = 0; k < 5; k++) {
        struct trial t = {.topology = "tree:2x2x4",
                          .level = table[k].level,
                          .budget_s = table[k].budget_s,
                          .lap_s = 0.02,
                          .disturbed = table[k].disturbed};
        struct seen s = run(t);
        show(&t, &s);
        assert_in_range(s.latencies, table[k].least, table[k].most);
        assert_holds(s.phases > 1 || table[k].level == NT_LEVEL_QUICK, "%zu phases", s.phases);
        assert_null(strstr(s.warned, "latency: measured less often"));
    }
}

TEST(a_lost_host_is_left_alone_in_every_phase)
{
    static const char *const phases[] = {"latency",      "warm-up", "host-links", "tiers",
                                         "link-latency", "ladder",  "loggp",      "sizes"};
    static const char *const topologies[] = {"tree:2x2x4", "star:5", "tree:3x2"};
    for (size_t n = 0; n < 3; n++)
        for (size_t k = 0; k < sizeof phases / sizeof *phases; k++)
            for (uint32_t host = 0; host < 5; host++) {
                struct trial t = {topologies[n], NT_LEVEL_FULL, 1000, 0.02, 1,
                                  false,         phases[k],     host, 0,    0};
                struct seen s = run(t);
                assert_at_least(s.phases, 5);
                assert_string_equal(s.cut, "");
            }
}

TEST(nobody_is_left)
{
    struct nt_campaign_options options = {
        .level = NT_LEVEL_FULL, .budget_s = 5, .max_load = 1, .seed = 1};
    struct nt_campaign *c;
    struct nt_order order;
    assert_int_equal(nt_campaign_create(4, NULL, &options, &c, NULL), 0);
    assert_int_equal(nt_campaign_next(c, 0, &order, NULL), 1);
    for (uint32_t h = 0; h < 4; h++)
        nt_campaign_lose(c, h);
    nt_campaign_lose(c, 99);
    assert_int_equal(nt_campaign_tell(c, NULL, 0, 0, NULL), 0);
    assert_int_equal(nt_campaign_next(c, 0.1, &order, NULL), 0);
    nt_campaign_destroy(c);
    for (size_t hosts = 0; hosts < 2; hosts++) {
        assert_int_equal(nt_campaign_create(hosts, NULL, &options, &c, NULL), 0);
        assert_int_equal(nt_campaign_next(c, 0, &order, NULL), 0);
        assert_int_equal(nt_campaign_warnings(c), 0);
        nt_campaign_destroy(c);
    }
    nt_campaign_destroy(NULL);
}

/* The pairs of all rounds of a quick campaign, of which as many as it allows are ordered at once.
 */
static size_t order_all(const struct nt_network *n, struct nt_campaign_options options, size_t most,
                        double lap_s, uint32_t (*met)[2], size_t *most_at_once)
{
    struct nt_measure_noise noise = {.sd = 0.01, .seed = 5};
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_order order, also;
    struct nt_campaign *c;
    struct nt_result answer[16][8];
    size_t count = 0, got[16];
    uint32_t rounds = 0;
    *most_at_once = 0;
    assert_int_equal(nt_campaign_create(n->hosts, NULL, &options, &c, NULL), 0);
    while (nt_campaign_next(c, lap_s * rounds, &order, NULL) == 1) {
        size_t together = 0;
        do {
            assert_at_most(count + order.pairs, 4096);
            assert_at_most(order.pairs, 8);
            memcpy(met + count, order.pair, order.pairs * sizeof *met);
            count += order.pairs;
            assert_int_equal(
                nt_order_answer(&noisy, &order, rounds++, answer[together], &got[together], NULL),
                0);
            together++;
            also = order;
        } while (together < most && nt_campaign_next_ahead(c, together, &order, NULL) == 1);
        assert_int_equal(order.batches, also.batches);
        assert_string_equal(order.phase, also.phase);
        for (size_t k = 0; k < together; k++)
            assert_int_equal(nt_campaign_tell(c, answer[k], got[k], lap_s, NULL), 0);
        *most_at_once = together > *most_at_once ? together : *most_at_once;
    }
    nt_campaign_destroy(c);
    return count;
}

TEST(rounds_at_once_are_the_same_rounds)
{
    static uint32_t met[2][4096][2];
    SCOPED(network) *n = made_network("tree:2x2x2");
    struct nt_campaign_options options = {
        .level = NT_LEVEL_QUICK, .budget_s = 10, .max_load = 1, .seed = 1};
    size_t at_once, one = order_all(n, options, 1, 0.001, met[0], &at_once);
    assert_int_equal(at_once, 1);
    size_t many = order_all(n, options, 16, 0.001, met[1], &at_once);
    assert_int_equal(at_once, 14); /* the second pass waits for what the first has shown */
    assert_int_equal(many, one);
    assert_memory_equal(met[0], met[1], one * sizeof *met[0]);
    /* no longer than a lost host may cost */
    order_all(n, options, 16, 0.05, met[1], &at_once);
    assert_in_range(at_once, 4, 8);
    options.budget_s = 3;
    order_all(n, options, 16, 0.05, met[1], &at_once);
    assert_in_range(at_once, 2, 4);
    options.budget_s = 10;
    options.max_load = 0.5;
    order_all(n, options, 16, 0.001, met[1], &at_once);
    assert_int_equal(at_once, 1);
    options.max_load = 1;
    options.mode = NT_SWEEP_SEQUENTIAL;
    order_all(n, options, 16, 0.001, met[1], &at_once);
    assert_int_equal(at_once, 1);
}

/* Very many hosts, most of them missing, in a network that some pairs do not determine: no phase of
 * all pairs begins, and the reason is not the budget. */
/* budget_max is 7 s (nettopo.conf(5)). Beside its window a round takes about as long on hosts that
 * have a core for the probe, over links of 400 MB/s. */
TEST(full_fits_the_default_budget)
{
    static const char *const nets[] = {"star:2", "star:4", "tree:2x2", "tree:2x4", "tree:4x4"};
    /* the second: hosts that share two cores, as on the emulated cluster */
    static const struct {
        double lap_s, rate_MBps;
    } hosts[] = {{0.015, 400}, {0.03, 25}};
    for (size_t h = 0; h < sizeof hosts / sizeof *hosts; h++)
        for (size_t k = 0; k < sizeof nets / sizeof *nets; k++) {
            struct trial t = {nets[k], NT_LEVEL_FULL, 7, hosts[h].lap_s, 1, false, NULL, 0, 0, 0};
            struct nt_network *n = made_network(t.topology);
            for (size_t a = 0; a < n->arcs; a++)
                n->arc[a].rate_MBps = hosts[h].rate_MBps;
            struct seen s = run_on(t, n, true);
            show(&t, &s);
            assert_string_equal(s.cut, "");
            assert_true(has(&s, "loggp") && has(&s, "sizes") && has(&s, "kernels"));
            assert_true(h > 0 || has(&s, "loggp-check"));
        }
}

/* As on a host whose core was taken for a while. */
TEST(a_slow_round_does_not_end_loggp)
{
    static const double SLOW_S = 0.4;
    struct trial t = {"tree:2x4", NT_LEVEL_FULL, 7, 0.015, 1, false, NULL, 0, 0, 0};
    slow_first_prtt_s = SLOW_S;
    struct seen s = run_on(t, made_network(t.topology), true);
    slow_first_prtt_s = 0;
    show(&t, &s);
    assert_true(has(&s, "loggp-check"));
    assert_string_equal(s.cut, "");
}

/* Phases that do not fit are named, and the time goes to the others. */
TEST(a_short_budget_is_used)
{
    for (double budget_s = 3; budget_s < 7; budget_s += 0.7) {
        struct trial t = {"tree:4x4", NT_LEVEL_FULL, budget_s, 0.03, 1, false, NULL, 0, 0, 0};
        struct seen s = run_on(t, made_network(t.topology), true);
        show(&t, &s);
        assert_holds(budget_s > 5 || strstr(s.cut, "too short") != NULL, "budget %g s: %s",
                     budget_s, s.cut);
        assert_above(s.ended_s, 0.85 * nt_campaign_measuring_s(budget_s));
    }
}

/* That the budget was too short is said only if nothing was left of it: a phase that gives way to
 * those after it had its part. */
TEST(a_part_of_the_budget_is_named_as_one)
{
    bool any = false, whole = false;
    for (double budget_s = 4; budget_s < 30; budget_s *= 1.3) {
        struct trial t = {"tree:4x4", NT_LEVEL_FULL, budget_s, 0.03, 1, false, NULL, 0, 0, 2};
        struct seen s = run_on(t, made_network(t.topology), true);
        bool part = strstr(s.warned, "its part of the budget") != NULL;
        show(&t, &s);
        any |= part;
        if (part || strstr(s.warned, "the budget") == NULL)
            continue;
        whole = true;
        assert_above(s.ended_s, 0.8 * nt_campaign_measuring_s(budget_s));
    }
    assert_true(any && whole);
}

TEST(too_many_hosts_stay_untold)
{
    enum { MANY = 4097, HERE = 40 };
    struct nt_campaign_options options = {
        .level = NT_LEVEL_FULL, .budget_s = 1000, .max_load = 1, .seed = 1};
    SCOPED(network) *n = made_network("chain:5x8");
    struct nt_measure_noise noise = {.sd = 0.01, .seed = 5};
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_result results[HERE];
    struct nt_inferred known;
    struct nt_campaign *c;
    struct nt_order order;
    char warned[2048] = "";
    uint32_t rounds = 0;
    bool *absent = calloc(MANY, sizeof *absent);
    for (size_t h = HERE; h < MANY; h++)
        absent[h] = true;
    assert_int_equal(nt_campaign_create(MANY, absent, &options, &c, NULL), 0);
    while (nt_campaign_next(c, 0.01 * rounds, &order, NULL) == 1) {
        size_t got = 0;
        assert_true(order.kind == NT_ORDER_KERNEL || strcmp(order.phase, "calibration") == 0 ||
                    strcmp(order.phase, "adaptive") == 0 ||
                    strcmp(order.phase, "verification") == 0);
        assert_int_equal(nt_order_answer(&noisy, &order, rounds++, results, &got, NULL), 0);
        assert_int_equal(nt_campaign_tell(c, results, got, 0.01, NULL), 0);
    }
    for (size_t k = 0; k < nt_campaign_warnings(c); k++)
        snprintf(warned + strlen(warned), sizeof warned - strlen(warned), "%s\n",
                 nt_campaign_warning(c, k));
    print_message("%s", warned);
    assert_false(nt_campaign_is_verified(c));
    nt_campaign_take_inferred(c, &known);
    assert_null(known.model);
    nt_inferred_fini(&known);
    assert_null(nt_campaign_budget_warning(c));
    assert_non_null(nt_campaign_undetermined(c));
    assert_non_null(
        strstr(nt_campaign_undetermined(c), "all pairs are measured of at most 4096 hosts"));
    assert_non_null(strstr(warned, "bandwidth of host links: not measured, because the network"));
    assert_non_null(strstr(warned, "sizes: not measured, because it needs all pairs"));
    nt_campaign_destroy(c);
    free(absent);
}

TEST(bad_options_are_refused)
{
    static const struct nt_campaign_options bad[] = {
        {.level = NT_LEVEL_QUICK, .budget_s = 0, .max_load = 1},
        {.level = NT_LEVEL_QUICK, .budget_s = 5, .max_load = 0},
        {.level = NT_LEVEL_QUICK, .budget_s = 5, .max_load = 1.5},
    };
    for (size_t k = 0; k < 3; k++) {
        struct nt_campaign *c = NULL;
        assert_int_equal(nt_campaign_create(4, NULL, &bad[k], &c, &err), -1);
        assert_int_equal(err.kind, NT_ERR_USAGE);
    }
    struct nt_campaign_options good = {.level = NT_LEVEL_QUICK, .budget_s = 5, .max_load = 1};
    struct nt_campaign *c = NULL;
    assert_int_equal(nt_campaign_create(NT_CAMPAIGN_HOSTS_MAX + 1, NULL, &good, &c, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
}

TEST(a_thousand_hosts)
{
    struct trial t = {"tree:8x8x16", NT_LEVEL_FULL, 10000, 0.05, 1, false, NULL, 0, 0, 0};
    struct seen s = run(t);
    show(&t, &s);
    assert_true(s.exact);
    assert_string_equal(s.cut, "");
}

/* Rounds of lap_s within the budget; *warned: the first warning. Returns how many. */
static size_t run_plan(const struct nt_plan *plan, double budget_s, double lap_s, char *warned,
                       bool *verified)
{
    struct nt_network *n = made_network("tree:2x2x4");
    const struct nt_measure_noise noise = {.seed = 5};
    const struct nt_noisy_network noisy = {n, &noise};
    const struct nt_campaign_options options = {
        .level = NT_LEVEL_FULL, .budget_s = budget_s, .max_load = 1, .seed = 1, .plan = plan};
    struct nt_campaign *c;
    struct nt_order order;
    struct nt_result results[16];
    size_t rounds = 0, got;
    double now_s = 0;
    assert_int_equal(nt_campaign_create(n->hosts, NULL, &options, &c, NULL), 0);
    while (nt_campaign_next(c, now_s, &order, NULL) == 1) {
        assert_string_equal(order.phase, "plan");
        assert_int_equal(nt_order_answer(&noisy, &order, (uint32_t)rounds, results, &got, NULL), 0);
        now_s += lap_s;
        assert_int_equal(nt_campaign_next_ahead(c, 1, &order, NULL), 0);
        assert_int_equal(nt_campaign_tell(c, results, got, lap_s, NULL), 0);
        rounds++;
    }
    snprintf(warned, 128, "%s", nt_campaign_warnings(c) > 0 ? nt_campaign_warning(c, 0) : "");
    *verified = nt_campaign_is_verified(c);
    nt_campaign_destroy(c);
    nt_network_destroy(n);
    return rounds;
}

TEST(a_plan_is_all_that_is_measured_as_often_as_fits)
{
    SCOPED(network) *n = made_network("tree:2x2x4");
    SCOPED(model) *truth;
    SCOPED(plan) *plan;
    char warned[128];
    bool verified;
    assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
    assert_int_equal(nt_plan_model(truth, 1, 1, &plan, NULL), 0);
    size_t rounds = run_plan(plan, 1000, 0.01, warned, &verified);
    assert_int_equal(rounds, 64 * plan->rounds);
    assert_true(verified);
    assert_string_equal(warned, "");
    rounds = run_plan(plan, 1, 0.01, warned, &verified); /* as much as there is time */
    assert_in_range(rounds, 75, 85);
    assert_true(verified);
    assert_string_equal(warned, "");
    run_plan(plan, 1, 0.4, warned, &verified);
    assert_false(verified);
    assert_string_equal(warned, "plan: not all of its pairs were measured, the budget of 1.0 s was "
                                "too short");
}

/* The rate of the first flow of a plan's only round, after the warm-up, through leaves whose
 * uplinks carry two flows. */
static double planned_rate(const uint32_t (*pair)[2], size_t pairs)
{
    struct nt_network *n = made_network("tree:2x3");
    const struct nt_measure_noise noise = {.seed = 5};
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_plan *plan;
    struct nt_campaign *c;
    struct nt_order order;
    struct nt_result results[3];
    size_t got, rounds = 0;
    double now_s = 0, MBps = NAN;
    assert_int_equal(nt_plan_create(pairs, &plan, NULL), 0);
    memcpy(plan->pair, pair, pairs * sizeof *pair);
    memset(plan->round, 0, pairs * sizeof *plan->round);
    plan->rounds = 1;
    const struct nt_campaign_options options = {
        .budget_s = 5, .max_load = 1, .seed = 1, .plan = plan, .plan_flows = true};
    assert_int_equal(nt_campaign_create(n->hosts, NULL, &options, &c, NULL), 0);
    for (; nt_campaign_next(c, now_s, &order, NULL) == 1; rounds++) {
        assert_string_equal(order.phase, rounds < 2 ? "warm-up" : "plan");
        assert_int_equal(order.kind, rounds < 1 ? NT_ORDER_LATENCY : NT_ORDER_BANDWIDTH);
        assert_int_equal(nt_order_answer(&noisy, &order, (uint32_t)rounds, results, &got, NULL), 0);
        assert_int_equal(got, pairs);
        now_s += 0.01 + order.window_s;
        assert_int_equal(nt_campaign_tell(c, results, got, 0.01 + order.window_s, NULL), 0);
        MBps = results[0].bytes / results[0].value_us;
    }
    assert_true(nt_campaign_is_verified(c));
    assert_int_equal(nt_campaign_warnings(c), 0);
    assert_in_range(rounds, 12, 18); /* of 0.3 s */
    nt_campaign_destroy(c);
    nt_plan_destroy(plan);
    nt_network_destroy(n);
    return MBps;
}

/* Bufe 2014, 2.2.1: the shortest path is loaded. A flow inside a leaf has another path. */
TEST(a_plan_of_flows_shows_whether_others_block_a_path)
{
    static const uint32_t across[3][2] = {{0, 3}, {1, 4}, {2, 5}}, inside[2][2] = {{0, 1}, {2, 3}};
    double alone = planned_rate(across, 1);
    assert_close(planned_rate(across, 3), alone * 2 / 3, alone / 100);
    assert_close(planned_rate(inside, 2), planned_rate(inside, 1), alone / 100);
}

/* At every level, after its own phases, and in place of level full's. */
TEST(kernels_that_are_chosen_run_at_every_level)
{
    struct nt_workload kernel[2] = {{0}};
    assert_int_equal(nt_workload_parse("sr:8,bytes=512,compute=100", &kernel[0], NULL), 0);
    assert_int_equal(nt_workload_parse("transpose,tasks=4", &kernel[1], NULL), 0);
    for (int level = NT_LEVEL_QUICK; level <= NT_LEVEL_FULL; level++)
        for (int shared = 0; shared < 2; shared++) {
            SCOPED(network) *n = made_network("tree:2x4");
            const struct nt_measure_noise noise = {.sd = 0.01, .seed = 5};
            const struct nt_noisy_network noisy = {n, &noise};
            const struct nt_campaign_options options = {.level = (enum nt_level)level,
                                                        .latency_only = shared != 0,
                                                        .budget_s = 100,
                                                        .max_load = 1,
                                                        .seed = 1,
                                                        .stress = kernel,
                                                        .stresses = 2};
            struct nt_campaign *c;
            struct nt_order order;
            struct nt_result results[8];
            size_t rounds = 0, got, kernels = 0;
            double now_s = 0;
            bool tiers = false;
            assert_int_equal(nt_campaign_create(n->hosts, NULL, &options, &c, NULL), 0);
            while (nt_campaign_next(c, now_s, &order, NULL) == 1) {
                if (order.kind == NT_ORDER_KERNEL) {
                    assert_string_equal(order.kernel,
                                        kernels == 0 ? "sr:8,compute=100" : "transpose");
                    assert_int_equal(order.pairs, kernels == 0 ? 8 : 4);
                    kernels++;
                }
                assert_true(kernels == 0 || order.kind == NT_ORDER_KERNEL);
                tiers = tiers || strcmp(order.phase, "tiers") == 0;
                assert_int_equal(
                    nt_order_answer(&noisy, &order, (uint32_t)rounds++, results, &got, NULL), 0);
                now_s += 0.02 + order.window_s;
                assert_int_equal(nt_campaign_tell(c, results, got, 0.02 + order.window_s, NULL), 0);
            }
            assert_int_equal(kernels, shared ? 0 : 2); /* they load links */
            assert_int_equal(tiers, !shared && level > NT_LEVEL_QUICK);
            nt_campaign_destroy(c);
        }
}

RUN_TESTS
