/* SPDX-License-Identifier: Apache-2.0 */
/* How often readings are disturbed, and that passes over all pairs go on until that does not
 * matter. */
#include "asserts.h"
#include "disturbed.h"
#include "rng.h"
#include "sweep_latency.h"

enum { HOSTS = 8, PAIRS = HOSTS * (HOSTS - 1) / 2, PASS = HOSTS - 1, SEEDS = 300 };

/* Two leaves of four. */
static double truth_us(uint32_t a, uint32_t b)
{
    return a / 4 == b / 4 ? 10 : 14;
}

/* Noise of 1 %; a disturbed one takes up to three times as long. */
static double reading_us(struct nt_rng *rng, uint32_t a, uint32_t b, double disturbed)
{
    double us = truth_us(a, b) * (1 + 0.01 * nt_rng_normal(rng));
    return nt_rng_uniform(rng) < disturbed ? us * (1.2 + 1.8 * nt_rng_uniform(rng)) : us;
}

static void note(struct nt_latencies *l, uint32_t a, uint32_t b, double us)
{
    assert_int_equal(nt_latencies_note(l, a, b, us, 0, NULL), 0);
}

/* Of all that was noted, which is given back. */
static struct nt_disturbed disturbed_of(struct nt_latencies *l)
{
    struct nt_disturbed d;
    assert_int_equal(nt_disturbed_find(l, &d, NULL), 0);
    nt_latencies_fini(l);
    return d;
}

TEST(the_share_is_found)
{
    static const double shares[] = {0, 0.1, 0.3, 0.5};
    for (size_t k = 0; k < 4; k++)
        for (unsigned readings = 3; readings <= 9; readings += 3) {
            double share = 0, pairs = 0;
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                struct nt_latencies l;
                struct nt_rng rng;
                nt_rng_init(&rng, seed);
                nt_latencies_init(&l, HOSTS);
                for (unsigned r = 0; r < readings; r++)
                    for (uint32_t a = 0; a < HOSTS; a++)
                        for (uint32_t b = 0; b < a; b++)
                            note(&l, a, b, reading_us(&rng, a, b, shares[k]));
                struct nt_disturbed d = disturbed_of(&l);
                share += d.share / SEEDS;
                pairs += d.pairs / SEEDS;
            }
            print_message("%g of %u readings: %.3f, %.4f pairs, expected %.4f\n", shares[k],
                          readings, share, pairs, PAIRS * pow(shares[k], readings));
            assert_below(fabs(share - shares[k]), 0.02 + (readings < 6 ? 0.2 : 0.1) * shares[k]);
        }
}

TEST(one_that_is_too_low_disturbs_no_others)
{
    static const double us[] = {10, 10.1, 6, 10.2, 15};
    struct nt_latencies l;
    nt_latencies_init(&l, HOSTS);
    for (size_t k = 0; k < 5; k++)
        note(&l, 1, 3, us[k]);
    assert_close(disturbed_of(&l).share, 0.2, 1e-3);
}

TEST(what_is_no_reading_does_not_count)
{
    struct nt_latencies l;
    nt_latencies_init(&l, HOSTS);
    note(&l, 1, 1, 5);
    note(&l, 1, HOSTS, 5);
    note(&l, 0, 1, NAN);
    note(&l, 0, 1, 0);
    assert_true(disturbed_of(&l).pairs == 0);
    nt_latencies_init(&l, HOSTS);
    for (unsigned k = 0; k < 2 * NT_DISTURBED_READINGS_MAX; k++)
        note(&l, HOSTS - 1, HOSTS - 2, k < NT_DISTURBED_READINGS_MAX ? 5 : 10);
    assert_true(disturbed_of(&l).share == 0);
    nt_latencies_init(&l, NT_LATENCIES_LISTED_HOSTS + 1);
    note(&l, 0, 1, 5);
    note(&l, 0, 1, 10);
    assert_true(disturbed_of(&l).share == 0);
}

