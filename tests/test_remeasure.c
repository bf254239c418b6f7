/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs that are measured again: what counts of them, that they invent nothing, and that they mend
 * what the first readings had wrong. */
#include "asserts.h"
#include "infer.h"
#include "made_network.h"
#include "map_json.h"
#include "recorded_sweep.h"
#include "remeasure.h"
#include "repeats.h"
#include "rng.h"
#include "scattered_network.h"
#include "shape.h"
#include "solve.h"

enum { PASSES = 3 };

static struct nt_matrix *empty(size_t hosts)
{
    struct nt_matrix *m;
    assert_int_equal(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &m, NULL), 0);
    return m;
}

TEST(the_middle_of_the_lows_counts)
{
    static const struct nt_repeat told[] = {
        {0, 1, 4, 9},  {0, 1, 4, 7}, {0, 1, 5, 8}, {0, 1, 5, 11}, /* lows 5, 7, 8 */
        {0, 2, 4, 10},                                            /* 6 and 10 */
        {2, 1, 4, 3},                                             /* never read before */
        {9, 1, 4, 3},                                             /* no such host */
    };
    enum { TOLD = sizeof told / sizeof *told };
    for (size_t turn = 0; turn < TOLD; turn++) { /* in any order, folded twice */
        struct nt_repeats r = {0};
        for (int twice = 0; twice < 2; twice++) {
            SCOPED(matrix) *m = empty(4);
            nt_matrix_set(m, 0, 1, 5);
            nt_matrix_set(m, 0, 2, 6);
            nt_matrix_set(m, 0, 3, 1);
            for (size_t k = 0; k < TOLD && twice == 0; k++) {
                const struct nt_repeat *t = &told[(k + turn) % TOLD];
                assert_int_equal(nt_repeats_note(&r, t->a, t->b, t->phase, (double)t->us, NULL), 0);
            }
            assert_int_equal(nt_repeats_fold(&r, m, NULL, NULL), 0);
            assert_true(nt_matrix_get(m, 0, 1) == 7 && nt_matrix_get(m, 0, 2) == 8);
            assert_true(nt_matrix_get(m, 0, 3) == 1 && nt_matrix_get(m, 2, 1) == 3);
            assert_true(isnan(nt_matrix_get(m, 1, 0)));
        }
        nt_repeats_fini(&r);
    }
    assert_true(nt_repeats_is_phase("repeats-12"));
    assert_false(nt_repeats_is_phase("latency") || nt_repeats_is_phase("repeat"));
}

/* A host's pairs take a third longer from the first repeats on, for two of the four phases or for
 * all that follow: what was read in the other network does not count, and noise does not part
 * phases. */
TEST(a_change_in_the_sweep_does_not_count)
{
    enum { HOSTS = 12, SLOW = 5, PHASES = 4 };
    for (uint32_t until = 2; until <= PHASES; until += 2) {
        struct nt_repeats r = {0};
        SCOPED(matrix) *m = empty(HOSTS);
        struct nt_rng rng;
        nt_rng_init(&rng, until);
        for (uint32_t b = 1; b < HOSTS; b++)
            for (uint32_t a = 0; a < b; a++) {
                nt_matrix_set(m, a, b, (float)(300 + nt_rng_uniform(&rng)));
                for (uint32_t phase = 0; phase < PHASES; phase++) {
                    bool slow = (a == SLOW || b == SLOW) && phase < until;
                    double us = (slow ? 400 : 300) + nt_rng_uniform(&rng);
                    assert_int_equal(nt_repeats_note(&r, a, b, phase, us, NULL), 0);
                }
            }
        assert_int_equal(nt_repeats_fold(&r, m, NULL, NULL), 0);
        for (uint32_t b = 1; b < HOSTS; b++)
            for (uint32_t a = 0; a < b; a++)
                assert_at_most(nt_matrix_get(m, a, b), 301);
        nt_repeats_fini(&r);
    }
}

