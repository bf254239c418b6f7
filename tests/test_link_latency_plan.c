/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds for link latencies: sound schedules, and what they give. */
#include "asserts.h"
#include "link_figures.h"
#include "link_latency_plan.h"
#include "made_network.h"
#include "sweep_sim.h"

struct count {
    size_t rounds, pairs;
};

/* Runs the planner to its end; a host has one partner a round and none that is absent. */
static struct count run(struct nt_planner *planner, size_t hosts, const bool *absent,
                        uint32_t lost_host, size_t lost_round)
{
    struct count count = {0};
    struct nt_order order;
    bool *busy = calloc(hosts, sizeof *busy);
    while (planner->ops->next(planner, &order, NULL) == 1) {
        memset(busy, 0, hosts * sizeof *busy);
        for (size_t k = 0; k < order.pairs; k++)
            for (int end = 0; end < 2; end++) {
                uint32_t h = order.pair[k][end];
                assert_below(h, hosts);
                assert_true(!busy[h]);
                assert_true((absent == NULL || !absent[h]));
                assert_holds(h != lost_host || count.rounds < lost_round, "host %u in round %zu", h,
                             count.rounds);
                busy[h] = true;
            }
        count.rounds++;
        count.pairs += order.pairs;
        assert_int_equal(planner->ops->tell(planner, NULL, 0, NULL), 0);
        if (count.rounds == lost_round)
            planner->ops->lose(planner, lost_host);
    }
    free(busy);
    return count;
}

TEST(schedules_are_sound)
{
    static const struct {
        const char *topology;
        size_t most_rounds;
    } table[] = {{"star:3", 3},      {"star:16", 10},     {"tree:2x2", 20},    {"tree:2x4x4", 25},
                 {"tree:4x8x8", 25}, {"tree:16x8x8", 25}, {"fattree:8,3", 25}, {"chain:5x4", 40}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(network) *n = made_network(table[k].topology);
        SCOPED(model) *truth;
        SCOPED(planner) *planner;
        size_t rounds = 0;
        must(nt_network_truth(n, &truth, &err));
        const struct nt_sweep_setup setup = {truth->hosts, NULL, 0, 3, 5, 7};
        must(nt_link_latency_plan_create(truth, &setup, &planner, &rounds, &err));
        struct count seen = run(planner, n->hosts, NULL, UINT32_MAX, 0);
        print_message("%s: %zu hosts, %zu links, %zu pairs, %zu rounds\n", table[k].topology,
                      n->hosts, truth->links, seen.pairs, seen.rounds);
        assert_int_equal(seen.rounds, rounds);
        assert_at_most(seen.rounds, table[k].most_rounds);
        assert_at_least(seen.pairs, truth->links);
        assert_at_most(seen.pairs, 8 * truth->links);
    }
}

TEST(the_absent_and_the_lost_have_no_partner)
{
    SCOPED(network) *n = made_network("tree:2x4x4");
    SCOPED(model) *truth;
    SCOPED(planner) *planner;
    bool absent[32] = {false};
    size_t rounds;
    absent[3] = absent[17] = true;
    for (size_t h = 8; h < 12; h++)
        absent[h] = true; /* a whole leaf */
    assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
    const struct nt_sweep_setup setup = {truth->hosts, absent, 0, 3, 5, 7};
    assert_int_equal(nt_link_latency_plan_create(truth, &setup, &planner, &rounds, NULL), 0);
    assert_above(run(planner, n->hosts, absent, 20, 2).rounds, 2);
}

