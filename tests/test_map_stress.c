/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "map.h"
#include "map_record.h"
#include "reversed_record.h"

enum { HOSTS = 4 };

static const double MB = 1e6, LATENCY_US = 10, HOST_MBPS = 100;

/* Two leaves of two hosts and the link between them; what is sent over a host's link takes 10 ms a
 * MB, and LATENCY_US a link. */
static struct nt_map *two_leaves(double up_MBps)
{
    static const uint32_t ends[5][2] = {{0, 4}, {1, 4}, {2, 5}, {3, 5}, {4, 5}};
    static const char *const names[HOSTS] = {"n1", "n2", "n3", "n4"};
    struct nt_model *m;
    struct nt_map *map;
    struct nt_err err = {0};
    assert_int_equal(nt_model_create(HOSTS, 2, 5, &m, &err), 0);
    for (size_t k = 0; k < 5; k++) {
        struct nt_link *l = &m->link[k];
        l->a = ends[k][0];
        l->b = ends[k][1];
        l->latency_us = LATENCY_US;
        l->bandwidth_MBps = l->bandwidth_back_MBps = k < 4 ? HOST_MBPS : up_MBps;
    }
    m->tier[0] = m->tier[1] = 1;
    assert_int_equal(nt_map_create(m, names, &map, &err), 0);
    return map;
}

static void add_kernel(struct nt_samples *s, const char *kernel, double time_us, double spread,
                       size_t n, const uint32_t *host)
{
    struct nt_err err = {0};
    struct nt_sample x = {.a = (uint32_t)n,
                          .b = 16,
                          .count = 7,
                          .bytes = MB,
                          .value_us = time_us,
                          .kernel = {time_us * (1 - spread), time_us * (1 + spread)}};
    assert_int_equal(nt_samples_begin_round(s, &err), 0);
    assert_int_equal(nt_samples_add_kernel(s, x, kernel, host, &err), 0);
}

/* One kernel among hosts of a record that has them the other way round: n1 is its last. */
static struct nt_samples *record(const char *kernel, double time_us, double spread, size_t n,
                                 const uint32_t *host)
{
    struct nt_samples *s = reversed_record(HOSTS);
    struct nt_err err = {0};
    assert_int_equal(nt_samples_begin_phase(s, "kernels", &err), 0);
    add_kernel(s, kernel, time_us, spread, n, host);
    return s;
}

static const uint32_t IN_ORDER[] = {3, 2, 1, 0};

static struct nt_stress judge(const char *kernel, double time_us, double spread, double up_MBps)
{
    struct nt_err err = {0};
    struct nt_map *map = two_leaves(up_MBps);
    struct nt_samples *s = record(kernel, time_us, spread, HOSTS, IN_ORDER);
    assert_int_equal(nt_map_stress(s, map, &err), 0);
    assert_int_equal(map->stresses, 1);
    struct nt_stress stress = map->stress[0];
    nt_samples_destroy(s);
    nt_map_destroy(map);
    return stress;
}

static void assert_near(double value, double expected, double share)
{
    if (!(fabs(value - expected) <= share * expected))
        fail_msg("expected %g, found %g", expected, value);
}

static void the_time_alone_is_that_of_the_own_links(void **state)
{
    (void)state;
    /* three messages of 10 ms leave n1 one after the other; the last goes over three links */
    assert_near(judge("a2a", 30000, 0, 100).alone_us, 30030, 1e-6);
    assert_near(judge("o2a", 30000, 0, 100).alone_us, 30030, 1e-6);
    assert_near(judge("a2o", 30000, 0, 100).alone_us, 10030, 1e-6);
    /* a link of half the rate between the leaves makes the last arrive later */
    assert_near(judge("o2a", 30000, 0, 50).alone_us, 40030, 1e-6);
}

/* n1's messages leave over two rails at a time, each at the rate of one. */
static void connections_on_different_rails_do_not_queue(void **state)
{
    static const char *const used[][2] = {{"tcp/fab0", "tcp/fab1"},
                                          {"tcp/fab0", "tcp/fab0"},
                                          {"tcp/fab0,tcp/fab1", "tcp/fab0,tcp/fab1"}};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct nt_err err = {0};
        struct nt_map *map = two_leaves(100);
        struct nt_samples *s = record("o2a", 30000, 0, HOSTS, IN_ORDER);
        for (int t = 0; t < 2; t++)
            assert_int_equal(nt_samples_add_transport(s, used[k][t], 2, &err), 0);
        assert_int_equal(nt_map_stress(s, map, &err), 0);
        /* sent at 0, 5 and 10 ms, where one rail sends at 0, 10 and 20 */
        assert_near(map->stress[0].alone_us, k == 0 ? 20030 : 30030, 1e-6);
        nt_samples_destroy(s);
        nt_map_destroy(map);
    }
}

static void what_congests_is_named_with_its_tier(void **state)
{
    (void)state;
    /* four messages over the link between the leaves: 80 ms in each direction */
    struct nt_stress s = judge("a2a", 82000, 0.05, 50);
    assert_true(s.congested);
    assert_int_equal(s.tier, 1);
    assert_true((s.from == 4 && s.to == 5) || (s.from == 5 && s.to == 4));
    assert_int_equal(s.links, 2);
    assert_near(s.busy_us, 80000, 1e-6);
    assert_near(s.capacity_MBps, 50, 1e-6);
    assert_near(s.shared_us, 80000, 0.15);
    assert_int_equal(s.messages, 12);
    /* three hosts send to n1 */
    s = judge("a2o", 31000, 0.05, 100);
    assert_true(s.congested);
    assert_int_equal(s.tier, 0);
    assert_int_equal(s.from, 4);
    assert_int_equal(s.to, 0);
    assert_int_equal(s.links, 1);
    assert_near(s.busy_us, 30000, 1e-6);
}