/* 1.4 us, and what disturbs only adds: 10 % on average. */
static double one_sided_us(struct nt_rng *rng)
{
    return 1.4 * (1 - 0.1 * log(nt_rng_uniform(rng)));
}

/* By which part the map has the first hosts nearer to each other than the others; *groups: those
 * that are claimed, more. */
static double nearer(const struct nt_matrix *m, size_t first, size_t *groups)
{
    struct nt_model *model;
    struct nt_matrix *us;
    double sum[2] = {0, 0}, count[2] = {0, 0};
    assert_int_equal(nt_infer_latency(m, NULL, 1, &model, NULL), 0);
    assert_int_equal(nt_model_latencies(model, &us, NULL), 0);
    for (size_t k = 0; k < model->links; k++)
        *groups += model->link[k].a >= m->n && model->link[k].probability >= 0.5;
    for (size_t a = 0; a < m->n; a++)
        for (size_t b = 0; b < m->n; b++)
            if (a != b && (a < first) == (b < first)) {
                sum[a < first] += (double)nt_matrix_get(us, a, b);
                count[a < first]++;
            }
    nt_matrix_destroy(us);
    nt_model_destroy(model);
    return 1 - sum[1] / count[1] * count[0] / sum[0];
}

/* Half of the hosts of a star, and a tenth of the other pairs, are read thirty times as often as
 * the others. By the lowest of all those, pairs that were read often would be nearer. */
TEST(repeats_invent_no_group)
{
    enum { HOSTS = 24, CLOSE = 12, PHASES = 30 };
    size_t invented = 0, stars = draws(15, 40);
    double off = 0, off_by_lowest = 0;
    for (uint64_t seed = 1; seed <= stars; seed++) {
        SCOPED(matrix) *first = empty(HOSTS), *min_latency = empty(HOSTS);
        struct nt_repeats r = {0};
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        for (uint32_t b = 1; b < HOSTS; b++)
            for (uint32_t a = 0; a < b; a++) {
                bool again = b < CLOSE || (a >= CLOSE && nt_rng_uniform(&rng) < 0.1);
                double low = one_sided_us(&rng);
                for (unsigned k = 1; k < PASSES; k++)
                    low = fmin(low, one_sided_us(&rng));
                nt_matrix_set(first, a, b, (float)low);
                for (uint32_t k = 0; again && k < PASSES * PHASES; k++) {
                    double us = one_sided_us(&rng);
                    low = fmin(low, us);
                    assert_int_equal(nt_repeats_note(&r, a, b, k / PASSES, us, NULL), 0);
                }
                nt_matrix_set(min_latency, a, b, (float)low);
            }
        assert_int_equal(nt_repeats_fold(&r, first, NULL, NULL), 0);
        off += nearer(first, CLOSE, &invented) / (double)stars;
        off_by_lowest += nearer(min_latency, CLOSE, &invented) / (double)stars;
        nt_repeats_fini(&r);
    }
    print_message(
        "%zu stars: hosts that were read again are %.4f nearer, %.4f by the lowest of all "
        "readings; %zu groups invented\n",
        stars, off, off_by_lowest, invented);
    assert_int_equal(invented, 0);
    assert_below(fabs(off), 0.01);
    assert_above(off_by_lowest, 0.02);
}

