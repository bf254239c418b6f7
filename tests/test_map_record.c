/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "known_loggp.h"
#include "loggp.h"
#include "loggp_time.h"
#include "map.h"
#include "map_record.h"
#include "reversed_record.h"

/* ---- loggp ---- */

enum { HOSTS = 4 };

/* Two leaves of two hosts. */
static struct nt_map *two_leaves(void)
{
    static const uint32_t ends[5][2] = {{0, 4}, {1, 4}, {2, 5}, {3, 5}, {4, 5}};
    static const char *const names[HOSTS] = {"n1", "n2", "n3", "n4"};
    struct nt_model *m;
    struct nt_map *map;
    must(nt_model_create(HOSTS, 2, 5, &m, &err));
    for (size_t k = 0; k < 5; k++) {
        m->link[k].a = ends[k][0];
        m->link[k].b = ends[k][1];
    }
    must(nt_map_create(m, names, &map, &err));
    return map;
}

static void add(struct nt_samples *s, uint32_t a, uint32_t b, const char *rail, struct nt_prtt m)
{
    struct nt_sample x = {.kind = NT_SAMPLE_PRTT,
                          .a = a,
                          .b = b,
                          .count = m.count,
                          .bytes = m.bytes,
                          .value_us = m.time_us,
                          .prtt = {m.se_us, m.delay_us, m.hold_us}};
    must(nt_samples_begin_round(s, &err));
    must(nt_samples_add(s, x, rail, &err));
}

static void measure(struct nt_samples *s, uint32_t a, uint32_t b, const char *rail, double slower,
                    bool check)
{
    struct known_loggp k = known_tcp(0, 0, 1);
    for (size_t r = 0; r < k.regimes; r++)
        k.regime[r].L *= slower;
    must(nt_samples_begin_phase(s, check ? NT_LOGGP_CHECK_PHASE : NT_LOGGP_PHASE, &err));
    for (double bytes = check ? 9 : 1; bytes <= 4194304; bytes = floor(bytes * 1.7 + 1)) {
        add(s, a, b, rail, known_message(&k, bytes, 1, 0, 0));
        if (!check)
            add(s, a, b, rail, known_message(&k, bytes, 16, 0, 0));
    }
    must(nt_samples_end_phase(s, 1, &err));
}

TEST(classes_and_rails_become_entries)
{
    SCOPED(map) *map = two_leaves();
    SCOPED(samples) *s = reversed_record(HOSTS);
    /* record numbers: 0 is n4, 1 is n3, 2 is n2, 3 is n1 */
    measure(s, 0, 3, "fab1", 2, false);
    measure(s, 0, 1, "fab1", 1.5, false);
    measure(s, 0, 1, "fab0", 1, false);
    measure(s, 2, 3, NULL, 1, false);
    measure(s, 0, 1, "fab0", 1, true);
    must(nt_map_loggp(s, map, &err));
    static const char *const expected[] = {"same switch fab0", "same switch fab1",
                                           "same switch all", "through 2 switches fab1"};
    size_t at = 0;
    for (size_t k = 0; k < map->loggps; k++) {
        const struct nt_loggp *g = &map->loggp[k];
        char name[160];
        snprintf(name, sizeof name, "%s %s", g->class_name, g->rail);
        if (strcmp(name, expected[at]) != 0)
            at++;
        assert_below(at, 4);
        assert_string_equal(name, expected[at]);
        assert_true(isnan(g->check_percent) == (at != 0));
        assert_true(!isnan(g->g_us));
        double slower = at == 1 ? 1.5 : at == 3 ? 2 : 1;
        struct known_loggp truth = known_tcp(0, 0, 1);
        double bytes = floor(sqrt(g->min_bytes * g->max_bytes));
        const struct known_regime *r = known_regime(&truth, bytes);
        double time = r->o_send + slower * r->L + r->o_recv + (bytes - 1) * r->G;
        assert_close(nt_loggp_time_us(g, 1, bytes) / time, 1, 0.01);
    }
    assert_int_equal(at, 3);
}

