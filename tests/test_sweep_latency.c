/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep of latencies: all pairs for few hosts, adaptive for many, and never a wrong network
 * that is sure of itself, whatever the network is. */
#include "asserts.h"
#include "infer.h"
#include "made_network.h"
#include "measure.h"
#include "rng.h"
#include "shape.h"
#include "sweep_adaptive.h"
#include "sweep_latency.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { PINGS = 5, BATCHES = 3, HOSTS_MAX = 300 };

/* What is not as in a nested tree of equal links. */
enum oddity {
    NONE,
    SPREAD,    /* every host's link differs by 5 % */
    SLOW_HOST, /* one host's link is longer by as much as a tier */
    SLOW_PAIR, /* two hosts' links are longer */
    MIXED,     /* every other host has a longer link */
    LONG_LINK, /* one leaf is further from the others */
    UNEVEN,    /* a third of the hosts is not there */
    FAR_FEW,   /* on the leaf that is further there are but two to four */
};

struct trial {
    const char *topology;
    enum oddity oddity;
    double sd, outliers;
    unsigned seeds;
    double sound; /* at least this share is determined by some pairs; below 0: none may be */
};

static void change(struct nt_network *n, enum oddity oddity, struct nt_rng *rng)
{
    bool first = true;
    for (size_t k = 0; k < n->arcs; k += 2) {
        uint32_t a = n->arc[k].from, b = n->arc[k].to, low = a < b ? a : b;
        bool host = low < n->hosts;
        double us = 0;
        if (oddity == SPREAD && host)
            us = 0.05 * n->arc[k].latency_us * nt_rng_normal(rng);
        if ((oddity == SLOW_HOST || oddity == SLOW_PAIR) && host && low == 5)
            us = 0.11;
        if (oddity == SLOW_PAIR && host && low + 2 == n->hosts)
            us = 0.2;
        if (oddity == MIXED && host && low % 2 == 0)
            us = 0.15;
        if ((oddity == LONG_LINK || oddity == FAR_FEW) && !host && first)
            us = 0.3;
        first = first && host;
        n->arc[k].latency_us += us;
        n->arc[k + 1].latency_us += us;
    }
}

struct sweep {
    struct nt_network *network;
    struct nt_measure_noise noise;
    bool absent[HOSTS_MAX];
    struct nt_planner *planner;
    struct nt_matrix *lowest;
    uint8_t *met; /* [a * hosts + b]: readings of all pairs' phase */
    size_t rounds, all_rounds;
};

static void answer_round(struct sweep *s, const struct nt_order *o)
{
    struct nt_result result[HOSTS_MAX / 2];
    bool busy[HOSTS_MAX] = {0};
    size_t n = s->network->hosts, told = 0;
    bool all = strcmp(o->phase, "latency") == 0;
    assert_above(o->pairs, 0);
    assert_at_most(o->pairs, n / 2);
    for (size_t k = 0; k < o->pairs; k++) {
        uint32_t a = o->pair[k][0], b = o->pair[k][1];
        assert_true(a < n && b < n && a != b && !busy[a] && !busy[b]); /* one partner a round */
        assert_false(s->absent[a] || s->absent[b]);
        busy[a] = busy[b] = true;
        struct nt_reading r =
            nt_measure_batches(s->network, &s->noise, a, b, (uint32_t)s->rounds, o->batches);
        if (isnan(r.value_us))
            continue;
        result[told++] = (struct nt_result){.a = a,
                                            .b = b,
                                            .ok = true,
                                            .value_us = r.value_us,
                                            .se_us = r.se_us,
                                            .count = o->batches * o->count};
        s->met[a < b ? a * n + b : b * n + a] += all;
        if (!(nt_matrix_get(s->lowest, a, b) <= r.value_us))
            nt_matrix_set(s->lowest, a, b, (float)r.value_us);
    }
    s->rounds++;
    s->all_rounds += all;
    assert_int_equal(s->planner->ops->tell(s->planner, result, told, NULL), 0);
}