/* The network by repeats of the first readings, as if that were uncertain. */
static struct nt_model *repeated(const struct nt_network *n, const struct nt_matrix *first,
                                 size_t most_rounds, bool disturbed, size_t *rounds)
{
    struct nt_measure_noise noise = {.sd = 0.01, .seed = 7};
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_result *results = calloc(n->hosts, sizeof *results);
    struct nt_model *model, *found;
    struct nt_planner *planner;
    struct nt_order order;
    struct nt_rng rng;
    nt_rng_init(&rng, 7);
    assert_int_equal(nt_infer_latency(first, NULL, 1, &model, NULL), 0);
    model->confidence = 0.5;
    for (size_t k = 0; k < model->links; k++)
        model->link[k].probability = 0.9;
    struct nt_remeasure_input ask = {.model = model,
                                     .min_latency = first,
                                     .passes = PASSES,
                                     .most_rounds = most_rounds,
                                     .batches = 3,
                                     .count = 5,
                                     .seed = 1};
    size_t said, got;
    assert_int_equal(nt_remeasure_create(&ask, &planner, &said, NULL), 0);
    assert_non_null(planner);
    assert_above(said, 0);
    assert_at_most(said, PASSES * NT_REMEASURE_PHASES * most_rounds);
    nt_model_destroy(model);
    for (*rounds = 0; planner->ops->next(planner, &order, NULL) > 0; ++*rounds) {
        unsigned phase;
        assert_int_equal(sscanf(order.phase, "repeats-%u", &phase), 1);
        assert_at_least(phase, 1);
        assert_at_most(phase, 6);
        assert_true(nt_repeats_is_phase(order.phase));
        assert_int_equal(
            nt_order_answer(&noisy, &order, 99 + (uint32_t)*rounds, results, &got, NULL), 0);
        for (size_t k = 0; disturbed && k < got; k++)
            if (nt_rng_uniform(&rng) < 0.2)
                results[k].value_us *= 1.5;
        assert_int_equal(planner->ops->tell(planner, results, got, NULL), 0);
        assert_below(*rounds, 10000);
    }
    assert_at_least(*rounds, said);
    assert_at_least(nt_remeasure_inferences(planner), 1);
    assert_int_equal(nt_remeasure_model(planner, &found, NULL), 0);
    nt_planner_destroy(planner);
    free(results);
    return found;
}

/* The lowest of three passes, as a sweep measures: one way. */
static struct nt_matrix *first_of(const struct nt_network *n)
{
    struct nt_measure_noise noise = {.sd = 0.01, .seed = 3};
    struct nt_matrix *m = empty(n->hosts);
    for (uint32_t b = 1; b < n->hosts; b++)
        for (uint32_t a = 0; a < b; a++)
            for (uint32_t pass = 0; pass < PASSES; pass++) {
                double us = nt_measure_batches(n, &noise, a, b, pass, 3).value_us;
                if (!(nt_matrix_get(m, a, b) <= us))
                    nt_matrix_set(m, a, b, (float)us);
            }
    return m;
}

static void damage(struct nt_matrix *m, uint32_t a, uint32_t b, float factor)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    nt_matrix_set(m, low, high, factor * nt_matrix_get(m, low, high));
}

/* Few hosts and many; a pair that reads too low, one whose readings were all disturbed, so that its
 * leaf was not found. */
TEST(repeats_mend_what_was_wrong)
{
    static const struct {
        struct scattered job;
        bool low;
    } table[] = {
        {{.singles = 8, .host_us = 0.56, .up_us = 0.15}, true},
        {{.singles = 30, .host_us = 0.56, .up_us = 0.15}, true},
        {{.triples = 2, .singles = 4, .host_us = 0.56, .up_us = 0.15}, false},
        {{.triples = 2, .singles = 24, .host_us = 0.56, .up_us = 0.15}, false},
    };
    for (size_t k = 0; k < 4; k++)
        for (int disturbed = 0; disturbed < 2; disturbed++) {
            SCOPED(network) *n = scattered_network(&table[k].job, k);
            SCOPED(matrix) *first = first_of(n);
            SCOPED(model) *truth, *found;
            size_t rounds;
            assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
            uint32_t other = 1;
            while (!table[k].low && truth->link[other].b != truth->link[0].b)
                other++;
            damage(first, 0, other, table[k].low ? 0.75F : 1.3F);
            found = repeated(n, first, 24, disturbed, &rounds);
            print_message("%zu hosts: %zu rounds, %zu switches\n", n->hosts, rounds,
                          found->switches);
            assert_true(nt_shape_equal(found, truth));
        }
}

