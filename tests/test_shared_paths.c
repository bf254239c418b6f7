/* SPDX-License-Identifier: Apache-2.0 */
/* Two uplinks with a cable in common above them, which the model has apart: the planner's rounds
 * over the real network, and the finding over the believed one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "faults.h"
#include "known_rates.h"
#include "samples.h"
#include "shared_paths.h"
#include "solve.h"

enum { LEAF_HOSTS = 6, SEEDS = 20 };

static const double HOST_MBPS = 100, UPLINK_MBPS = 300;

/* Leaves below one switch. shared: a bit for each leaf whose uplink ends in a switch more, which
 * has one uplink as wide as one of theirs for all of them; 0: none. */
static struct nt_model *make_leaves(uint32_t leaves, unsigned shared)
{
    struct nt_model *m;
    struct nt_err err;
    uint32_t hosts = leaves * LEAF_HOSTS, root = hosts + leaves, joint = root + 1;
    size_t more = shared != 0, switches = leaves + 1 + more, links = hosts + leaves + more;
    assert_int_equal(nt_model_create(hosts, switches, links, &m, &err), 0);
    for (uint32_t k = 0; k < hosts; k++)
        m->link[k] = (struct nt_link){.a = k, .b = hosts + k / LEAF_HOSTS, .latency_us = 1};
    for (uint32_t l = 0; l < leaves; l++)
        m->link[hosts + l] =
            (struct nt_link){.a = hosts + l, .b = shared >> l & 1 ? joint : root, .latency_us = 1};
    if (more)
        m->link[hosts + leaves] = (struct nt_link){.a = joint, .b = root};
    for (size_t k = 0; k < links; k++) {
        double rate = k < hosts ? HOST_MBPS : UPLINK_MBPS;
        m->link[k].bandwidth_MBps = m->link[k].bandwidth_back_MBps = rate;
        m->link[k].probability = 1;
    }
    for (uint32_t s = 0; s < switches; s++)
        m->tier[s] = s < leaves ? 1 : s == leaves ? 2 + (uint32_t)more : 2;
    m->tiers = 2 + (uint32_t)more;
    m->family = NT_FAMILY_TREE;
    return m;
}

static struct nt_fault fault[NT_FAULTS_MAX];

/* The findings of a sweep over net, for the network believed. */
static size_t sweep(const struct nt_network *net, const struct nt_model *believed, uint64_t seed)
{
    static struct nt_flow_round round[RATES_ROUNDS_MAX];
    struct nt_measure_noise noise = {.sd = 0.02, .seed = seed};
    struct nt_bandwidth_options options = {0};
    struct rates_run run = {0};
    struct nt_err err = {0};
    struct nt_faults_found own;
    struct nt_model *blank = rates_blank(believed), *found;
    size_t rounds = rates_record(net, blank, &options, &noise, round, &run);
    assert_int_equal(nt_infer_flows(blank, round, rounds, &found, &err), 0);
    assert_int_equal(nt_faults_find(found, true, &own, &err), 0);
    size_t count = own.count;
    memcpy(fault, own.fault, count * sizeof *fault);
    nt_faults_found_fini(&own);
    assert_int_equal(nt_shared_paths_find(found, round, rounds, fault, &count, &err), 0);
    rates_forget(round, rounds);
    nt_model_destroy(blank);
    nt_model_destroy(found);
    return count;
}

static size_t sweep_leaves(uint32_t leaves, unsigned shared, uint64_t seed)
{
    struct nt_model *real = make_leaves(leaves, shared), *believed = make_leaves(leaves, 0);
    struct nt_network *net;
    struct nt_err err;
    assert_int_equal(nt_network_from_model(real, &net, &err), 0);
    size_t count = sweep(net, believed, seed);
    nt_network_destroy(net);
    nt_model_destroy(real);
    nt_model_destroy(believed);
    return count;
}

/* Every two of 4 to 8 leaves. Two that never send or receive in the same round show nothing, and of
 * four leaves it is not known whether two, the other two or the switch above are full. */