static void begin(struct sweep *s, enum nt_sweep_mode mode, uint64_t seed)
{
    size_t n = s->network->hosts, rounds = 99;
    assert_at_most(n, HOSTS_MAX);
    assert_int_equal(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &s->lowest, NULL), 0);
    s->met = calloc(n * n + 1, 1);
    const struct nt_sweep_setup setup = {n, s->absent, 0, BATCHES, PINGS, seed};
    assert_int_equal(nt_sweep_latency_create(&setup, mode, &s->planner, &rounds, NULL), 0);
}

static void end(struct sweep *s)
{
    nt_planner_destroy(s->planner);
    nt_matrix_destroy(s->lowest);
    nt_network_destroy(s->network);
    free(s->met);
}

static void drive(struct sweep *s)
{
    struct nt_order o;
    int more;
    while ((more = s->planner->ops->next(s->planner, &o, &err)) > 0) {
        answer_round(s, &o);
        assert_below(s->rounds, 4 * s->network->hosts + 200);
    }
    if (more < 0)
        fail_msg("%s", err.text);
    assert_true(nt_sweep_latency_is_determined(s->planner));
}

/* Every pair of those present, so many times, or more if there were outliers, but all the same. */
static void assert_covered(const struct sweep *s, unsigned times)
{
    size_t n = s->network->hosts;
    unsigned most = s->noise.outliers > 0 ? 9 : times, seen = 0;
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            unsigned met = s->met[a * n + b];
            if (s->absent[a] || s->absent[b]) {
                assert_int_equal(met, 0);
                continue;
            }
            assert_in_range(met, times, most);
            assert_holds(seen == 0 || met == seen, "%u of %u", met, seen);
            seen = met;
        }
}

static struct nt_model *found_by(const struct sweep *s)
{
    const struct nt_sparse *sound = nt_sweep_latency_verified(s->planner);
    struct nt_model *m;
    if (sound != NULL)
        assert_int_equal(nt_sparse_model(sound, &m, NULL), 0);
    else
        assert_int_equal(nt_infer_latency(s->lowest, NULL, 1, &m, NULL), 0);
    return m;
}

/* ---- whatever the network is ---- */

/* The truth without those who are not there: measured without noise, every pair. */
static struct nt_model *truth_of(const struct sweep *s)
{
    struct nt_model *truth;
    struct nt_matrix *exact;
    const struct nt_measure_noise none = {0};
    size_t n = s->network->hosts;
    bool all = true;
    for (size_t h = 0; h < n; h++)
        all &= !s->absent[h];
    if (all) {
        assert_int_equal(nt_network_truth(s->network, &truth, NULL), 0);
        return truth;
    }
    assert_int_equal(nt_measure_latencies(s->network, &none, &exact, NULL), 0);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            if (a != b && (s->absent[a] || s->absent[b]))
                nt_matrix_set(exact, a, b, NAN);
    assert_int_equal(nt_infer_latency(exact, NULL, 1, &truth, NULL), 0);
    nt_matrix_destroy(exact);
    return truth;
}

struct tally {
    unsigned sound, exact;
    unsigned wrong, wrong_all; /* and sure of it: after some pairs, after all from the start */
    size_t rounds;
};

static bool is_sure_and_wrong(const struct nt_model *found, const struct nt_model *truth)
{
    return found->family != NT_FAMILY_UNDETERMINED && found->confidence > 0.9 &&
           !nt_shape_equal(found, truth);
}

/* On the leaf that a longer link is of. */
static void leave_few(struct sweep *s, size_t few)
{
    const struct nt_network *n = s->network;
    size_t up = 0, here = 0;
    while (n->arc[up].from < n->hosts || n->arc[up].to < n->hosts)
        up += 2;
    for (size_t k = 0; k < n->arcs; k += 2) {
        uint32_t a = n->arc[k].from, b = n->arc[k].to, host = a < b ? a : b, leaf = a < b ? b : a;
        if (host < n->hosts && (leaf == n->arc[up].from || leaf == n->arc[up].to))
            s->absent[host] = here++ >= few;
    }
    assert_above(here, few);
}

