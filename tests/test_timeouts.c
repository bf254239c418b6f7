/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "timeouts.h"

TEST(timeouts_leave_time_for_solving)
{
    static const double budgets[] = {0.2, 0.5, 1, 5, 20};
    for (size_t k = 0; k < 5; k++) {
        struct nt_timeouts timeouts;
        struct nt_order order = {.kind = NT_ORDER_LATENCY, .batches = 3, .count = 5};
        double deadline = 100 + budgets[k];
        nt_timeouts_init(&timeouts, 100, deadline);
        assert_at_least(deadline - timeouts.stop_s, 0.1 - 1e-9);
        assert_at_least(deadline - timeouts.stop_s, fmin(0.15 * budgets[k], 1.25) - 1e-9);
        for (double now = 100; now < timeouts.stop_s; now += 0.01) {
            struct nt_go go = {0};
            assert_at_most(now + nt_timeouts_connect_s(&timeouts, &order, now),
                           timeouts.stop_s + 0.011);
            nt_timeouts_measure(&timeouts, &order, 1, now, &go);
            assert_at_most(now + go.give_up_s, timeouts.stop_s + 0.011);
            assert_at_most(go.measure_s, go.give_up_s);
            nt_timeouts_update(&timeouts, 0.001, 0.002);
        }
    }
}

TEST(files_have_a_quarter_of_the_time_and_no_more_than_5_s)
{
    struct nt_timeouts timeouts;
    nt_timeouts_init(&timeouts, 100, 104);
    assert_at_most(nt_timeouts_file_s(&timeouts), 1);
    assert_above(nt_timeouts_file_s(&timeouts), 0.5);
    nt_timeouts_init(&timeouts, 100, 3700);
    assert_true(nt_timeouts_file_s(&timeouts) == 5);
}

/* Pairs connect in a millisecond; a kernel waits for its slowest host. */
TEST(a_kernel_gets_time_for_its_slowest_host)
{
    struct nt_timeouts timeouts;
    struct nt_go go = {0};
    struct nt_order kernel = {.kind = NT_ORDER_KERNEL, .pairs = 4, .window_s = 0.2},
                    latency = {.kind = NT_ORDER_LATENCY, .batches = 3, .count = 5};
    nt_timeouts_init(&timeouts, 0, 100);
    for (int k = 0; k < 50; k++)
        nt_timeouts_update(&timeouts, 0.001, 0.002);
    assert_below(nt_timeouts_connect_s(&timeouts, &latency, 1), 0.2);
    assert_at_least(nt_timeouts_connect_s(&timeouts, &kernel, 1), 0.5);
    nt_timeouts_measure(&timeouts, &kernel, 0.001, 1, &go);
    assert_at_least(go.give_up_s, 0.2 + 0.75);
    assert_at_most(nt_timeouts_connect_s(&timeouts, &kernel, timeouts.stop_s - 0.1), 0.1 + 1e-9);
}

/* Two messages of a flow get lost in a row, and what is left drains at a tenth of the rate. */
TEST(a_flow_gets_time_for_lost_messages)
{
    struct nt_timeouts timeouts;
    struct nt_go go = {0};
    const struct nt_order flow = {
        .kind = NT_ORDER_BANDWIDTH, .pairs = 2, .batches = 1, .count = 8, .window_s = 0.4};
    nt_timeouts_init(&timeouts, 0, 100);
    nt_timeouts_update(&timeouts, 0.001, 0.4);
    nt_timeouts_measure(&timeouts, &flow, 0.001, 1, &go);
    assert_at_least(go.give_up_s, 0.4 + 0.2 + 0.4 + 0.4);
    nt_timeouts_measure(&timeouts, &flow, 0.001, timeouts.stop_s - 0.3, &go);
    assert_at_most(go.give_up_s, 0.3 + 1e-9);
}