static void uplinks_that_share_a_cable_are_found(void **state)
{
    size_t found = 0, all = 0;
    (void)state;
    for (uint32_t leaves = 4; leaves <= 8; leaves++)
        for (uint32_t one = 0; one < leaves; one++)
            for (uint32_t other = one + 1; other < leaves; other++) {
                size_t n = sweep_leaves(leaves, 1u << one | 1u << other, 100 * leaves + other);
                uint32_t first = leaves * LEAF_HOSTS;
                all++;
                found += n;
                if (n == 0)
                    continue;
                assert_int_equal(n, 1);
                assert_int_equal(fault[0].part.kind, NT_FAULT_PATH_SHARED);
                assert_int_equal(fault[0].part.a, first + one);
                assert_int_equal(fault[0].part.b, first + other);
                assert_close(fault[0].found / UPLINK_MBPS, 1, 0.05);
                assert_close(fault[0].expected / UPLINK_MBPS, 2, 0.1);
            }
    if (5 * found < 2 * all)
        fail_msg("%zu of %zu", found, all);
}

static void the_two_of_a_pairing_are_always_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(sweep_leaves(6, 3u << 2 * k, seed), 1);
            assert_int_equal(fault[0].way, NT_FAULT_BOTH);
            assert_int_equal(fault[0].part.a, 6 * LEAF_HOSTS + 2 * k);
        }
}

/* Three are not two, and none are none. */
static void what_more_than_two_share_is_not_blamed_on_two(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(sweep_leaves(8, 0, seed), 0);
        for (unsigned k = 0; k < 6; k++) {
            size_t n = sweep_leaves(8, 7u << k, seed);
            for (size_t f = 0; f < n; f++)
                assert_true(fault[f].part.kind != NT_FAULT_PATH_SHARED ||
                            (fault[f].part.a >= 8 * LEAF_HOSTS + k &&
                             fault[f].part.b < 8 * LEAF_HOSTS + k + 3));
        }
    }
}

/* Oversubscribed, uneven, with slow hosts and links: nothing is shared. */
static void links_apart_are_not_blamed(void **state)
{
    static const struct rates_tree trees[] = {
        {.tiers = 2, .fan = {6, 8}, .over = {1}, .host_MBps = 100},
        {.tiers = 2, .fan = {6, 8}, .over = {2}, .host_MBps = 100, .slow_hosts = 2},
        {.tiers = 2, .fan = {8, 6}, .over = {4}, .host_MBps = 100, .slow_links = 2},
        {.tiers = 2, .fan = {5, 7}, .over = {2}, .host_MBps = 100, .uneven = true},
        {.tiers = 3, .fan = {3, 3, 6}, .over = {2, 2}, .host_MBps = 100},
        {.tiers = 3, .fan = {2, 4, 6}, .over = {1, 2}, .host_MBps = 100, .slow_links = 2},
        {.tiers = 3, .fan = {4, 3, 4}, .over = {4, 1}, .host_MBps = 100, .slow_hosts = 3},
        {.tiers = 1, .fan = {12}, .host_MBps = 100, .slow_hosts = 3},
    };
    (void)state;
    for (size_t t = 0; t < sizeof trees / sizeof *trees; t++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct nt_network *net = rates_network(&trees[t], seed);
            struct nt_model *truth;
            struct nt_err err;
            assert_int_equal(nt_network_truth(net, &truth, &err), 0);
            size_t n = sweep(net, truth, seed);
            for (size_t f = 0; f < n; f++)
                if (fault[f].part.kind == NT_FAULT_PATH_SHARED)
                    fail_msg("tree %zu, seed %d: %u and %u", t, (int)seed, fault[f].part.a,
                             fault[f].part.b);
            nt_model_destroy(truth);
            nt_network_destroy(net);
        }
}

/* Two hosts that get 100 MB/s alone and 40 each together: from senders of one leaf, whose uplink
 * all of it goes over, that may be the uplink; with one of them from their own leaf it is theirs.
 */
static void flows_over_one_link_do_not_blame_two_others(void **state)
{
    struct nt_model *m = make_leaves(3, 0);
    const uint32_t one = LEAF_HOSTS, other = LEAF_HOSTS + 1, senders[] = {1, LEAF_HOSTS + 5};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const struct nt_flow_seen first[] = {{0, one, 100}}, second[] = {{senders[k], other, 100}},
                                  both[] = {{0, one, 40}, {senders[k], other, 40}},
                                  more[] = {{0, one + 2, 100},
                                            {1, one + 3, 100},
                                            {2 * LEAF_HOSTS, one + 4, 100}};
        const struct nt_flow_round round[] = {
            {1, first}, {1, second}, {2, both}, {2, both}, {3, more}};
        size_t count = 0;
        struct nt_err err;
        assert_int_equal(nt_shared_paths_find(m, round, 5, fault, &count, &err), 0);
        assert_int_equal(count, k);
        assert_true(k == 0 || (fault[0].part.a == one && fault[0].part.b == other &&
                               fault[0].way == NT_FAULT_DOWN));
    }
    nt_model_destroy(m);
}

