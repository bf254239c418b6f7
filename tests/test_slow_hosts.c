/* SPDX-License-Identifier: Apache-2.0 */
/* The adaptive sweep where some hosts are on longer links than the others. */
#include "asserts.h"
#include "driven_sweep.h"
#include "made_network.h"
#include "shape.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct slow {
    uint32_t host;
    double us;
};

static void slow_down(struct nt_network *n, const struct slow *slow, size_t count)
{
    for (size_t k = 0; k < n->arcs; k++)
        for (size_t i = 0; i < count; i++)
            if (n->arc[k].from == slow[i].host || n->arc[k].to == slow[i].host)
                n->arc[k].latency_us += slow[i].us;
}

/* The link that the model gives a host, us. */
static double host_link(const struct nt_model *m, uint32_t host)
{
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a == host || m->link[k].b == host)
            return m->link[k].latency_us;
    return NAN;
}

/* They are distinguished from another place of their switch, and their links' lengths are stated:
 * less than a tier's difference of 0.22 us, as much, more, and far more. Where noise hides on which
 * of two switches a host is, nothing wrong is said. */
TEST(test_slow_hosts)
{
    static const struct {
        const char *topology;
        double sd, outliers;
        struct slow slow[3];
        unsigned seeds, exact; /* in order and in any; of all, at least */
        size_t rounds;         /* more than without such hosts, on average */
    } table[] = {
        {"tree:4x8", 0.02, 0.01, {{5, 0.03}}, 10, 18, 2},
        {"tree:4x8", 0.02, 0.01, {{5, 0.11}}, 10, 20, 2},
        {"tree:4x8", 0.02, 0.01, {{5, 0.22}}, 10, 20, 2},
        {"tree:4x8", 0.05, 0.10, {{5, 0.22}}, 10, 18, 4},
        {"tree:4x8", 0.02, 0.01, {{5, 5}}, 10, 19, 3},
        {"tree:4x8", 0.02, 0.01, {{5, 5}, {6, 5}, {7, 5}}, 10, 19, 5},
        {"tree:4x8", 0.05, 0.05, {{5, 0.11}, {18, 0.2}, {30, 0.08}}, 10, 18, 7},
        {"tree:16x2", 0.02, 0.01, {{4, 0.3}, {5, 0.3}}, 5, 6, 8}, /* all of a leaf */
        {"tree:4x4x2", 0.02, 0.01, {{5, 0.22}}, 5, 7, 4},
        {"star:32", 0.02, 0.01, {{5, 0.3}, {20, 5}}, 5, 10, 4},
        {"tree:4x4x8", 0.02, 0.01, {{5, 0.22}, {33, 0.44}, {70, 5}}, 5, 9, 5},
        {"tree:8x32", 0.02, 0.01, {{5, 0.15}, {100, 0.22}, {200, 5}}, 3, 6, 5},
        {"tree:4x8", 0.02, 0.01, {{5, 50}}, 5, 0, 24}, /* 0.22 us in 51 */
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        SCOPED(network) *n = made_machine(table[k].topology);
        SCOPED(network) *regular = made_machine(table[k].topology);
        SCOPED(model) *truth;
        unsigned exact = 0, runs = 2 * table[k].seeds;
        size_t rounds = 0, before = 0;
        size_t count = table[k].slow[1].us == 0 ? 1 : table[k].slow[2].us == 0 ? 2 : 3;
        slow_down(n, table[k].slow, count);
        assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
        for (uint64_t seed = 1; seed <= runs; seed++) {
            uint32_t *order = seed % 2 == 0 ? shuffled(n->hosts, seed) : NULL;
            struct nt_measure_noise noise = {table[k].sd, 0, 0, table[k].outliers, 0, seed};
            struct drive d = {.network = n, .noise = noise};
            struct drive without = {.network = regular, .noise = noise};
            struct nt_sparse_check check;
            begin(&d, order, seed);
            rounds += driven(&d).rounds;
            begin(&without, order, seed);
            before += driven(&without).rounds;
            struct nt_model *m = found_by(&d);
            nt_sparse_check(nt_sweep_adaptive_state(d.planner), &check);
            bool sound = check.verdict == NT_SPARSE_SOUND;
            if (sound && !nt_shape_equal(m, truth))
                fail_msg("%s seed %u: another shape", table[k].topology, (unsigned)seed);
            exact += sound && m->confidence > 0.9;
            for (size_t i = 0; sound && i < count; i++)
                if (table[k].slow[i].us > 0.05) { /* else it is within what classes are wide */
                    double us = 0.56 + table[k].slow[i].us;
                    assert_close(host_link(m, table[k].slow[i].host) / us, 1, 0.03);
                }
            if (order == NULL) {
                SCOPED(model) *again;
                struct nt_sparse_check recalled;
                assert_int_equal(recalled_by(n->hosts, &d.record, &again, &recalled), 0);
                assert_int_equal(recalled.verdict, check.verdict);
                assert_same(m, again);
            }
            nt_model_destroy(m);
            free(d.result);
            free(without.result);
            nt_planner_destroy(d.planner);
            nt_planner_destroy(without.planner);
            free(order);
        }
        print_message("%s, %zu slow by %g us, noise %g, outliers %g: %u of %u, %.1f more rounds\n",
                      table[k].topology, count, table[k].slow[0].us, table[k].sd, table[k].outliers,
                      exact, runs, ((double)rounds - (double)before) / runs);
        assert_at_least(exact, table[k].exact);
        assert_at_most(rounds, before + table[k].rounds * runs);
    }
}

RUN_TESTS