/* An overhead that is not shorter than the gap hides it; TCP of the source's table 3.5.3.1 has one,
 * its InfiniBand just so, its Myrinet not. */
TEST(a_hidden_gap_is_named)
{
    static const struct {
        struct known_regime regime;
        bool hidden;
    } table[] = {{{INFINITY, 6.1, 6.1, 65.4, 0.897, 0.00849, 0.00849}, true},
                 {{INFINITY, 1.4, 1.4, 2.82, 1.4, 0.00103, 0.00103}, true},
                 {{INFINITY, 1.9, 1.9, 24.3, 3.4, 0.00409, 0.00409}, false}};
    for (size_t k = 0; k < 3; k++) {
        SCOPED(map) *map = two_leaves();
        SCOPED(samples) *s = reversed_record(HOSTS);
        struct known_loggp net = {.regimes = 1, .regime = {table[k].regime}};
        must(nt_samples_begin_phase(s, NT_LOGGP_PHASE, &err));
        for (double bytes = 1; bytes <= 4194304; bytes = floor(bytes * 1.7 + 1)) {
            add(s, 0, 1, NULL, known_message(&net, bytes, 1, 0, 0));
            add(s, 0, 1, NULL, known_message(&net, bytes, 16, 0, 0));
        }
        add(s, 0, 1, NULL, known_message(&net, 1, 16, 50, 0));
        must(nt_samples_end_phase(s, 1, &err));
        must(nt_map_loggp(s, map, &err));
        assert_int_equal(map->warnings, table[k].hidden);
        assert_true(!table[k].hidden ||
                    strstr(map->warning[0], "LogGP: in 1 of 1 entries g is an upper bound") !=
                        NULL);
    }
}

/* Of the network's classes those that the sweep did not measure are what earlier jobs measured,
 * with day and support; what it measured itself, and classes that it has no path of, are not. */
TEST(what_was_not_measured_is_from_earlier_jobs)
{
    struct nt_map *map = two_leaves();
    struct nt_samples *s = reversed_record(HOSTS);
    static const char *const earlier[] = {"fab0 same switch", "fab1 same switch",
                                          "fab0 through 2 switches", "fab0 through 3 switches"};
    for (size_t k = 0; k < 4; k++) {
        struct nt_loggp g = {.min_bytes = 1,
                             .max_bytes = 4194304,
                             .L_us = 99,
                             .G_us_per_byte = 0.01,
                             .seen = "2026-11-03",
                             .support = 0.8};
        snprintf(g.rail, sizeof g.rail, "%.4s", earlier[k]);
        snprintf(g.class_name, sizeof g.class_name, "%s", earlier[k] + 5);
        must(nt_samples_add_loggp(s, &g, &err));
        g.seen[0] = '\0';
        assert_int_equal(nt_samples_add_loggp(s, &g, &err), -1); /* known since when? */
    }
    measure(s, 0, 1, "fab0", 1, false);
    must(nt_map_loggp(s, map, &err));
    size_t known = 0;
    for (size_t k = 0; k < map->loggps; k++) {
        const struct nt_loggp *g = &map->loggp[k];
        if (g->seen[0] == '\0') {
            assert_true(g->L_us != 99 && strcmp(g->rail, "fab0") == 0);
            continue;
        }
        assert_string_equal(g->seen, "2026-11-03");
        assert_true(g->L_us == 99 && g->support == 0.8);
        assert_string_equal(g->rail, known == 0 ? "fab1" : "fab0");
        assert_string_equal(g->class_name, known++ == 0 ? "same switch" : "through 2 switches");
    }
    assert_int_equal(known, 2);
    struct nt_loggp late = map->loggp[map->loggps - 1];
    assert_int_equal(nt_samples_add_loggp(s, &late, &err), -1); /* after a phase */
    nt_samples_destroy(s);
    nt_map_destroy(map);
}

