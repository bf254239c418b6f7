/* SPDX-License-Identifier: Apache-2.0 */
/* Records in which pairs are missing: what the map states of the network, and how it names them. */
#include "asserts.h"
#include "rng.h"
#include "solve.h"
#include "switch_support.h"

static bool warns(const struct nt_map *map, const char *part)
{
    for (size_t k = 0; k < map->warnings; k++)
        if (strstr(map->warning[k], part) != NULL)
            return true;
    return false;
}

static struct nt_samples *begin_latencies(size_t hosts)
{
    struct nt_samples *s;
    char name[16];
    must(nt_samples_create(&s, &err));
    for (size_t k = 1; k <= hosts; k++) {
        snprintf(name, sizeof name, "n%zu", k);
        must(nt_samples_add_host(s, name, &err));
    }
    must(nt_samples_begin_phase(s, "latency", &err));
    must(nt_samples_begin_round(s, &err));
    return s;
}

/* us <= 0: it failed. */
static void add_latency(struct nt_samples *s, uint32_t a, uint32_t b, double us)
{
    struct nt_sample x = {.kind = us > 0 ? NT_SAMPLE_LATENCY : NT_SAMPLE_FAILED,
                          .a = a,
                          .b = b,
                          .bytes = us > 0 ? 8 : 0,
                          .count = us > 0 ? 30 : 0,
                          .value_us = us,
                          .latency.median_us = us};
    if (us <= 0)
        x = (struct nt_sample){.kind = NT_SAMPLE_FAILED, .a = a, .b = b};
    must(nt_samples_add(s, x, us > 0 ? NULL : "connect: no answer in time", &err));
}

static struct nt_map *solved(struct nt_samples *s)
{
    struct nt_map *map;
    must(nt_samples_end_phase(s, 0.1, &err));
    nt_samples_finish(s, NT_STATUS_OK, 1);
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    nt_samples_destroy(s);
    return map;
}

/* The switch that a host is at, as a vertex. */
static uint32_t switch_of(const struct nt_model *m, uint32_t host)
{
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a == host || m->link[k].b == host)
            return m->link[k].a == host ? m->link[k].b : m->link[k].a;
    return UINT32_MAX;
}

/* A job on real hosts, of which the fifth could not reach two. */
TEST(two_blocked_pairs_leave_the_network)
{
    static const double us[5][5] = {
        {0, 526, 221, 527, 526}, {0, 0, 527, 221, 0}, {0, 0, 0, 526, 0}, {0, 0, 0, 0, 222}};
    struct nt_samples *s = begin_latencies(5);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t a = 0; a < 5; a++)
            for (uint32_t b = a + 1; b < 5; b++)
                add_latency(s, a, b, us[a][b]);
    SCOPED(map) *map = solved(s);
    const struct nt_model *m = map->model;
    assert_int_equal(map->status, NT_STATUS_PARTIAL);
    assert_int_equal(map->sweep.pairs_measured, 8);
    assert_int_equal(m->family, NT_FAMILY_TREE);
    assert_above(m->confidence, 0.95);
    for (uint32_t a = 0; a < 5; a++)
        for (uint32_t b = 0; b < 5; b++)
            assert_int_equal(switch_of(m, a) == switch_of(m, b),
                             (a == 0 || a == 2) == (b == 0 || b == 2));
    assert_int_equal(map->warnings, 2);
    assert_string_equal(map->warning[0],
                        "n2 and n5 could not reach each other: connect: no answer in time");
    assert_string_equal(map->warning[1],
                        "n3 and n5 could not reach each other: connect: no answer in time");
}