static struct sweep prepared(const struct trial *t, uint64_t seed)
{
    struct sweep s = {.network = made_machine(t->topology),
                      .noise = {t->sd, 0, 0, t->outliers, 0, seed}};
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    for (size_t h = 0; h < s.network->hosts; h++)
        s.absent[h] = t->oddity == UNEVEN && nt_rng_below(&rng, 3) == 0;
    if (t->oddity == FAR_FEW)
        leave_few(&s, 2 + seed % 3);
    change(s.network, t->oddity, &rng);
    return s;
}

static void run_all(const struct trial *t, uint64_t seed, struct tally *sum)
{
    struct sweep s = prepared(t, seed);
    struct nt_model *truth = truth_of(&s);
    begin(&s, NT_SWEEP_ALL, seed);
    drive(&s);
    assert_covered(&s, 3);
    assert_null(nt_sweep_latency_verified(s.planner));
    struct nt_model *m = found_by(&s);
    sum->wrong_all += is_sure_and_wrong(m, truth);
    nt_model_destroy(m);
    nt_model_destroy(truth);
    end(&s);
}

static void run_seed(const struct trial *t, uint64_t seed, struct tally *sum)
{
    struct sweep s = prepared(t, seed);
    struct nt_model *truth = truth_of(&s);
    begin(&s, NT_SWEEP_ADAPTIVE, seed);
    drive(&s);
    bool sound = nt_sweep_latency_verified(s.planner) != NULL;
    assert_covered(&s, sound ? 0 : 2);
    assert_true(sound == (nt_sweep_latency_all_pairs_reason(s.planner) == NULL));
    struct nt_model *m = found_by(&s);
    bool exact = nt_shape_equal(m, truth);
    if (sound && !exact)
        fail_msg("%s, oddity %d, seed %u: a wrong network was verified", t->topology,
                 (int)t->oddity, (unsigned)seed);
    sum->sound += sound;
    sum->exact += exact;
    sum->wrong += is_sure_and_wrong(m, truth);
    sum->rounds += s.rounds;
    nt_model_destroy(m);
    nt_model_destroy(truth);
    end(&s);
    if (!sound)
        run_all(t, seed, sum);
}

/* What is verified is right. What is not is inferred from all pairs, and then as good as if all had
 * been measured from the start (of which the lowest keeps readings that are too low by accident:
 * two hosts then look like a leaf of their own). */
TEST(never_sure_of_a_wrong_network)
{
    static const struct trial table[] = {
        {"tree:3x8", NONE, 0.02, 0.01, 20, 0.95},
        {"tree:4x8", NONE, 0.05, 0.01, 20, 0.95},
        {"tree:8x32", NONE, 0.02, 0.01, 6, 0.95},
        {"tree:4x4x8", NONE, 0.05, 0.01, 10, 0.95},
        {"tree:6x8", UNEVEN, 0.02, 0.01, 20, 0.9},
        {"tree:4x4x8", UNEVEN, 0.02, 0.01, 10, 0.9},
        {"tree:4x8", SPREAD, 0.02, 0.01, 20, 0.9},
        {"tree:4x8", LONG_LINK, 0.02, 0.01, 20, 0.9},
        {"star:30", NONE, 0.02, 0.01, 20, 0.95},
        {"star:30", SLOW_HOST, 0.02, 0.01, 20, 0.95},
        {"star:30", SLOW_PAIR, 0.02, 0.01, 20, 0.9},
        {"star:30", MIXED, 0.02, 0.01, 10, 0},
        {"tree:4x8", SLOW_HOST, 0.02, 0.01, 20, 0.95},
        {"tree:4x8", SLOW_PAIR, 0.02, 0.01, 20, 0.9},
        {"tree:4x8", MIXED, 0.02, 0.01, 10, -1},
        {"tree:4x4x8", SLOW_HOST, 0.05, 0.01, 6, 0.8},
        {"tree:2x32", FAR_FEW, 0.02, 0.01, 30, 0.8},
        {"tree:4x8", FAR_FEW, 0.02, 0.01, 30, 0.8},
        {"tree:2x32", FAR_FEW, 0.05, 0.05, 15, 0.8},
        {"tree:6x16", FAR_FEW, 0.02, 0.01, 10, 0.8},
        {"fattree:4,3", NONE, 0.02, 0.01, 10, 0.9},
        {"chain:6x6", NONE, 0.02, 0.01, 20, -1},
        {"chain:4x8", NONE, 0.05, 0.01, 20, -1},
        {"chain:24x1", NONE, 0.02, 0.01, 20, -1},
        {"torus:6x6", NONE, 0.02, 0.01, 10, -1},
        {"torus:5x5", NONE, 0.05, 0.01, 20, -1},
        {"torus:30x1", NONE, 0.02, 0.01, 20, -1},
        {"hypercube:5", NONE, 0.02, 0.01, 20, -1},
        {"dragonfly:5x4x2", NONE, 0.02, 0.01, 10, -1},
        {"ttorus:6x6:2", NONE, 0.02, 0.01, 10, -1},
    };
    unsigned wrong = 0, wrong_all = 0;
    for (size_t k = 0; k < COUNT(table); k++) {
        struct tally sum = {0};
        size_t seeds = draws((table[k].seeds + 5) / 6, table[k].seeds);
        for (uint64_t seed = 1; seed <= seeds; seed++)
            run_seed(&table[k], seed, &sum);
        print_message(
            "%-16s oddity %d noise %.2f: %u of %zu verified, %u exact, sure and wrong %u, "
            "of all pairs alone %u, %.0f rounds\n",
            table[k].topology, (int)table[k].oddity, table[k].sd, sum.sound, seeds, sum.exact,
            sum.wrong, sum.wrong_all, (double)sum.rounds / (double)seeds);
        assert_at_least(sum.sound, table[k].sound * (double)seeds);
        assert_holds(table[k].sound >= 0 || sum.sound == 0, "%u", sum.sound);
        wrong += sum.wrong;
        wrong_all += sum.wrong_all;
    }
    assert_at_most(wrong, wrong_all + draws(2, 4));
}

