/* SPDX-License-Identifier: Apache-2.0 */
/* The most that switches carried: a lower bound where links were full first, a value where the
 * switch was. */
#include "asserts.h"
#include "flow_links.h"
#include "known_rates.h"
#include "map.h"
#include "map_json.h"

enum { HOSTS = 12 };

static const double HOST_MBPS = 100;

/* switch_MBps: what it passes at the most, spread over its flows alike. */
static struct nt_model *sweep(const struct rates_tree *tree, double switch_MBps)
{
    static struct nt_flow_round round[RATES_ROUNDS_MAX];
    struct nt_network *net = rates_network(tree, 1);
    struct nt_measure_noise noise = {.sd = 0.01, .seed = 1};
    struct nt_bandwidth_options options = {0};
    struct rates_run run = {0};
    struct nt_model *found, *truth;
    must(nt_network_truth(net, &truth, &err));
    struct nt_model *blank = rates_blank(truth);
    size_t rounds = rates_record(net, blank, &options, &noise, round, &run);
    for (size_t r = 0; r < rounds; r++) {
        double sum = 0;
        struct nt_measured_flow *flow = (struct nt_measured_flow *)(uintptr_t)round[r].flow;
        for (size_t k = 0; k < round[r].flows; k++)
            sum += flow[k].rate_MBps;
        for (size_t k = 0; k < round[r].flows && sum > switch_MBps; k++)
            flow[k].rate_MBps *= switch_MBps / sum;
    }
    must(nt_infer_flows(blank, round, rounds, &found, &err));
    must(nt_switch_throughput_find(found, round, rounds, &err));
    rates_forget(round, rounds);
    nt_model_destroy(blank);
    nt_model_destroy(truth);
    nt_network_destroy(net);
    return found;
}

/* Hosts send or receive, so that half of what the ports could bring comes in. */
TEST(links_are_full_before_a_switch)
{
    static const struct rates_tree star = {.tiers = 1, .fan = {HOSTS}, .host_MBps = HOST_MBPS};
    SCOPED(model) *m = sweep(&star, INFINITY);
    assert_true(m->throughput[0].at_least);
    assert_close(m->throughput[0].MBps / (HOSTS / 2 * HOST_MBPS), 1, 0.05);
}

/* Uplinks of half of their hosts: the top carries what a third of the leaves send. */
TEST(the_top_of_a_tree_carries_what_uplinks_bring)
{
    static const struct rates_tree tree = {
        .tiers = 2, .fan = {6, 8}, .over = {2}, .host_MBps = HOST_MBPS};
    SCOPED(model) *m = sweep(&tree, INFINITY);
    for (size_t s = 0; s < m->switches; s++) {
        double expected = m->tier[s] == 2 ? 3 * 4 * HOST_MBPS : 4 * HOST_MBPS;
        assert_true(m->throughput[s].at_least);
        if (fabs(m->throughput[s].MBps / expected - 1) > 0.1)
            fail_msg("switch %zu: %.0f, expected %.0f", s, m->throughput[s].MBps, expected);
    }
}

TEST(a_full_switch_is_a_value)
{
    static const struct rates_tree star = {.tiers = 1, .fan = {HOSTS}, .host_MBps = HOST_MBPS};
    SCOPED(model) *m = sweep(&star, 3 * HOST_MBPS);
    assert_false(m->throughput[0].at_least);
    assert_close(m->throughput[0].MBps / (3 * HOST_MBPS), 1, 0.05);
}

/* Whatever is slow or oversubscribed, no switch held anything back. */
TEST(switches_that_are_not_full_are_bounds)
{
    static const struct rates_tree trees[] = {
        {.tiers = 1, .fan = {12}, .host_MBps = 100, .slow_hosts = 3},
        {.tiers = 2, .fan = {8, 6}, .over = {4}, .host_MBps = 100, .slow_links = 2},
        {.tiers = 2, .fan = {5, 7}, .over = {2}, .host_MBps = 100, .uneven = true},
        {.tiers = 3, .fan = {3, 3, 6}, .over = {2, 2}, .host_MBps = 100, .slow_hosts = 2},
    };
    for (size_t t = 0; t < sizeof trees / sizeof *trees; t++) {
        SCOPED(model) *m = sweep(&trees[t], INFINITY);
        for (size_t s = 0; s < m->switches; s++)
            assert_true(m->throughput[s].at_least);
    }
}

TEST(the_map_keeps_it)
{
    for (int full = 0; full < 2; full++) {
        static const struct rates_tree tree = {
            .tiers = 2, .fan = {6, 8}, .over = {2}, .host_MBps = HOST_MBPS};
        struct nt_model *m = sweep(&tree, INFINITY);
        SCOPED(map) *map, *again;
        char name[48][8], *text, *second;
        const char *names[48];
        size_t bytes;
        for (int h = 0; h < 48; h++) {
            snprintf(name[h], sizeof name[h], "n%d", 48 - h);
            names[h] = name[h];
        }
        m->throughput[1].at_least = full == 0;
        must(nt_map_create(m, names, &map, &err));
        must(nt_map_sort(map, &err));
        must(nt_map_write(map, true, &text, &bytes, &err));
        must(nt_map_read("map", text, bytes, &again, &err));
        must(nt_map_write(again, true, &second, &bytes, &err));
        assert_string_equal(text, second);
        size_t bounds = 0;
        for (const char *at = text; (at = strstr(at, "\"max_at_least\"")) != NULL; at++)
            bounds++;
        assert_int_equal(bounds, again->model->switches - (size_t)full);
        free(text);
        free(second);
    }
}

RUN_TESTS