/* ---- from a record ---------------------------------------------------------------------------*/

static void record_latencies(struct nt_samples *s, const struct nt_network *believed)
{
    struct nt_measure_noise noise = {.sd = 0.01, .seed = 3};
    struct nt_err err;
    assert_int_equal(nt_samples_begin_phase(s, "latency", &err), 0);
    assert_int_equal(nt_samples_begin_round(s, &err), 0);
    for (uint32_t a = 0; a < believed->hosts; a++)
        for (uint32_t b = 0; b < believed->hosts; b++) {
            struct nt_sample x = {
                .kind = NT_SAMPLE_LATENCY, .a = a, .b = b, .count = 10, .bytes = 8};
            x.value_us = x.latency.median_us = nt_measure_latency(believed, &noise, a, b, 0);
            if (a != b)
                assert_int_equal(nt_samples_add(s, x, NULL, &err), 0);
        }
    assert_int_equal(nt_samples_end_phase(s, 1, &err), 0);
}

static void record_flows(struct nt_samples *s, const struct nt_flow_round *round, size_t rounds)
{
    struct nt_err err;
    assert_int_equal(nt_samples_begin_phase(s, "tiers", &err), 0);
    for (size_t r = 0; r < rounds; r++) {
        assert_int_equal(nt_samples_begin_round(s, &err), 0);
        for (size_t k = 0; k < round[r].flows; k++) {
            const struct nt_flow_seen *f = &round[r].flow[k];
            struct nt_sample x = {.kind = NT_SAMPLE_BANDWIDTH,
                                  .a = f->from,
                                  .b = f->to,
                                  .count = 1,
                                  .bytes = f->rate_MBps * 1e4,
                                  .value_us = 1e4};
            assert_int_equal(nt_samples_add(s, x, NULL, &err), 0);
        }
    }
    assert_int_equal(nt_samples_end_phase(s, 1, &err), 0);
}

static struct nt_samples *record_sweep(uint32_t leaves, unsigned shared)
{
    static struct nt_flow_round round[RATES_ROUNDS_MAX];
    struct nt_model *real = make_leaves(leaves, shared), *believed = make_leaves(leaves, 0);
    struct nt_model *blank = rates_blank(believed);
    struct nt_measure_noise noise = {.sd = 0.02, .seed = 5};
    struct nt_bandwidth_options options = {0};
    struct rates_run run = {0};
    struct nt_network *net, *apart;
    struct nt_samples *s;
    struct nt_err err;
    assert_int_equal(nt_network_from_model(real, &net, &err), 0);
    assert_int_equal(nt_network_from_model(believed, &apart, &err), 0);
    assert_int_equal(nt_samples_create(&s, &err), 0);
    for (uint32_t h = 0; h < net->hosts; h++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", h + 1);
        assert_int_equal(nt_samples_add_host(s, name, &err), 0);
    }
    record_latencies(s, apart);
    size_t rounds = rates_record(net, blank, &options, &noise, round, &run);
    record_flows(s, round, rounds);
    nt_samples_finish(s, NT_STATUS_OK, 2);
    rates_forget(round, rounds);
    nt_network_destroy(net);
    nt_network_destroy(apart);
    nt_model_destroy(real);
    nt_model_destroy(believed);
    nt_model_destroy(blank);
    return s;
}

static void the_map_of_a_record_says_so(void **state)
{
    (void)state;
    for (unsigned shared = 0; shared <= 3; shared += 3) {
        struct nt_samples *s = record_sweep(6, shared);
        struct nt_map *map;
        struct nt_err err;
        bool told = false;
        assert_int_equal(nt_solve_samples(s, &map, &err), 0);
        for (size_t k = 0; k < map->warnings; k++)
            told = told || strstr(map->warning[k], "the links of s1 and s3 share a path: 3");
        assert_int_equal(map->faults, shared != 0);
        assert_int_equal(told, shared != 0);
        for (size_t k = 0; k < map->model->links; k++)
            assert_false(map->model->link[k].suspect);
        nt_map_destroy(map);
        nt_samples_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uplinks_that_share_a_cable_are_found),
        cmocka_unit_test(the_two_of_a_pairing_are_always_found),
        cmocka_unit_test(what_more_than_two_share_is_not_blamed_on_two),
        cmocka_unit_test(links_apart_are_not_blamed),
        cmocka_unit_test(flows_over_one_link_do_not_blame_two_others),
        cmocka_unit_test(the_map_of_a_record_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