/* ---- schedules ---- */

/* Few hosts: every pair three times; many: fewer rounds than two passes over all pairs take,
 * where each pair is verified once. */
TEST(few_meet_all_and_many_some)
{
    for (size_t hosts = 0; hosts < 40; hosts += hosts < 26 ? 1 : 7) {
        char topology[16];
        snprintf(topology, sizeof topology, "star:%zu", hosts > 0 ? hosts : 1);
        struct sweep s = {.network = made_machine(topology), .noise = {0.02, 0, 0, 0, 0, 1}};
        s.absent[0] = hosts == 0;
        begin(&s, NT_SWEEP_AUTO, 1);
        drive(&s);
        bool many = hosts >= NT_SWEEP_ADAPTIVE_FROM;
        assert_covered(&s, many ? 0 : 3);
        assert_int_equal(nt_sweep_latency_verified(s.planner) != NULL, many);
        assert_holds(many ? s.rounds < 2 * hosts : s.rounds == s.all_rounds,
                     "%zu rounds of %zu hosts, all pairs: %zu", s.rounds, hosts, s.all_rounds);
        end(&s);
    }
}

/* Hosts that are lost in any round are not ordered any more; the others are determined all the
 * same. */
TEST(the_lost_are_left_alone)
{
    static const char *const topologies[] = {"tree:4x8", "chain:5x6"};
    for (size_t t = 0; t < COUNT(topologies); t++)
        for (size_t after = 0; after < 80; after += 3) {
            struct sweep s = {.network = made_machine(topologies[t]),
                              .noise = {0.02, 0, 0, 0, 0, after}};
            struct nt_order o;
            begin(&s, NT_SWEEP_AUTO, after);
            for (size_t k = 0; k < after && s.planner->ops->next(s.planner, &o, NULL) > 0; k++)
                answer_round(&s, &o);
            for (uint32_t h = 3; h < 8; h++) {
                s.absent[h] = true;
                s.planner->ops->lose(s.planner, h);
            }
            while (s.planner->ops->next(s.planner, &o, NULL) > 0)
                answer_round(&s, &o);
            struct nt_model *m = found_by(&s);
            assert_true(m->hosts == s.network->hosts);
            assert_true(t == 1 || nt_sweep_latency_verified(s.planner) != NULL);
            nt_model_destroy(m);
            end(&s);
        }
}