static void nothing_is_named_that_the_map_does_not_explain(void **state)
{
    (void)state;
    assert_false(judge("a2a", 31000, 0.05, 1000).congested); /* as fast as alone */
    assert_false(judge("o2a", 90000, 0.05, 100).congested);  /* no link is shared */
    assert_false(judge("a2a", 400000, 0.05, 50).congested);  /* something else takes longer */
    assert_false(judge("a2a", 82000, 0.9, 50).congested);    /* the interval holds alone, too */
}

/* A lower bound is no capacity. */
static void a_link_that_was_never_the_bottleneck_congests_nothing(void **state)
{
    struct nt_err err = {0};
    struct nt_map *map = two_leaves(50);
    struct nt_samples *s = record("a2a", 82000, 0.05, HOSTS, IN_ORDER);
    (void)state;
    map->model->link[4].at_least = true;
    assert_int_equal(nt_map_stress(s, map, &err), 0);
    assert_false(map->stress[0].congested);
    assert_near(map->stress[0].alone_us, 30030, 1e-6);
    nt_samples_destroy(s);
    nt_map_destroy(map);
}

static void figures_that_are_not_known_give_no_prediction(void **state)
{
    struct nt_err err = {0};
    struct nt_map *map = two_leaves(50);
    struct nt_samples *s = record("a2a", 82000, 0.05, HOSTS, IN_ORDER);
    (void)state;
    for (size_t k = 0; k < 5; k++)
        map->model->link[k].bandwidth_MBps = map->model->link[k].bandwidth_back_MBps = NAN;
    assert_int_equal(nt_map_stress(s, map, &err), 0);
    assert_int_equal(map->stresses, 1);
    assert_above(map->stress[0].time_us, 0);
    assert_true(isnan(map->stress[0].alone_us) && isnan(map->stress[0].shared_us) &&
                !map->stress[0].congested);
    nt_samples_destroy(s);
    nt_map_destroy(map);
}

/* n4 and n3 alone: nothing crosses. */
static void those_who_took_part_are_those_of_the_record(void **state)
{
    static const uint32_t few[] = {1, 0};
    struct nt_err err = {0};
    struct nt_map *map = two_leaves(1);
    struct nt_samples *s = record("a2a", 82000, 0.05, 2, few);
    (void)state;
    assert_int_equal(nt_map_stress(s, map, &err), 0);
    assert_int_equal(map->stress[0].hosts, 2);
    assert_near(map->stress[0].alone_us, 10020, 1e-6);
    nt_samples_destroy(s);
    nt_map_destroy(map);
}

static void kernels_among_others_do_not_disturb_each_other(void **state)
{
    static const uint32_t across[] = {3, 1}, turned[] = {1, 3};
    struct nt_err err = {0};
    struct nt_map *map = two_leaves(50);
    struct nt_samples *s = record("a2a", 82000, 0.05, HOSTS, IN_ORDER);
    (void)state;
    add_kernel(s, "o2a", 82000, 0.05, 2, across);
    add_kernel(s, "o2a", 82000, 0.05, 2, turned);
    add_kernel(s, "a2a", 82000, 0.05, HOSTS, IN_ORDER);
    map->model->link[4].bandwidth_back_MBps = 40;
    assert_int_equal(nt_map_stress(s, map, &err), 0);
    assert_int_equal(map->stresses, 4);
    assert_near(map->stress[1].alone_us, 20030, 1e-6);
    assert_near(map->stress[2].alone_us, 25030, 1e-6);
    for (size_t k = 0; k < 4; k += 3) {
        assert_true(map->stress[k].congested);
        assert_true(map->stress[k].from == 5 && map->stress[k].to == 4);
    }
    assert_near(map->stress[3].alone_us, map->stress[0].alone_us, 1e-12);
    assert_near(map->stress[3].shared_us, map->stress[0].shared_us, 1e-12);
    nt_samples_destroy(s);
    nt_map_destroy(map);
}

/* Random messages: every wave waits for the one before. */
static void waves_add_up(void **state)
{
    (void)state;
    struct nt_stress one = judge("gups", 1e5, 0, 100), four = judge("sr:4", 1e5, 0, 100),
                     all = judge("sr:32", 1e5, 0, 100);
    assert_int_equal(one.waves, 1);
    assert_int_equal(four.waves, 4);
    assert_int_equal(all.waves, 1);
    assert_near(all.alone_us, one.alone_us, 1e-9);
    assert_above(four.alone_us, one.alone_us);
    assert_true(one.messages <= 16 && one.messages == four.messages);
    assert_at_least(four.shared_us, four.alone_us);
    assert_at_least(one.shared_us, one.alone_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_alone_is_that_of_the_own_links),
        cmocka_unit_test(connections_on_different_rails_do_not_queue),
        cmocka_unit_test(what_congests_is_named_with_its_tier),
        cmocka_unit_test(nothing_is_named_that_the_map_does_not_explain),
        cmocka_unit_test(a_link_that_was_never_the_bottleneck_congests_nothing),
        cmocka_unit_test(figures_that_are_not_known_give_no_prediction),
        cmocka_unit_test(those_who_took_part_are_those_of_the_record),
        cmocka_unit_test(kernels_among_others_do_not_disturb_each_other),
        cmocka_unit_test(waves_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