TEST(what_is_sure_is_left_alone)
{
    SCOPED(network) *n = made_network("tree:2x4");
    SCOPED(matrix) *first = first_of(n);
    SCOPED(model) *model;
    struct nt_planner *planner;
    size_t rounds = 9;
    assert_int_equal(nt_infer_latency(first, NULL, 1, &model, NULL), 0);
    struct nt_remeasure_input ask = {.model = model,
                                     .min_latency = first,
                                     .passes = PASSES,
                                     .most_rounds = 24,
                                     .batches = 3,
                                     .count = 5,
                                     .seed = 1};
    for (int k = 0; k < 3; k++) {
        model->confidence = k == 0 ? NT_REMEASURE_CONFIDENCE : 0.5;
        ask.passes = k == 1 ? 0 : PASSES;
        ask.most_rounds = k == 2 ? 0 : 24;
        assert_int_equal(nt_remeasure_create(&ask, &planner, &rounds, NULL), 0);
        assert_null(planner);
        assert_int_equal(rounds, 0);
    }
}

/* Lost hosts are not ordered any more, also when none is left. */
TEST(lost_hosts_are_not_asked)
{
    SCOPED(network) *n = made_network("star:6");
    SCOPED(matrix) *first = first_of(n);
    SCOPED(model) *model;
    SCOPED(planner) *planner;
    struct nt_order order;
    bool missing[6] = {true};
    size_t rounds;
    assert_int_equal(nt_infer_latency(first, NULL, 1, &model, NULL), 0);
    model->confidence = 0;
    struct nt_remeasure_input ask = {.model = model,
                                     .min_latency = first,
                                     .missing = missing,
                                     .passes = PASSES,
                                     .most_rounds = 24,
                                     .batches = 3,
                                     .count = 5,
                                     .seed = 1};
    assert_int_equal(nt_remeasure_create(&ask, &planner, &rounds, NULL), 0);
    for (uint32_t lost = 1; lost < 5; lost++) {
        planner->ops->lose(planner, lost);
        planner->ops->lose(planner, 99);
        for (int k = 0; planner->ops->next(planner, &order, NULL) > 0 && k < 3; k++)
            for (size_t p = 0; p < order.pairs; p++)
                assert_true(order.pair[p][0] > lost && order.pair[p][1] > lost);
    }
    assert_int_equal(planner->ops->next(planner, &order, NULL), 0);
}

static char *map_with(const struct nt_samples *s, const struct nt_inferred *known)
{
    struct nt_map *map;
    char *text = NULL;
    size_t bytes;
    if (nt_solve_samples(s, NULL, known, &map, &err) != 0 ||
        nt_map_write(map, false, &text, &bytes, &err) != 0)
        fail_msg("%s", err.text);
    nt_map_destroy(map);
    return text;
}

static char *map_of(const struct nt_samples *s)
{
    return map_with(s, NULL);
}

/* How many phases of repeats there were. */
static size_t solve_twice(const struct recorded *r)
{
    struct nt_samples *again;
    struct nt_samples_reader *reader;
    char *text, *before = map_of(r->samples);
    size_t bytes, repeats = 0;
    for (size_t k = 0; k < r->samples->phases; k++)
        repeats += nt_repeats_is_phase(r->samples->phase[k].name);
    assert_int_equal(nt_samples_write(r->samples, &text, &bytes, NULL), 0);
    assert_int_equal(nt_samples_reader_create("record", &reader, NULL), 0);
    assert_int_equal(nt_samples_reader_feed(reader, text, bytes, NULL), 0);
    assert_int_equal(nt_samples_reader_finish(reader, &again, NULL), 0);
    nt_samples_reader_destroy(reader);
    char *after = map_of(again);
    assert_string_equal(before, after);
    nt_samples_destroy(again);
    free(before);
    free(after);
    free(text);
    return repeats;
}

