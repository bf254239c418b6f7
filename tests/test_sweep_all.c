/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "rng.h"
#include "sweep.h"

enum { N = 41 };

struct seen {
    unsigned met[N][N];
    unsigned rounds;
};

/* Drives the planner to its end; loses host `loses` after `after` rounds. */
static void drive(size_t hosts, const bool *absent, unsigned passes, unsigned after, uint32_t loses,
                  struct seen *seen)
{
    SCOPED(planner) *planner = NULL;
    struct nt_order order;
    struct nt_result answer[N];
    memset(seen, 0, sizeof *seen);
    const struct nt_sweep_setup setup = {hosts, absent, passes, 3, 5, 0};
    must(nt_sweep_all_create(&setup, &planner, &err));
    while (planner->ops->next(planner, &order, &err) == 1) {
        bool busy[N] = {false};
        assert_int_equal(order.kind, NT_ORDER_LATENCY);
        assert_int_equal(order.batches, 3);
        assert_int_equal(order.count, 5);
        assert_above(order.pairs, 0);
        for (size_t k = 0; k < order.pairs; k++) {
            uint32_t a = order.pair[k][0], b = order.pair[k][1];
            assert_below(a, b);
            assert_below(b, hosts);
            assert_false(busy[a] || busy[b]);
            busy[a] = busy[b] = true;
            if (seen->rounds >= after)
                assert_true(a != loses && b != loses);
            seen->met[a][b]++;
            answer[k] = (struct nt_result){
                .a = a, .b = b, .ok = (a + b) % 7 != 0, .value_us = 1 + (a * 31 + b * 17) % 23};
        }
        assert_int_equal(planner->ops->tell(planner, answer, order.pairs, &err), 0);
        if (++seen->rounds == after)
            planner->ops->lose(planner, loses);
    }
    assert_int_equal(planner->ops->next(planner, &order, &err), 0);
}

TEST(every_pair_meets_once_a_pass)
{
    static struct seen seen;
    for (size_t n = 0; n <= N; n++)
        for (unsigned passes = 1; passes <= 3; passes++) {
            drive(n, NULL, passes, UINT32_MAX, 0, &seen);
            size_t rounds = n < 2 ? 0 : n % 2 == 0 ? n - 1 : n;
            assert_int_equal(seen.rounds, rounds * passes);
            for (size_t a = 0; a < n; a++)
                for (size_t b = a + 1; b < n; b++)
                    assert_int_equal(seen.met[a][b], passes);
        }
}

TEST(the_absent_are_left_out_and_cost_no_round)
{
    static struct seen seen;
    bool absent[9] = {[0] = true, [4] = true, [5] = true};
    drive(9, absent, 1, UINT32_MAX, 0, &seen);
    assert_int_equal(seen.rounds, 5);
    for (size_t a = 0; a < 9; a++)
        for (size_t b = a + 1; b < 9; b++)
            assert_int_equal(seen.met[a][b], !absent[a] && !absent[b]);
}

TEST(a_lost_host_is_paired_no_more_and_the_rest_all_meet)
{
    static struct seen seen;
    for (size_t n = 2; n <= 17; n++)
        for (uint32_t loses = 0; loses < n; loses++) {
            drive(n, NULL, 2, 2, loses, &seen);
            for (size_t a = 0; a < n; a++)
                for (size_t b = a + 1; b < n; b++)
                    if (a != loses && b != loses)
                        assert_int_equal(seen.met[a][b], 2);
        }
}

TEST(passes_differ_in_order_and_repeat_exactly)
{
    SCOPED(planner) *one = NULL, *two = NULL;
    struct nt_order a, b;
    uint32_t first[2][10][5][2];
    memset(first, 0, sizeof first);
    const struct nt_sweep_setup setup = {10, NULL, 2, 1, 1, 0};
    must(nt_sweep_all_create(&setup, &one, &err));
    must(nt_sweep_all_create(&setup, &two, &err));
    for (size_t r = 0; r < 18; r++) {
        assert_int_equal(one->ops->next(one, &a, &err), 1);
        assert_int_equal(two->ops->next(two, &b, &err), 1);
        assert_int_equal(a.pairs, b.pairs);
        assert_memory_equal(a.pair, b.pair, a.pairs * sizeof *a.pair);
        memcpy(first[r / 9][r % 9], a.pair, a.pairs * sizeof *a.pair);
    }
    assert_memory_not_equal(first[0], first[1], sizeof first[0]);
}

TEST(one_after_another_they_meet_as_often)
{
    for (size_t n = 0; n <= 9; n++) {
        SCOPED(planner) *planner;
        struct nt_order order;
        unsigned met[9][9] = {{0}}, rounds = 0;
        const struct nt_sweep_setup setup = {n, NULL, 2, 3, 5, 0};
        must(nt_sweep_sequential_create(&setup, &planner, &err));
        while (planner->ops->next(planner, &order, &err) == 1) {
            assert_int_equal(order.pairs, 1);
            assert_int_equal(order.batches, 3);
            if (rounds >= 4)
                assert_true(order.pair[0][0] != 2 && order.pair[0][1] != 2);
            met[order.pair[0][0]][order.pair[0][1]]++;
            if (++rounds == 4)
                planner->ops->lose(planner, 2);
        }
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++)
                if (a != 2 && b != 2)
                    assert_int_equal(met[a][b], 2);
    }
}

/* Four switches of four hosts, which are not listed by switch. */
static bool are_near(uint32_t a, uint32_t b)
{
    return a % 4 == b % 4;
}