TEST(a_record_without_any_changes_nothing)
{
    SCOPED(map) *map = two_leaves();
    SCOPED(samples) *s = reversed_record(HOSTS);
    must(nt_map_loggp(s, map, &err));
    assert_int_equal(map->loggps, 0);
    /* trains alone: no entry, and no error either */
    struct known_loggp k = known_tcp(0, 0, 1);
    must(nt_samples_begin_phase(s, NT_LOGGP_PHASE, &err));
    add(s, 0, 1, NULL, known_message(&k, 8, 16, 0, 0));
    must(nt_map_loggp(s, map, &err));
    assert_int_equal(map->loggps, 0);
}

/* ---- stress ---- */

enum { STRESS_HOSTS = 4 };

static const double MB = 1e6, LATENCY_US = 10, HOST_MBPS = 100;

/* Two leaves of two hosts and the link between them; what is sent over a host's link takes 10 ms a
 * MB, and LATENCY_US a link. */
static struct nt_map *stress_two_leaves(double up_MBps)
{
    static const uint32_t ends[5][2] = {{0, 4}, {1, 4}, {2, 5}, {3, 5}, {4, 5}};
    static const char *const names[STRESS_HOSTS] = {"n1", "n2", "n3", "n4"};
    struct nt_model *m;
    struct nt_map *map;
    must(nt_model_create(STRESS_HOSTS, 2, 5, &m, &err));
    for (size_t k = 0; k < 5; k++) {
        struct nt_link *l = &m->link[k];
        l->a = ends[k][0];
        l->b = ends[k][1];
        l->latency_us = LATENCY_US;
        l->bandwidth_MBps = l->bandwidth_back_MBps = k < 4 ? HOST_MBPS : up_MBps;
    }
    m->tier[0] = m->tier[1] = 1;
    must(nt_map_create(m, names, &map, &err));
    return map;
}

static void add_kernel(struct nt_samples *s, const char *kernel, double time_us, double spread,
                       size_t n, const uint32_t *host)
{
    struct nt_sample x = {.a = (uint32_t)n,
                          .b = 16,
                          .count = 7,
                          .bytes = MB,
                          .value_us = time_us,
                          .kernel = {time_us * (1 - spread), time_us * (1 + spread)}};
    must(nt_samples_begin_round(s, &err));
    must(nt_samples_add_kernel(s, x, kernel, host, &err));
}

/* One kernel among hosts of a record that has them the other way round: n1 is its last. */
static struct nt_samples *record(const char *kernel, double time_us, double spread, size_t n,
                                 const uint32_t *host)
{
    struct nt_samples *s = reversed_record(STRESS_HOSTS);
    must(nt_samples_begin_phase(s, "kernels", &err));
    add_kernel(s, kernel, time_us, spread, n, host);
    return s;
}

static const uint32_t IN_ORDER[] = {3, 2, 1, 0};