/* Whatever the campaign measured again, written and read the record gives the same map. */
TEST(a_record_with_repeats_is_solved_again)
{
    struct scattered job = {.pairs = 2, .singles = 4, .host_us = 0.56, .up_us = 0.03};
    size_t repeats = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        SCOPED(network) *n = scattered_network(&job, seed);
        struct recording how = {
            .level = NT_LEVEL_QUICK, .mode = NT_SWEEP_ALL, .noise = {.sd = 0.02, .seed = seed}};
        struct recorded r = record_sweep(n, &how);
        repeats += solve_twice(&r);
        nt_samples_destroy(r.samples);
    }
    print_message("%zu phases of repeats in 20 sweeps\n", repeats);
    assert_at_least(repeats, NT_REMEASURE_PHASES);
}

/* What the sweep has inferred gives the same map, and is not inferred again where it is of the same
 * hosts in the same order: a wrong one shows then. */
TEST(what_is_known_is_not_inferred_again)
{
    struct scattered job = {.pairs = 2, .singles = 4, .host_us = 0.56, .up_us = 0.03};
    size_t used = 0, repeated = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        SCOPED(network) *n = scattered_network(&job, seed);
        struct nt_inferred known;
        struct recording how = {.level = NT_LEVEL_QUICK,
                                .mode = NT_SWEEP_ALL,
                                .noise = {.sd = seed % 4 < 2 ? 0.002 : 0.02, .seed = seed},
                                .by_name = seed % 2 == 0,
                                .known = &known};
        struct recorded r = record_sweep(n, &how);
        char *alone = map_of(r.samples), *with = map_with(r.samples, &known);
        assert_string_equal(alone, with);
        if (known.model != NULL)
            known.model->confidence /= 2;
        char *wrong = map_with(r.samples, &known);
        bool has_repeats = r.repeats_s > 0;
        assert_int_equal(strcmp(alone, wrong) != 0, how.by_name && !has_repeats);
        assert_int_equal(known.latency == NULL, has_repeats);
        used += strcmp(alone, wrong) != 0;
        repeated += has_repeats;
        free(alone);
        free(with);
        free(wrong);
        nt_inferred_fini(&known);
        nt_samples_destroy(r.samples);
    }
    print_message("used in %zu of 20, %zu were repeated\n", used, repeated);
    assert_above(used, 0);
    assert_above(repeated, 0);
}

/* Most of the time where nothing follows, else a small share; the budget is no reason for them. */
TEST(repeats_take_a_part_of_the_time)
{
    static const struct {
        enum nt_level level;
        double budget_s, share;
        bool some;
    } table[] = {
        {NT_LEVEL_QUICK, 1, 0.7, false},     {NT_LEVEL_QUICK, 3, 0.7, true},
        {NT_LEVEL_QUICK, 60, 0.7, true},     {NT_LEVEL_STANDARD, 3, 0.15, false},
        {NT_LEVEL_STANDARD, 12, 0.15, true}, {NT_LEVEL_STANDARD, 60, 0.15, true},
    };
    struct scattered job = {.pairs = 2, .singles = 4, .host_us = 0.56, .up_us = 0.03};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        size_t repeated = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            SCOPED(network) *n = scattered_network(&job, seed);
            struct recording how = {.level = table[k].level,
                                    .mode = NT_SWEEP_ALL,
                                    .noise = {.sd = 0.02, .seed = seed},
                                    .budget_s = table[k].budget_s,
                                    .lap_s = 0.03};
            struct recorded r = record_sweep(n, &how);
            assert_at_most(r.repeats_s, table[k].share * nt_campaign_measuring_s(how.budget_s));
            assert_at_most(r.ended_s, nt_campaign_measuring_s(how.budget_s));
            assert_null(strstr(r.warned, "latency:"));
            assert_null(strstr(r.warned, "repeats:"));
            repeated += r.repeats_s > 0;
            nt_samples_destroy(r.samples);
        }
        print_message("level %d, %g s: repeats in %zu of 20\n", (int)table[k].level,
                      table[k].budget_s, repeated);
        assert_int_equal(repeated > 0, table[k].some);
    }
}

RUN_TESTS