/* A host that is online and late is not lost for it, as long as there is time. */
TEST(a_suspect_gets_more_time)
{
    struct nt_timeouts timeouts, patient;
    struct nt_order order = {.kind = NT_ORDER_LATENCY, .batches = 1, .count = 4};
    struct nt_go go = {0};
    nt_timeouts_init(&timeouts, 100, 105);
    nt_timeouts_update(&timeouts, 0.001, 0.002);
    patient = nt_timeouts_extended(&timeouts, 0.3);
    assert_below(nt_timeouts_connect_s(&timeouts, &order, 101), 0.2);
    assert_at_least(nt_timeouts_connect_s(&patient, &order, 101), 0.8);
    nt_timeouts_measure(&patient, &order, 1e-3, 101, &go);
    assert_at_least(go.measure_s, 0.8);
    nt_timeouts_measure(&patient, &order, 1e-3, patient.stop_s - 0.1, &go);
    assert_at_most(go.give_up_s, 0.11);
    assert_at_least(nt_timeouts_slack_s(&timeouts, 100), 0.5);
    /* a lost SYN comes again after a second */
    nt_timeouts_init(&timeouts, 0, 15);
    nt_timeouts_update(&timeouts, 0.001, 0.002);
    patient = nt_timeouts_patient(&timeouts, 0, 1);
    assert_at_least(nt_timeouts_connect_s(&patient, &order, 1), 1.2);
    patient = nt_timeouts_patient(&timeouts, 0, timeouts.stop_s - 1);
    assert_at_most(nt_timeouts_connect_s(&patient, &order, timeouts.stop_s - 1), 0.51);
    assert_at_most(nt_timeouts_slack_s(&timeouts, timeouts.stop_s), 0.25);
}

/* The series ends long before all its turns could have used their limits one after another. */
TEST(a_series_ends_soon_when_a_host_is_lost)
{
    const struct nt_order order = {.kind = NT_ORDER_LATENCY, .batches = 3, .count = 5};
    struct nt_timeouts timeouts;
    struct nt_round round = {0};
    nt_timeouts_init(&timeouts, 0, 10);
    nt_timeouts_update(&timeouts, 0.01, 0.02);
    nt_timeouts_series(&timeouts, &order, 16, 1, &round);
    assert_at_least(round.series_s, 16 * (0.01 + 0.02));
    assert_at_most(round.series_s, 1.5);
    assert_above(round.connect_s, 0);
    assert_above(round.measure_s, 0);
    assert_at_least(round.give_up_s, round.measure_s);
    nt_timeouts_series(&timeouts, &order, 1, 1, &round);
    assert_at_least(round.series_s, round.connect_s + round.give_up_s - 1e-9);
    nt_timeouts_series(&timeouts, &order, 16, timeouts.stop_s - 0.1, &round);
    assert_at_most(round.series_s, 0.1 + 1e-9);
}

/* What connections that were there already took says nothing of a new one. */
TEST(kept_connections_shorten_no_timeout)
{
    const struct nt_order order = {.kind = NT_ORDER_LATENCY};
    struct nt_timeouts timeouts;
    nt_timeouts_init(&timeouts, 0, 100);
    nt_timeouts_update(&timeouts, 0.1, 0.002);
    double before = nt_timeouts_connect_s(&timeouts, &order, 1);
    for (int k = 0; k < 50; k++)
        nt_timeouts_update(&timeouts, 0, 0.002);
    assert_int_equal(timeouts.rounds, 51);
    assert_at_least(nt_timeouts_connect_s(&timeouts, &order, 1), before);
}

TEST(a_failed_round_changes_no_timeout)
{
    struct nt_timeouts timeouts;
    nt_timeouts_init(&timeouts, 0, 10);
    nt_timeouts_update(&timeouts, 0, 0);
    assert_int_equal(timeouts.rounds, 0);
    nt_timeouts_update(&timeouts, 0.01, 0.02);
    assert_int_equal(timeouts.rounds, 1);
    assert_below(timeouts.connect_s, 0.1);
    assert_below(timeouts.measure_s, 0.1);
}

RUN_TESTS