/* Rounds until the sweep ends; *wrong: pairs whose lowest reading is not the truth. */
static size_t sweep(uint64_t seed, double disturbed, size_t *wrong)
{
    struct nt_planner *planner;
    struct nt_order order;
    struct nt_result results[HOSTS];
    struct nt_rng rng;
    double lowest[HOSTS][HOSTS];
    size_t rounds = 0, planned;
    nt_rng_init(&rng, seed);
    for (size_t k = 0; k < HOSTS * HOSTS; k++)
        lowest[k / HOSTS][k % HOSTS] = INFINITY;
    const struct nt_sweep_setup setup = {HOSTS, NULL, 0, 1, 1, seed};
    assert_int_equal(nt_sweep_latency_create(&setup, NT_SWEEP_AUTO, &planner, &planned, NULL), 0);
    assert_int_equal(planned, 3 * PASS);
    while (planner->ops->next(planner, &order, NULL) == 1) {
        for (size_t k = 0; k < order.pairs; k++) {
            uint32_t a = order.pair[k][0], b = order.pair[k][1];
            results[k] = (struct nt_result){
                .a = a, .b = b, .ok = true, .value_us = reading_us(&rng, a, b, disturbed)};
            lowest[a][b] = fmin(lowest[a][b], results[k].value_us);
        }
        assert_int_equal(planner->ops->tell(planner, results, order.pairs, NULL), 0);
        rounds++;
        assert_int_equal(nt_sweep_latency_repeats(planner), rounds >= 3 * PASS);
    }
    *wrong = 0;
    for (uint32_t a = 0; a < HOSTS; a++)
        for (uint32_t b = a + 1; b < HOSTS; b++)
            *wrong += fabs(lowest[a][b] / truth_us(a, b) - 1) > 0.1;
    nt_planner_destroy(planner);
    return rounds;
}

TEST(passes_go_on_while_readings_are_disturbed)
{
    static const struct {
        double disturbed;
        double passes_least, passes_most, wrong_most; /* means; sweeps of all */
    } table[] = {
        {0, 2.99, 3.01, 0},
        {0.02, 2.99, 3.05, 0.01},
        {0.3, 5, 6.5, 0.04},
        {0.9, 8.5, 9, 1},
    };
    for (size_t k = 0; k < 4; k++) {
        double passes = 0, sweeps_wrong = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            size_t wrong;
            passes += (double)sweep(seed, table[k].disturbed, &wrong) / PASS / SEEDS;
            sweeps_wrong += (wrong > 0) / (double)SEEDS;
        }
        print_message("%g disturbed: %.2f passes, %.3f of the sweeps with a wrong pair\n",
                      table[k].disturbed, passes, sweeps_wrong);
        assert_at_least(passes, table[k].passes_least);
        assert_at_most(passes, table[k].passes_most);
        assert_at_most(sweeps_wrong, table[k].wrong_most);
    }
}

/* Three passes over all pairs of eight hosts; all that is read of host 5 from reading on takes a
 * fifth longer. *wrong: pairs with fewer than two other readings: a single one is none. */
static struct nt_disturbed slowed_from(uint64_t seed, size_t reading, size_t *wrong)
{
    struct nt_latencies l;
    struct nt_rng rng;
    size_t undisturbed[HOSTS] = {0};
    uint32_t pair[PAIRS][2];
    nt_rng_init(&rng, seed);
    nt_latencies_init(&l, HOSTS);
    for (size_t k = 0, taken = 0; k < 3; k++) {
        size_t n = 0;
        for (uint32_t a = 0; a < HOSTS; a++)
            for (uint32_t b = 0; b < a; b++, n++) {
                size_t at = nt_rng_below(&rng, n + 1);
                memcpy(pair[n], pair[at], sizeof pair[n]);
                memcpy(pair[at], (uint32_t[]){a, b}, sizeof pair[at]);
            }
        for (n = 0; n < PAIRS; n++, taken++) {
            uint32_t a = pair[n][0], b = pair[n][1];
            bool slow = (a == 5 || b == 5) && taken >= reading;
            undisturbed[a == 5 ? b : b == 5 ? a : 5] += !slow;
            note(&l, a, b, reading_us(&rng, a, b, 0) * (slow ? 1.2 : 1));
        }
    }
    *wrong = 0;
    for (uint32_t host = 0; host < HOSTS; host++)
        *wrong += host != 5 && undisturbed[host] < 2;
    return disturbed_of(&l);
}

TEST(pairs_of_a_host_that_became_slow_are_counted)
{
    for (size_t reading = 3 * PAIRS / 2; reading <= 3 * PAIRS; reading += PAIRS / 4) {
        double wrong = 0, pairs = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            size_t n;
            pairs += slowed_from(seed, reading, &n).pairs / SEEDS;
            wrong += (double)n / SEEDS;
        }
        print_message("slow from reading %zu of %d on: %.2f pairs, expected %.2f\n", reading,
                      3 * PAIRS, pairs, wrong);
        assert_at_least(pairs, 0.85 * wrong);
        assert_below(pairs, 1.15 * wrong + 0.05);
    }
}

RUN_TESTS
