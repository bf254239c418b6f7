/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels are ordered, among which hosts, with messages of which size. */
#include "asserts.h"
#include "stress.h"

struct asked {
    struct nt_planner *planner;
    size_t rounds;
    double window_s;
};

static struct asked ask(size_t hosts, const bool *absent, double rate_MBps, double seconds)
{
    struct asked a;
    const struct nt_sweep_setup setup = {.hosts = hosts, .missing = absent};
    const struct nt_stress_settings settings = {.rate_MBps = rate_MBps, .seconds = seconds};
    must(nt_stress_create(&setup, &settings, &a.planner, &err));
    nt_stress_need(a.planner, &a.rounds, &a.window_s);
    return a;
}

static double bytes_of(size_t hosts, double rate_MBps, double seconds)
{
    struct nt_order order = {0};
    struct asked a = ask(hosts, NULL, rate_MBps, seconds);
    assert_int_equal(a.planner->ops->next(a.planner, &order, NULL), 1);
    nt_planner_destroy(a.planner);
    return order.message_bytes;
}

TEST(six_kernels_among_all_who_are_there)
{
    static const char *const kernels[] = {"a2a", "o2a", "a2o", "sr:4", "sr:32", "gups"};
    const bool absent[5] = {false, false, true, false, false};
    struct asked a = ask(5, absent, 100, 100);
    struct nt_order order;
    double windows = 0;
    assert_int_equal(a.rounds, 6);
    for (size_t k = 0; k < 6; k++) {
        assert_int_equal(a.planner->ops->next(a.planner, &order, NULL), 1);
        assert_int_equal(order.kind, NT_ORDER_KERNEL);
        assert_string_equal(order.kernel, kernels[k]);
        assert_int_equal(order.pairs, k < 3 ? 4 : 3);
        for (size_t p = 0; p < order.pairs; p++)
            assert_true(order.pair[p][0] == order.pair[p][1] && order.pair[p][0] != 2);
        windows += k < 3 ? order.window_s : 0;
        if (k == 2)
            a.planner->ops->lose(a.planner, 4);
    }
    assert_int_equal(a.planner->ops->next(a.planner, &order, NULL), 0);
    assert_above(windows, 0);
    nt_planner_destroy(a.planner);
}

TEST(many_hosts_are_spread)
{
    struct nt_order order = {0};
    struct asked many = ask(1000, NULL, 100, 100), one = ask(1, NULL, 100, 100);
    assert_int_equal(many.planner->ops->next(many.planner, &order, NULL), 1);
    assert_int_equal(order.pairs, 64);
    for (size_t k = 1; k < 64; k++)
        assert_true(order.pair[k][0] > order.pair[k - 1][0] + 14 &&
                    order.pair[k][0] < order.pair[k - 1][0] + 17);
    assert_int_equal(one.rounds, 0);
    assert_int_equal(one.planner->ops->next(one.planner, &order, NULL), 0);
    nt_planner_destroy(many.planner);
    nt_planner_destroy(one.planner);
}

TEST(messages_take_a_moment_of_a_link)
{
    assert_true(bytes_of(4, 25, 100) == 65536);
    assert_true(bytes_of(4, 12500, 100) == 1 << 20); /* never larger */
    assert_true(bytes_of(4, 0.01, 100) == 1024);
    assert_true(bytes_of(4, NAN, 100) == 16384);
}

/* All together, on a network where they congest, within the time. */
TEST(short_times_get_small_messages)
{
    for (size_t hosts = 2; hosts <= 64; hosts *= 2)
        for (double seconds = 0.05; seconds < 50; seconds *= 2) {
            struct asked a = ask(hosts, NULL, 25, seconds);
            double bytes = bytes_of(hosts, 25, seconds);
            assert_holds((double)a.rounds * a.window_s <= seconds || bytes == 1024,
                         "%zu rounds of %g s in %g s, %g bytes", a.rounds, a.window_s, seconds,
                         bytes);
            assert_holds(bytes == 65536 || 2.2 * (double)a.rounds * a.window_s > seconds,
                         "%zu rounds of %g s in %g s, %g bytes", a.rounds, a.window_s, seconds,
                         bytes);
            nt_planner_destroy(a.planner);
        }
}

TEST(kernels_may_be_chosen)
{
    static const struct {
        const char *spec, *kernel;
        size_t hosts;
        double bytes;
        uint32_t count;
        double
            window_s; /* 7 repetitions: 3 times the messages of the busiest link, and computing */
    } table[] = {
        {"o2a,bytes=4096", "o2a", 12, 4096, 48, 7 * 3 * 12 * 4096 / 1e8},
        {"sr:16,messages=160,compute=500,bytes=1000", "sr:16,compute=500", 12, 1000, 160,
         7 * (3 * 160.0 / 12 * 1e-5 + 10 * 500e-6)},
        {"gups,tasks=5,bytes=1000", "gups", 5, 1000, 20, 7 * 3 * 4 * 1e-5},
        {"gups,tasks=60,bytes=1000", "gups", 12, 1000, 48, 7 * 3 * 4 * 1e-5},
        {"transpose,bytes=1000", "transpose", 4, 1000, 16, 7 * 3 * 4 * 1e-5},
        {"reverse,bytes=1000", "reverse", 8, 1000, 32, 7 * 3 * 4 * 1e-5},
        {"hot:50,messages=96,bytes=1000", "hot:50", 12, 1000, 96, 7 * 3 * (48 + 4) * 1e-5},
        {"region:50,messages=96,bytes=1000", "region:50", 12, 1000, 96, 7 * 3 * (24 + 4) * 1e-5},
    };
    enum { KERNELS = sizeof table / sizeof *table };
    struct nt_workload kernel[NT_STRESS_CHOSEN_MAX] = {{0}};
    const bool absent[13] = {[4] = true};
    const struct nt_sweep_setup setup = {.hosts = 13, .missing = absent};
    struct nt_stress_settings settings = {
        .kernel = kernel, .chosen = KERNELS, .rate_MBps = 100, .seconds = 100};
    struct nt_planner *planner;
    struct nt_order order;
    for (size_t k = 0; k < KERNELS; k++)
        assert_int_equal(nt_workload_parse(table[k].spec, &kernel[k], NULL), 0);
    assert_int_equal(nt_stress_create(&setup, &settings, &planner, NULL), 0);
    for (size_t k = 0; k < KERNELS; k++) {
        assert_int_equal(planner->ops->next(planner, &order, NULL), 1);
        assert_string_equal(order.kernel, table[k].kernel);
        assert_int_equal(order.pairs, table[k].hosts);
        assert_true(order.message_bytes == table[k].bytes);
        assert_int_equal(order.count, table[k].count);
        assert_close(order.window_s, table[k].window_s, 1e-9);
        for (size_t p = 0; p < order.pairs; p++)
            assert_true(order.pair[p][0] != 4 &&
                        (p == 0 || order.pair[p][0] > order.pair[p - 1][0]));
    }
    assert_int_equal(planner->ops->next(planner, &order, NULL), 0);
    nt_planner_destroy(planner);
    settings.chosen = NT_STRESS_CHOSEN_MAX + 1;
    assert_int_equal(nt_stress_create(&setup, &settings, &planner, NULL), -1);
}

RUN_TESTS