static struct nt_stress judge(const char *kernel, double time_us, double spread, double up_MBps)
{
    struct nt_map *map = stress_two_leaves(up_MBps);
    struct nt_samples *s = record(kernel, time_us, spread, STRESS_HOSTS, IN_ORDER);
    must(nt_map_stress(s, map, &err));
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

TEST(the_time_alone_is_that_of_the_own_links)
{
    /* three messages of 10 ms leave n1 one after the other; the last goes over three links */
    assert_near(judge("a2a", 30000, 0, 100).alone_us, 30030, 1e-6);
    assert_near(judge("o2a", 30000, 0, 100).alone_us, 30030, 1e-6);
    assert_near(judge("a2o", 30000, 0, 100).alone_us, 10030, 1e-6);
    /* a link of half the rate between the leaves makes the last arrive later */
    assert_near(judge("o2a", 30000, 0, 50).alone_us, 40030, 1e-6);
}

/* n1's messages leave over two rails at a time, each at the rate of one. */
TEST(connections_on_different_rails_do_not_queue)
{
    static const char *const used[][2] = {{"tcp/fab0", "tcp/fab1"},
                                          {"tcp/fab0", "tcp/fab0"},
                                          {"tcp/fab0,tcp/fab1", "tcp/fab0,tcp/fab1"}};
    for (size_t k = 0; k < 3; k++) {
        SCOPED(map) *map = stress_two_leaves(100);
        SCOPED(samples) *s = record("o2a", 30000, 0, STRESS_HOSTS, IN_ORDER);
        for (int t = 0; t < 2; t++)
            must(nt_samples_add_transport(s, used[k][t], 2, &err));
        must(nt_map_stress(s, map, &err));
        /* sent at 0, 5 and 10 ms, where one rail sends at 0, 10 and 20 */
        assert_near(map->stress[0].alone_us, k == 0 ? 20030 : 30030, 1e-6);
    }
}

TEST(what_congests_is_named_with_its_tier)
{
    /* four messages over the link between the leaves: 80 ms in each direction */
    struct nt_stress s = judge("a2a", 82000, 0.05, 50);
    assert_true(s.congested);
    assert_int_equal(s.tier, 1);
    assert_holds((s.from == 4 && s.to == 5) || (s.from == 5 && s.to == 4),
                 "%u to %u, expected 4 and 5", s.from, s.to);
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

TEST(nothing_is_named_that_the_map_does_not_explain)
{
    assert_false(judge("a2a", 31000, 0.05, 1000).congested); /* as fast as alone */
    assert_false(judge("o2a", 90000, 0.05, 100).congested);  /* no link is shared */
    assert_false(judge("a2a", 400000, 0.05, 50).congested);  /* something else takes longer */
    assert_false(judge("a2a", 82000, 0.9, 50).congested);    /* the interval holds alone, too */
}

/* A lower bound is no capacity. */
TEST(a_link_that_was_never_the_bottleneck_congests_nothing)
{
    SCOPED(map) *map = stress_two_leaves(50);
    SCOPED(samples) *s = record("a2a", 82000, 0.05, STRESS_HOSTS, IN_ORDER);
    map->model->link[4].at_least = true;
    must(nt_map_stress(s, map, &err));
    assert_false(map->stress[0].congested);
    assert_near(map->stress[0].alone_us, 30030, 1e-6);
}

TEST(figures_that_are_not_known_give_no_prediction)
{
    SCOPED(map) *map = stress_two_leaves(50);
    SCOPED(samples) *s = record("a2a", 82000, 0.05, STRESS_HOSTS, IN_ORDER);
    for (size_t k = 0; k < 5; k++)
        map->model->link[k].bandwidth_MBps = map->model->link[k].bandwidth_back_MBps = NAN;
    must(nt_map_stress(s, map, &err));
    assert_int_equal(map->stresses, 1);
    assert_above(map->stress[0].time_us, 0);
    assert_true(isnan(map->stress[0].alone_us) && isnan(map->stress[0].shared_us) &&
                !map->stress[0].congested);
}

/* n4 and n3 alone: nothing crosses. */
TEST(those_who_took_part_are_those_of_the_record)
{
    static const uint32_t few[] = {1, 0};
    SCOPED(map) *map = stress_two_leaves(1);
    SCOPED(samples) *s = record("a2a", 82000, 0.05, 2, few);
    must(nt_map_stress(s, map, &err));
    assert_int_equal(map->stress[0].hosts, 2);
    assert_near(map->stress[0].alone_us, 10020, 1e-6);
}

TEST(kernels_among_others_do_not_disturb_each_other)
{
    static const uint32_t across[] = {3, 1}, turned[] = {1, 3};
    SCOPED(map) *map = stress_two_leaves(50);
    SCOPED(samples) *s = record("a2a", 82000, 0.05, STRESS_HOSTS, IN_ORDER);
    add_kernel(s, "o2a", 82000, 0.05, 2, across);
    add_kernel(s, "o2a", 82000, 0.05, 2, turned);
    add_kernel(s, "a2a", 82000, 0.05, STRESS_HOSTS, IN_ORDER);
    map->model->link[4].bandwidth_back_MBps = 40;
    must(nt_map_stress(s, map, &err));
    assert_int_equal(map->stresses, 4);
    assert_near(map->stress[1].alone_us, 20030, 1e-6);
    assert_near(map->stress[2].alone_us, 25030, 1e-6);
    for (size_t k = 0; k < 4; k += 3) {
        assert_true(map->stress[k].congested);
        assert_true(map->stress[k].from == 5 && map->stress[k].to == 4);
    }
    assert_near(map->stress[3].alone_us, map->stress[0].alone_us, 1e-12);
    assert_near(map->stress[3].shared_us, map->stress[0].shared_us, 1e-12);
}

/* Random messages: every wave waits for the one before. */
TEST(waves_add_up)
{
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

/* ---- machines ---- */

#define SMALL "packages=1 numa=1 cores=2 threads=2 allowed=2"
#define LARGE "packages=2 numa=2 cores=8 threads=16 allowed=16 cpu=B"

enum { MACHINES_HOSTS = 5 };

/* Of a record that has the hosts the other way round. */
static void set(struct nt_samples *s, int host, const char *text, double cache_us)
{
    uint32_t model;
    size_t at = (size_t)(MACHINES_HOSTS - host);
    must(nt_samples_add_model(s, text, &model, &err));
    must(nt_samples_set_model(s, at, model, &err));
    if (cache_us > 0)
        must(nt_samples_set_cores(s, at, NT_BETWEEN_CACHE, cache_us, &err));
}

/* n5 is missing. */
static struct nt_map *hosts_only(void)
{
    static const char *const names[MACHINES_HOSTS] = {"n1", "n2", "n3", "n4", "n5"};
    struct nt_model *m;
    struct nt_map *map;
    must(nt_model_create(MACHINES_HOSTS, 0, 0, &m, &err));
    m->missing[4] = true;
    must(nt_map_create(m, names, &map, &err));
    return map;
}

TEST(equal_hosts_share_a_model)
{
    SCOPED(samples) *s = reversed_record(MACHINES_HOSTS);
    SCOPED(map) *map = hosts_only();
    set(s, 5, LARGE, 9); /* missing: of no account */
    set(s, 4, SMALL, 0.5);
    set(s, 3, LARGE, 0);
    set(s, 2, SMALL, 0.25);
    set(s, 1, SMALL, 0.125);
    must(nt_map_machines(s, map, &err));
    assert_int_equal(map->machines, 2);
    assert_int_equal(map->machine[0].cores, 2); /* n1 comes first */
    assert_string_equal(map->machine[1].cpu, "B");
    static const uint32_t of[MACHINES_HOSTS] = {0, 0, 1, 0, NT_MAP_NO_MACHINE};
    assert_memory_equal(map->machine_of, of, sizeof of);
    const struct nt_core_latency *l = &map->machine[0].between[NT_BETWEEN_CACHE];
    assert_int_equal(l->hosts, 3);
    assert_true(l->latency_us == 0.25 && l->low_us == 0.125 && l->high_us == 0.5);
    assert_int_equal(map->machine[0].between[NT_BETWEEN_CORE].hosts, 0);
    assert_int_equal(map->machine[1].between[NT_BETWEEN_CACHE].hosts, 0);
}

TEST(hosts_that_said_nothing_have_none)
{
    SCOPED(samples) *s = reversed_record(MACHINES_HOSTS);
    SCOPED(map) *map = hosts_only();
    must(nt_map_machines(s, map, &err));
    assert_int_equal(map->machines, 0);
    assert_null(map->machine_of);
    set(s, 2, LARGE, 0);
    must(nt_map_machines(s, map, &err));
    assert_int_equal(map->machines, 1);
    for (size_t k = 0; k < MACHINES_HOSTS; k++)
        assert_int_equal(map->machine_of[k], k == 1 ? 0 : NT_MAP_NO_MACHINE);
}

RUN_TESTS
