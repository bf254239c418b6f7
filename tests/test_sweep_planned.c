/* SPDX-License-Identifier: Apache-2.0 */
/* What is ordered of a plan: its rounds, pass by pass, without hosts that are not there. */
#include <math.h>

#include "asserts.h"
#include "bandwidth.h"
#include "sweep_planned.h"

enum { HOSTS = 6, FLOW_MBPS = 1000 };

/* Two rounds: 0-1 2-3, then 1-2 4-5. */
static struct nt_plan *two_rounds(void)
{
    static const uint32_t pair[4][2] = {{0, 1}, {2, 3}, {1, 2}, {4, 5}}, round[4] = {0, 0, 1, 1};
    struct nt_plan *plan;
    assert_int_equal(nt_plan_create(4, &plan, NULL), 0);
    memcpy(plan->pair, pair, sizeof pair);
    memcpy(plan->round, round, sizeof round);
    plan->rounds = 2;
    return plan;
}

static struct nt_planner *start(const struct nt_plan *plan, const bool *missing, unsigned passes,
                                double flow_s)
{
    const struct nt_sweep_setup setup = {
        .hosts = HOSTS, .missing = missing, .passes = passes, .batches = 3, .count = 5};
    struct nt_planner *planner;
    assert_int_equal(nt_sweep_planned_create(&setup, plan, flow_s, &planner, NULL), 0);
    return planner;
}

static int next(struct nt_planner *planner, struct nt_order *order)
{
    return planner->ops->next(planner, order, NULL);
}

static void tell(struct nt_planner *planner, const struct nt_order *order, bool ok)
{
    struct nt_result results[HOSTS];
    for (size_t k = 0; k < order->pairs; k++)
        results[k] = (struct nt_result){.a = order->pair[k][0],
                                        .b = order->pair[k][1],
                                        .ok = ok,
                                        .count = 3,
                                        .value_us = 1,
                                        .bytes = FLOW_MBPS};
    assert_int_equal(planner->ops->tell(planner, results, order->pairs, NULL), 0);
}

TEST(the_rounds_of_a_plan_come_in_turn_pass_by_pass)
{
    SCOPED(plan) *plan = two_rounds();
    SCOPED(planner) *planner = start(plan, NULL, 3, 0);
    struct nt_order order;
    for (size_t pass = 0; pass < 3; pass++)
        for (size_t round = 0; round < 2; round++) {
            assert_int_equal(nt_sweep_planned_repeats(planner), pass > 0);
            assert_int_equal(nt_sweep_planned_unread(planner), pass > 0 ? 0 : 4 - 2 * round);
            assert_int_equal(next(planner, &order), 1);
            assert_int_equal(order.kind, NT_ORDER_LATENCY);
            assert_string_equal(order.phase, "plan");
            assert_true(order.message_bytes == NT_PING_BYTES);
            assert_int_equal(order.pairs, 2);
            assert_memory_equal(order.pair, plan->pair + 2 * round, 2 * sizeof *order.pair);
            tell(planner, &order, true);
        }
    assert_int_equal(next(planner, &order), 0);
}

/* The first pass connects, the second shows the rate, from which later ones have their messages. */
TEST(flows_of_a_plan_follow_a_warm_up)
{
    SCOPED(plan) *plan = two_rounds();
    SCOPED(planner) *planner = start(plan, NULL, 2, 0.1);
    struct nt_order order;
    for (size_t pass = 0; pass < 4; pass++)
        for (size_t round = 0; round < 2; round++) {
            assert_int_equal(nt_sweep_planned_repeats(planner), pass > 2);
            assert_int_equal(nt_sweep_planned_unread(planner), pass > 2   ? 0
                                                               : pass < 2 ? 4
                                                                          : 4 - 2 * round);
            assert_int_equal(next(planner, &order), 1);
            assert_string_equal(order.phase, pass < 2 ? "warm-up" : "plan");
            assert_int_equal(order.kind, pass == 0 ? NT_ORDER_LATENCY : NT_ORDER_BANDWIDTH);
            assert_true(order.window_s == (pass == 0 ? 0 : 0.1));
            if (pass > 0)
                assert_true(order.message_bytes ==
                            nt_flow_message_bytes(pass > 1 || round > 0 ? FLOW_MBPS : NAN, 0.1));
            assert_int_equal(order.pairs, 2);
            assert_memory_equal(order.pair, plan->pair + 2 * round, 2 * sizeof *order.pair);
            tell(planner, &order, true);
        }
    assert_int_equal(next(planner, &order), 0);
}

TEST(who_is_not_there_is_left_out_and_a_pair_without_a_figure_is_left)
{
    const bool missing[HOSTS] = {[4] = true};
    SCOPED(plan) *plan = two_rounds();
    SCOPED(planner) *planner = start(plan, missing, 2, 0);
    struct nt_order order;
    assert_int_equal(next(planner, &order), 1);
    tell(planner, &order, false);
    assert_int_equal(next(planner, &order), 1);
    assert_int_equal(order.pairs, 1); /* 4 is missing */
    tell(planner, &order, true);
    assert_int_equal(nt_sweep_planned_unread(planner), 3);
    planner->ops->lose(planner, 1); /* its pairs were both rounds' */
    assert_int_equal(next(planner, &order), 1);
    assert_int_equal(order.pairs, 1);
    assert_int_equal(order.pair[0][0], 2);
    tell(planner, &order, true);
    assert_int_equal(nt_sweep_planned_unread(planner), 2);
    planner->ops->lose(planner, 2);
    assert_int_equal(next(planner, &order), 0); /* nobody is left: it ends */
}

RUN_TESTS