TEST(what_is_no_tree_is_refused)
{
    struct nt_network *n = made_network("torus:4x4");
    struct nt_planner *planner;
    size_t rounds;
    struct nt_sweep_setup setup = {n->model->hosts, NULL, 0, 3, 5, 7};
    assert_int_equal(nt_link_latency_plan_create(n->model, &setup, &planner, &rounds, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    nt_network_destroy(n);
    n = made_network("fattree:4,2"); /* two ways up */
    setup.hosts = n->model->hosts;
    assert_int_equal(nt_link_latency_plan_create(n->model, &setup, &planner, &rounds, &err), -1);
    nt_network_destroy(n);
}

/* Measures the plan on the network and fits its links; returns the rms error of a link's latency
 * over the sd of one pair's. */
static double error_of(const char *topology, double outliers, double *claimed)
{
    struct nt_network *n = made_network(topology);
    struct nt_model *truth, *model;
    struct nt_planner *planner;
    struct nt_samples *s;
    struct nt_order order;
    struct nt_measure_noise noise = {.sd = 0.01, .outliers = outliers, .seed = 3};
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_result *results = calloc(n->hosts, sizeof *results);
    uint32_t *vertex = calloc(n->hosts, sizeof *vertex), round = 0;
    size_t rounds, got;
    double square = 0, claim = 0;
    assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
    assert_int_equal(nt_model_copy(truth, &model, NULL), 0);
    assert_int_equal(nt_samples_create(&s, NULL), 0);
    for (uint32_t h = 0; h < n->hosts; h++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", h + 1);
        assert_int_equal(nt_samples_add_host(s, name, NULL), 0);
        vertex[h] = h;
    }
    assert_int_equal(nt_samples_begin_phase(s, "link-latency", NULL), 0);
    const struct nt_sweep_setup setup = {truth->hosts, NULL, 0, 1, 5, 7};
    assert_int_equal(nt_link_latency_plan_create(truth, &setup, &planner, &rounds, NULL), 0);
    while (planner->ops->next(planner, &order, NULL) == 1) {
        assert_int_equal(nt_order_answer(&noisy, &order, round++, results, &got, NULL), 0);
        assert_int_equal(nt_samples_begin_round(s, NULL), 0);
        for (size_t k = 0; k < got; k++) {
            struct nt_sample x = {.kind = NT_SAMPLE_LATENCY,
                                  .a = results[k].a,
                                  .b = results[k].b,
                                  .bytes = 8,
                                  .value_us = results[k].value_us};
            assert_int_equal(nt_samples_add(s, x, NULL, NULL), 0);
        }
    }
    for (size_t l = 0; l < model->links; l++)
        model->link[l].latency_us = 99;
    static const char *const phase[] = {NT_SAMPLES_LINK_LATENCY, NULL};
    assert_int_equal(nt_link_latency(s, vertex, phase, false, model, NULL), 1);
    for (size_t l = 0; l < model->links; l++) {
        double off = model->link[l].latency_us - truth->link[l].latency_us;
        square += off * off;
        claim += model->link[l].latency_se_us * model->link[l].latency_se_us;
    }
    double longest = nt_network_latency(n, 0, (uint32_t)n->hosts - 1) * noise.sd;
    double seen = sqrt(square / (double)model->links) / longest;
    *claimed = sqrt(claim / (double)model->links) / longest;
    nt_planner_destroy(planner);
    nt_samples_destroy(s);
    nt_model_destroy(model);
    nt_model_destroy(truth);
    nt_network_destroy(n);
    free(results);
    free(vertex);
    return seen;
}

TEST(links_come_out_better_than_pairs)
{
    static const struct {
        const char *topology;
        double outliers;
    } table[] = {{"star:8", 0},     {"tree:2x4", 0},      {"tree:2x2x4", 0},
                 {"tree:4x8x8", 0}, {"tree:4x8x8", 0.01}, {"tree:16x8x8", 0.01}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        double claimed, seen = error_of(table[k].topology, table[k].outliers, &claimed);
        print_message("%s, outliers %g: error %.2f of a pair's sd, claimed %.2f\n",
                      table[k].topology, table[k].outliers, seen, claimed);
        assert_below(seen, 0.6);
        assert_above(claimed, 0.5 * seen);
        assert_below(claimed, 2 * seen);
    }
}

RUN_TESTS