/* Once latencies are known, near pairs are measured in rounds of their own: three of fifteen. */
TEST(pairs_that_take_long_come_together)
{
    SCOPED(planner) *planner = NULL;
    struct nt_order order;
    struct nt_result answer[8];
    size_t round = 0, near_rounds[3] = {0}, far_rounds[3] = {0};
    const struct nt_sweep_setup setup = {16, NULL, 3, 1, 1, 0};
    assert_int_equal(nt_sweep_all_create(&setup, &planner, NULL), 0);
    for (; planner->ops->next(planner, &order, NULL) == 1; round++) {
        size_t near = 0;
        for (size_t k = 0; k < order.pairs; k++) {
            uint32_t a = order.pair[k][0], b = order.pair[k][1];
            near += are_near(a, b);
            answer[k] = (struct nt_result){.a = a,
                                           .b = b,
                                           .ok = true,
                                           .value_us = (are_near(a, b) ? 1 : 3) + 0.01 * (double)k};
        }
        near_rounds[round / 15] += near == order.pairs;
        far_rounds[round / 15] += near == 0;
        assert_int_equal(planner->ops->tell(planner, answer, order.pairs, NULL), 0);
    }
    for (size_t pass = 1; pass < 3; pass++) {
        assert_int_equal(near_rounds[pass], 3);
        assert_int_equal(far_rounds[pass], 12);
    }
}

/* The share of the pairs of a round that were together in one round of an earlier pass. */
static double share_again(size_t when[3][16][16], size_t pass, const struct nt_order *order)
{
    size_t common[2][45] = {{0}}, most = 0;
    for (size_t k = 0; k < order->pairs; k++)
        for (size_t p = 0; p < pass; p++) {
            size_t n = ++common[p][when[p][order->pair[k][0]][order->pair[k][1]]];
            most = n > most ? n : most;
        }
    return (double)most / (double)order->pairs;
}

/* A round of near pairs has at most three quarters of them from one round of an earlier pass: with
 * all of them, a disturbance of both rounds would look like switches below these pairs. */
TEST(near_pairs_do_not_come_together_again)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        SCOPED(planner) *planner = NULL;
        struct nt_order order;
        struct nt_result answer[8];
        struct nt_rng rng;
        size_t round = 0, when[3][16][16] = {{{0}}};
        const struct nt_sweep_setup setup = {16, NULL, 3, 1, 1, 0};
        nt_rng_init(&rng, seed);
        must(nt_sweep_all_create(&setup, &planner, &err));
        for (; planner->ops->next(planner, &order, &err) == 1; round++) {
            size_t near = 0;
            for (size_t k = 0; k < order.pairs; k++) {
                uint32_t a = order.pair[k][0], b = order.pair[k][1];
                double us = (are_near(a, b) ? 1 : 2) * (1 + 0.01 * nt_rng_normal(&rng));
                when[round / 15][a][b] = round;
                near += are_near(a, b);
                answer[k] = (struct nt_result){.a = a, .b = b, .ok = true, .value_us = us};
            }
            if (near == order.pairs)
                assert_at_most(share_again(when, round / 15, &order), 0.75);
            must(planner->ops->tell(planner, answer, order.pairs, &err));
        }
    }
}

/* As many rounds as are said to be ahead, which come one after another. */
static void take_ahead(struct nt_planner *planner, size_t ahead)
{
    struct nt_order order;
    for (; ahead > 0; ahead--) {
        assert_int_equal(planner->ops->ahead(planner), ahead);
        assert_int_equal(planner->ops->next(planner, &order, NULL), 1);
        assert_above(order.pairs, 0);
    }
    assert_int_equal(planner->ops->ahead(planner), 0);
}

/* What is said to be ahead comes, whoever is lost later; one after another nothing may be. The
 * second pass waits for the results of the first. */
TEST(rounds_ahead_are_there)
{
    for (size_t n = 2; n <= 9; n++)
        for (uint32_t lost = 0; lost <= n; lost++) {
            struct nt_planner *planner = NULL;
            const struct nt_sweep_setup setup = {n, NULL, 3, 1, 1, 0};
            assert_int_equal(nt_sweep_all_create(&setup, &planner, NULL), 0);
            for (uint32_t h = 0; h < lost; h++) {
                planner->ops->lose(planner, h);
                planner->ops->lose(planner, h);
            }
            size_t ahead = planner->ops->ahead(planner), rounds = nt_sweep_all_rounds(n);
            assert_holds(lost > 0 ? lost < n / 2 || ahead == 0 : ahead == rounds,
                         "%u of %zu hosts lost, %zu of %zu rounds ahead", lost, n, ahead, rounds);
            assert_holds(lost != 1 || n < 4 || ahead > 0, "%u of %zu hosts lost, %zu rounds ahead",
                         lost, n, ahead);
            take_ahead(planner, ahead);
            assert_int_equal(planner->ops->tell(planner, NULL, 0, NULL), 0);
            if (ahead > 0)
                take_ahead(planner, 2 * rounds);
            nt_planner_destroy(planner);
            assert_int_equal(nt_sweep_sequential_create(&setup, &planner, NULL), 0);
            assert_int_equal(planner->ops->ahead(planner), 0);
            nt_planner_destroy(planner);
        }
}

TEST(too_many_hosts_are_refused)
{
    struct nt_planner *planner = NULL;
    const struct nt_sweep_setup setup = {SIZE_MAX, NULL, 1, 1, 1, 0};
    assert_int_equal(nt_sweep_all_create(&setup, &planner, &err), -1);
    assert_null(planner);
    assert_non_null(strstr(err.text, "at most"));
}

RUN_TESTS