/* A sweep that is cut short gives a network only when it was verified, or all pairs were read
 * twice. */
TEST(told_when_enough_is_known)
{
    struct sweep s = {.network = made_machine("star:7"), .noise = {0.02, 0, 0, 0, 0, 1}};
    struct nt_order o;
    begin(&s, NT_SWEEP_AUTO, 1);
    while (s.planner->ops->next(s.planner, &o, NULL) > 0) {
        assert_int_equal(nt_sweep_latency_is_determined(s.planner), s.rounds + 1 >= 14);
        answer_round(&s, &o);
    }
    assert_int_equal(s.rounds, 21);
    end(&s);
}

/* Of very many hosts, most of them missing: what some pairs do not determine stays undetermined. */
TEST(too_many_hosts_never_meet_all)
{
    static const struct {
        const char *topology;
        enum nt_sweep_mode mode;
        bool sound;
        const char *why;
    } table[] = {
        {"chain:5x8", NT_SWEEP_AUTO, false, "all pairs are measured of at most 4096 hosts"},
        {"chain:5x8", NT_SWEEP_ALL, false, "all pairs are measured of at most 4096 hosts"},
        {"tree:5x8", NT_SWEEP_AUTO, true, NULL},
        {"tree:5x8", NT_SWEEP_ALL, true, "sweep=all was asked for"},
    };
    enum { MANY = NT_SWEEP_ALL_HOSTS_MAX + 1, HERE = 40 };
    bool *absent = calloc(MANY, sizeof *absent);
    for (size_t h = HERE; h < MANY; h++)
        absent[h] = true;
    for (size_t k = 0; k < COUNT(table); k++) {
        struct sweep s = {.network = made_machine(table[k].topology),
                          .noise = {0.02, 0, 0, 0, 0, 1}};
        size_t rounds = 99;
        assert_int_equal(nt_matrix_create(HERE, NT_MATRIX_LATENCY_US, &s.lowest, NULL), 0);
        s.met = calloc(HERE * HERE, 1);
        const struct nt_sweep_setup setup = {MANY, absent, 0, BATCHES, PINGS, 1};
        assert_int_equal(nt_sweep_latency_create(&setup, table[k].mode, &s.planner, &rounds, NULL),
                         0);
        assert_int_equal(rounds, 0);
        struct nt_order o;
        while (s.planner->ops->next(s.planner, &o, NULL) > 0) {
            assert_true(nt_sweep_latency_is_adaptive(s.planner));
            answer_round(&s, &o);
        }
        const char *why = nt_sweep_latency_all_pairs_reason(s.planner);
        assert_int_equal(s.all_rounds, 0);
        assert_int_equal(nt_sweep_latency_verified(s.planner) != NULL, table[k].sound);
        assert_int_equal(nt_sweep_latency_is_determined(s.planner), table[k].sound);
        assert_true((why != NULL) == (table[k].why != NULL));
        assert_holds(why == NULL || strstr(why, table[k].why) != NULL, "%s, expected %s", why,
                     table[k].why);
        assert_int_equal(s.planner->ops->next(s.planner, &o, NULL), 0);
        end(&s);
    }
    free(absent);
}

/* A contradiction can come from the network or from disturbances, so the reason names neither. */
TEST(the_reason_is_that_measurements_contradict_the_tiers)
{
    size_t contradicted = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct sweep s = {.network = made_machine("hypercube:3"),
                          .noise = {0.05, 0, 0, 0, 0, seed}};
        struct nt_order o;
        begin(&s, NT_SWEEP_ADAPTIVE, seed);
        while (s.planner->ops->next(s.planner, &o, NULL) > 0)
            answer_round(&s, &o);
        const char *why = nt_sweep_latency_all_pairs_reason(s.planner);
        assert_holds(why == NULL || strstr(why, "the network is") == NULL, "%s", why);
        contradicted +=
            why != NULL && strcmp(why, "some measurements contradict the tiers found "
                                       "from others, so all pairs were to be measured") == 0;
        end(&s);
    }
    assert_above(contradicted, 0);
}

RUN_TESTS