/* Of a tree of so many leaves of four hosts this share of the pairs, chosen by chance. */
static struct nt_map *solve_some_pairs(uint32_t leaves, double share, uint64_t seed)
{
    enum { LEAF = 4, MOST = 4 * LEAF };
    uint32_t hosts = leaves * LEAF, pairs = 0, order[MOST * MOST], pair[MOST * MOST][2];
    struct nt_samples *s = begin_latencies(hosts);
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    for (uint32_t a = 0; a < hosts; a++)
        for (uint32_t b = a + 1; b < hosts; b++) {
            order[pairs] = pairs;
            pair[pairs][0] = a;
            pair[pairs++][1] = b;
        }
    nt_rng_shuffle(&rng, order, pairs);
    for (uint32_t k = 0; k < share * pairs; k++) {
        uint32_t a = pair[order[k]][0], b = pair[order[k]][1];
        add_latency(s, a, b, (a % leaves == b % leaves ? 2 : 3) * (1 + 0.02 * nt_rng_normal(&rng)));
    }
    return solved(s);
}

/* Whether exactly the hosts of one leaf share that switch. */
static bool is_leaf(const struct nt_model *m, uint32_t sw, uint32_t leaves)
{
    for (uint32_t a = 0; a < m->hosts; a++)
        for (uint32_t b = 0; b < m->hosts; b++)
            if (switch_of(m, a) == sw && (switch_of(m, b) == sw) != (a % leaves == b % leaves))
                return false;
    return true;
}

TEST(what_is_stated_of_some_pairs_is_there)
{
    unsigned stated = 0, real = 0;
    for (uint32_t leaves = 2; leaves <= 4; leaves++)
        for (uint64_t seed = 1; seed <= 40; seed++) {
            struct nt_map *map = solve_some_pairs(leaves, 0.65, seed);
            const struct nt_model *m = map->model;
            double *support;
            assert_int_equal(nt_support_create(m, &support, NULL), 0);
            for (uint32_t k = 0; k < m->switches; k++) {
                uint32_t below = 0, sw = (uint32_t)m->hosts + k;
                for (uint32_t h = 0; h < m->hosts; h++)
                    below += switch_of(m, h) == sw;
                if (below < 2 || below == m->hosts || !(support[k] >= 0.9))
                    continue;
                stated++;
                real += is_leaf(m, sw, leaves);
            }
            free(support);
            nt_map_destroy(map);
            map = solve_some_pairs(leaves, 0.3, seed);
            assert_int_equal(map->model->family, NT_FAMILY_UNDETERMINED);
            nt_map_destroy(map);
        }
    print_message("%u of %u groups are real\n", real, stated);
    assert_above(stated, 200);
    assert_at_least(real, 0.9 * stated);
}

/* Flows that fail between hosts whose pings pass, and how many of them are named. */
TEST(pairs_that_pass_no_large_messages_are_named)
{
    enum { MANY = 9 };
    struct nt_samples *s = begin_latencies(MANY);
    for (uint32_t a = 0; a < MANY; a++)
        for (uint32_t b = a + 1; b < MANY; b++)
            add_latency(s, a, b, 2);
    must(nt_samples_end_phase(s, 0.1, &err));
    must(nt_samples_begin_phase(s, "host-links", &err));
    must(nt_samples_begin_round(s, &err));
    for (uint32_t a = 0; a < MANY; a++)
        for (uint32_t b = a + 1; b < MANY; b++) {
            struct nt_sample flow = {.kind = NT_SAMPLE_FAILED, .a = b, .b = a};
            must(nt_samples_add(s, flow, "flow: no answer in time", &err));
        }
    struct nt_sample good = {
        .kind = NT_SAMPLE_BANDWIDTH, .a = 0, .b = 1, .bytes = 1e6, .value_us = 1e4, .count = 1};
    must(nt_samples_add(s, good, NULL, &err));
    SCOPED(map) *map = solved(s);
    assert_int_equal(map->status, NT_STATUS_PARTIAL);
    assert_true(warns(map, "between n1 and n3 small messages pass and large ones do not. Compare "
                           "the MTU of both hosts"));
    assert_false(warns(map, "between n1 and n2 ")); /* one flow of theirs was well */
    assert_true(warns(map, "15 more pairs pass small messages only"));
}

RUN_TESTS
