/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "asserts.h"
#include "faults.h"
#include "flow_links.h"
#include "known_rates.h"
#include "made_network.h"
#include "samples.h"
#include "solve.h"

/* ---- flows ---- */

/* Bandwidths of links from flows that share: known trees are found, bounds are true, degraded
 * links are named and nothing else. */

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct rates_verdict judged(const struct rates_tree *t, double sd, unsigned seeds)
{
    struct rates_verdict v = {0};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        SCOPED(network) *net = rates_network(t, seed);
        struct rates_run run = rates_sweep(net, NULL, sd, seed);
        assert_at_most(run.rounds, run.announced);
        rates_judge(&run, true, &v);
        rates_run_fini(&run);
    }
    return v;
}

/* Noise of 1 % a flow: values of links between switches within 3 %, no false bound, ratios within 5
 * %, every degraded link named and nothing else. */
TEST(test_known_trees)
{
    static const struct rates_tree table[] = {
        {1, {6}, {0}, false, 100, 1, 0, false, 0},
        {2, {3, 2}, {2}, false, 100, 0, 0, false, 0},
        {2, {2, 4}, {2}, false, 25, 1, 0, true, 0},
        {2, {3, 4}, {2}, false, 100, 1, 1, false, 0},
        {2, {5, 4}, {2}, false, 100, 1, 1, true, 0},
        {2, {4, 4}, {2}, false, 100, 1, 0, false, 0.5},
        {2, {4, 6}, {2}, true, 100, 1, 0, true, 0},
        {3, {2, 2, 4}, {2, 2}, false, 100, 0, 0, false, 0},
        {3, {4, 2, 4}, {2, 2}, false, 100, 1, 1, false, 0},
        {3, {3, 4, 6}, {2, 2}, false, 12500, 2, 2, false, 0},
        {3, {4, 4, 16}, {2, 2}, false, 100, 4, 2, false, 0},
        {4, {3, 2, 2, 4}, {2, 1.5, 1.5}, false, 100, 1, 1, false, 0},
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        struct rates_verdict v = judged(&table[k], 0.01, 12);
        if (v.wrong + v.false_bounds + v.missed + v.invented + v.ratios_wrong + v.effective > 0)
            fail_msg("tree %zu: wrong %zu, false bounds %zu, hidden %zu, missed %zu of %zu, "
                     "invented %zu, ratios %zu, effective %zu",
                     k, v.wrong, v.false_bounds, v.hidden, v.missed, v.slow, v.invented,
                     v.ratios_wrong, v.effective);
        /* a slow receiver can hide one direction of a sender: then it is a bound */
        assert_at_most(v.hidden * 33, v.values + v.bounds);
        assert_below(v.value_worst, 0.03);
        assert_below(v.host_worst, 0.06);
        assert_below(v.ratio_worst, 0.05);
        assert_int_equal(v.slow > 0, table[k].slow_hosts + table[k].slow_links > 0);
    }
}

/* Without noise all rounds that count are within 1 %. */
TEST(test_exact_without_noise)
{
    static const struct rates_tree table[] = {
        {2, {3, 4}, {2}, false, 100, 1, 1, false, 0},
        {3, {3, 3, 6}, {2, 2}, false, 100, 1, 1, false, 0.5},
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        struct rates_verdict v = judged(&table[k], 0, 5);
        assert_below(v.value_worst, 0.01);
        assert_below(v.host_worst, 0.01);
        assert_int_equal(v.missed + v.invented + v.false_bounds, 0);
    }
}

/* A tree that nothing can fill: bounds only, none of them false, and no switch oversubscribed. */
TEST(test_bounds)
{
    static const struct rates_tree t = {2, {4, 4}, {0.5}, false, 100, 0, 0, false, 0};
    struct rates_verdict v = judged(&t, 0.01, 10);
    assert_int_equal(v.values, 0);
    assert_int_equal(v.bounds, 2 * 4 * 10);
    assert_int_equal(v.false_bounds + v.hidden + v.ratios_wrong, 0);
}

/* What is given as a link's standard error is what its figure is off by: of the hosts' links, one
 * in twenty by more than two; links between switches carry several flows, whose noise evens out,
 * and may be surer than they say. */
TEST(test_standard_errors)
{
    static const struct rates_tree table[] = {
        {1, {6}, {0}, false, 100, 0, 0, false, 0},
        {2, {4, 4}, {2}, false, 100, 1, 0, false, 0.5},
        {3, {3, 3, 6}, {2, 2}, false, 100, 0, 0, false, 0},
    };
    for (size_t k = 0; k < 3 * COUNT(table); k++) {
        static const double sd[] = {0.003, 0.01, 0.03};
        size_t n[2] = {0, 0}, off[2] = {0, 0}, far = 0;
        double squares[2] = {0, 0};
        for (uint64_t seed = 1; seed <= 60; seed++) {
            struct nt_network *net = rates_network(&table[k / 3], seed);
            struct rates_run run = rates_sweep(net, NULL, sd[k % 3], seed);
            for (size_t d = 0; d < 2 * run.found->links; d++) {
                const struct nt_link *l = &run.found->link[d / 2];
                if (l->at_least || (d % 2 ? l->back_at_least : l->forth_at_least))
                    continue;
                double se = d % 2 ? l->bandwidth_back_se_MBps : l->bandwidth_se_MBps;
                double z = (rates_way(l, d % 2) - rates_way(&run.truth->link[d / 2], d % 2)) / se;
                bool inner = l->a >= net->hosts;
                n[inner]++;
                squares[inner] += z * z;
                off[inner] += fabs(z) > 2;
                far += fabs(z) > 4;
            }
            rates_run_fini(&run);
            nt_network_destroy(net);
        }
        double rms[2] = {sqrt(squares[0] / (double)n[0]), sqrt(squares[1] / (double)n[1])};
        if (rms[0] < 0.75 || rms[0] > 1.2 || rms[1] > 1.1 || off[0] * 12 > n[0] ||
            off[1] * 12 > n[1] || far * 200 > n[0] + n[1])
            fail_msg("tree %zu, noise %g: hosts %zu, rms %.2f, %zu over 2; inner %zu, rms %.2f, "
                     "%zu over 2; %zu over 4",
                     k / 3, sd[k % 3], n[0], rms[0], off[0], n[1], rms[1], off[1], far);
    }
}

/* ---- by hand ---- */

/* Two leaves of two hosts, joined by one link: hosts 0 1 at 4, hosts 2 3 at 5. */
static struct nt_model *two_leaves(void)
{
    struct nt_model *m;
    assert_int_equal(nt_model_create(4, 2, 5, &m, NULL), 0);
    for (uint32_t h = 0; h < 4; h++)
        m->link[h] = (struct nt_link){.a = h, .b = 4 + h / 2, .bandwidth_MBps = 77};
    m->link[4] = (struct nt_link){.a = 4, .b = 5};
    m->family = NT_FAMILY_TREE;
    return m;
}

TEST(test_by_hand)
{
    static const struct nt_measured_flow leaf[] = {{0, 1, 10}, {2, 3, 10}};
    static const struct nt_measured_flow back[] = {{1, 0, 10}, {3, 2, 10}};
    static const struct nt_measured_flow over[] = {{0, 2, 6}, {1, 3, 6}};
    static const struct nt_measured_flow home[] = {{2, 0, 4}, {3, 1, 4}};
    static const struct nt_flow_round rounds[] = {{2, leaf}, {2, back}, {2, over}, {2, home}};
    struct nt_model *m = two_leaves(), *out;
    assert_int_equal(nt_infer_flows(m, rounds, 4, &out, NULL), 0);
    for (size_t k = 0; k < 4; k++) {
        assert_close(out->link[k].bandwidth_MBps, 10, 1e-9);
        assert_close(out->link[k].bandwidth_back_MBps, 10, 1e-9);
        assert_false(out->link[k].at_least || out->link[k].suspect || out->link[k].effective);
    }
    assert_close(out->link[4].bandwidth_MBps, 12, 1e-9);
    assert_close(out->link[4].bandwidth_back_MBps, 8, 1e-9);
    assert_false(out->link[4].at_least);
    assert_close(out->oversubscription[0], 20.0 / 8, 1e-9);
    assert_close(out->oversubscription[1], 20.0 / 8, 1e-9);
    assert_close(out->bisection_MBps, 8, 1e-9);
    nt_model_destroy(out);
    /* no flow crossed: nothing is known of the middle, and earlier figures are removed */
    assert_int_equal(nt_infer_flows(m, rounds, 2, &out, NULL), 0);
    assert_true(isnan(out->link[4].bandwidth_MBps) && isnan(out->bisection_MBps));
    assert_true(isnan(out->oversubscription[0]) && !out->link[4].at_least);
    nt_model_destroy(out);
    /* flows that shared the middle say nothing of the hosts' own links but a bound */
    assert_int_equal(nt_infer_flows(m, rounds + 2, 2, &out, NULL), 0);
    for (size_t k = 0; k < 4; k++)
        assert_true(out->link[k].at_least);
    nt_model_destroy(out);
    assert_int_equal(nt_infer_flows(m, NULL, 0, &out, NULL), 0);
    assert_true(isnan(out->link[0].bandwidth_MBps));
    nt_model_destroy(out);
    nt_model_destroy(m);
}

/* Flows that no host and no file could have: no harm. */
TEST(test_odd_flows)
{
    static const struct nt_measured_flow odd[] = {{0, 0, 5},   {0, 99, 5},         {99, 1, 5},
                                                  {1, 2, NAN}, {1, 2, INFINITY},   {1, 2, -4},
                                                  {0, 1, 0},   {4000000000u, 0, 1}};
    static const struct nt_flow_round rounds[] = {{COUNT(odd), odd}};
    SCOPED(model) *m = two_leaves(), *out;
    assert_int_equal(nt_infer_flows(m, rounds, 1, &out, NULL), 0);
    for (size_t k = 0; k < out->links; k++)
        assert_true(isnan(out->link[k].bandwidth_MBps));
}

/* One disturbed round does not make a slow host. */
TEST(test_one_bad_round)
{
    struct nt_model *m, *out;
    struct nt_measured_flow flow[8][2];
    struct nt_flow_round rounds[8];
    assert_int_equal(nt_model_create(4, 1, 4, &m, NULL), 0);
    for (uint32_t h = 0; h < 4; h++)
        m->link[h] = (struct nt_link){.a = h, .b = 4};
    static const uint32_t order[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {1, 2, 3, 0}, {2, 1, 0, 3}};
    for (size_t r = 0; r < 4; r++)
        for (size_t f = 0; f < 2; f++) {
            /* host 0 sends slowly in both rounds, but not alike */
            uint32_t from = order[r][2 * f], to = order[r][2 * f + 1];
            double rate = from != 0 ? 100 : r == 0 ? 60 : 30;
            flow[r][f] = (struct nt_measured_flow){from, to, rate};
            rounds[r] = (struct nt_flow_round){2, flow[r]};
        }
    assert_int_equal(nt_infer_flows(m, rounds, 4, &out, NULL), 0);
    assert_false(out->link[0].suspect);
    nt_model_destroy(out);
    flow[3][1].rate_MBps = 59;
    assert_int_equal(nt_infer_flows(m, rounds, 4, &out, NULL), 0);
    for (size_t k = 0; k < 4; k++)
        assert_int_equal(out->link[k].suspect, k == 0);
    nt_model_destroy(out);
    nt_model_destroy(m);
}

/* The sweep with six disturbed rounds from this one on; returns how many links are loaded. valued:
 * no link that traffic could fill is left as a bound. */
static size_t judge_disturbed(const struct nt_network *net, size_t round, bool valued)
{
    struct rates_run run = {.disturbed_from = round, .disturbed_to = round + 5, .disturbed = 0.6};
    struct rates_verdict v = {0};
    size_t loaded = 0;
    rates_sweep_into(net, NULL, 0.01, 7, &run);
    rates_judge(&run, true, &v);
    if (v.wrong + v.false_bounds + v.invented + (valued ? v.hidden + v.ratios_wrong : 0) > 0)
        fail_msg("round %zu: %zu wrong, %zu bounds, %zu invented, %zu hidden, %zu ratios", round,
                 v.wrong, v.false_bounds, v.invented, v.hidden, v.ratios_wrong);
    for (size_t k = 0; k < run.found->links; k++)
        loaded += run.found->link[k].loaded_MBps > 0;
    rates_run_fini(&run);
    return loaded;
}

/* A time of six rounds between switches in which the machine was busy costs no link its bandwidth,
 * and none is blamed; a link of which no two rounds agree is a bound. Without the checks of rounds
 * it is one in three. Where links carry less down than up, pairs show
 * half of the directions, and a link may be left as a bound. */
TEST(test_a_disturbed_round_is_measured_again)
{
    static const struct rates_tree table[] = {
        {3, {2, 2, 4}, {1.3, 1.5}, false, 100, 0, 0, false, 0},
        {3, {2, 2, 4}, {1.3, 1.5}, false, 100, 0, 0, false, 0.75},
        {2, {3, 4}, {1.5}, false, 100, 0, 0, false, 0.75},
    };
    size_t loaded = 0, all = 0;
    for (size_t k = 0; k < COUNT(table); k++) {
        SCOPED(network) *net = rates_network(&table[k], 1);
        struct nt_bandwidth_options own = {.phases = NT_BANDWIDTH_HOST_LINKS};
        struct rates_run quiet = rates_sweep(net, &own, 0.01, 7);
        size_t hosts_rounds = quiet.rounds;
        rates_run_fini(&quiet);
        quiet = rates_sweep(net, NULL, 0.01, 7);
        size_t rounds = quiet.rounds;
        for (size_t l = 0; l < quiet.found->links; l++)
            assert_at_most(quiet.found->link[l].loaded_MBps, 0);
        rates_run_fini(&quiet);
        for (size_t r = hosts_rounds; r < rounds; r++, all++)
            loaded += judge_disturbed(net, r, k == 0);
    }
    assert_in_range(loaded, 1, 10 * all); /* those of groups, whose rounds had the same flows */
}

/* Rounds whose rates agree with others of the tier are not measured again: of links that carry as
 * much both ways, those between pairs of groups confirm the rest. One that is narrower is. */
TEST(test_what_agrees_is_measured_once)
{
    static const struct rates_tree table[] = {
        {3, {3, 3, 6}, {2, 2}, false, 100, 0, 0, false, 0},
        {3, {3, 3, 6}, {2, 2}, false, 100, 0, 1, true, 0},
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        SCOPED(network) *net = rates_network(&table[k], 1);
        struct nt_bandwidth_options unchecked = {.once = true};
        struct rates_run checked = rates_sweep(net, NULL, 0.01, 7);
        struct rates_run once = rates_sweep(net, &unchecked, 0.01, 7);
        assert_at_least(checked.rounds, once.rounds + 2 * k);
        assert_at_most(checked.rounds, once.rounds + 6 * k);
        rates_run_fini(&checked);
        rates_run_fini(&once);
    }
}

/* Another job's traffic in some rounds: the link is loaded, and neither a value nor suspect where
 * no two rounds agree; where two do, they are its bandwidth. agree: in how many directions they do;
 * without any there is no ratio of hosts to uplink. */
TEST(test_load_is_no_narrow_link)
{
    struct nt_model *m = two_leaves(), *out;
    for (int agree = 0; agree < 3; agree++) {
        struct nt_measured_flow flow[9][2];
        struct nt_flow_round rounds[9];
        /* up and down in turn */
        double inner[5] = {agree > 1 ? 75 : 60, 75, 45, agree > 0 ? 75 : 60, 50};
        for (uint32_t r = 0; r < 9; r++) {
            bool own = r < 4, turned = r % 2 == 1;
            for (uint32_t f = 0; f < 2; f++) {
                uint32_t a = own ? 2 * f : f, b = own ? a + 1 : f + 2;
                double rate = own ? 100 : r == 8 ? 75 : inner[r - 4];
                flow[r][f] = (struct nt_measured_flow){turned ? b : a, turned ? a : b, rate};
            }
            rounds[r] = (struct nt_flow_round){2, flow[r]};
        }
        assert_int_equal(nt_infer_flows(m, rounds, 9, &out, NULL), 0);
        const struct nt_link *l = &out->link[4];
        assert_true(l->loaded_MBps == 90 && l->bandwidth_MBps == 150);
        assert_int_equal(l->at_least, agree == 0);
        assert_int_equal(l->forth_at_least, agree == 1);
        assert_false(l->back_at_least || l->suspect);
        for (size_t s = 0; s < 2; s++) { /* 200 over 150, never over 90 */
            assert_false(out->oversubscription[s] > 1.4);
            assert_int_equal(isnan(out->oversubscription[s]), agree == 0);
        }
        nt_model_destroy(out);
    }
    nt_model_destroy(m);
}

/* A host's link that degrades makes no uplink less oversubscribed; two alike are another
 * generation, which sends less. */
TEST(test_oversubscription_does_not_improve)
{
    static const struct rates_tree tree = {2, {3, 4}, {2}, false, 100, 0, 0, false, 0};
    for (uint32_t slow = 0; slow < 3; slow++) {
        SCOPED(network) *net = rates_network(&tree, 3);
        for (uint32_t k = 0, host = 0; 2 * k < net->arcs && host < slow; k++)
            if (net->arc[2 * k].from < net->hosts || net->arc[2 * k].to < net->hosts) {
                net->arc[2 * k].rate_MBps = net->arc[2 * k + 1].rate_MBps = 60;
                host++;
            }
        struct rates_run run = rates_sweep(net, NULL, 0.005, 4);
        double least = INFINITY;
        for (size_t s = 0; s < run.found->switches; s++)
            least =
                fmin(least, isnan(run.found->oversubscription[s]) ? INFINITY
                                                                  : run.found->oversubscription[s]);
        if (slow < 2 ? !(least > 1.95) : !(least < 1.85))
            fail_msg("%u slow hosts: %.3f:1", slow, least);
        rates_run_fini(&run);
    }
}

/* ---- other networks ---- */

/* Where routes collide, what was reached is marked as effective, never as a link's own. */
TEST(test_routed_fat_tree)
{
    SCOPED(network) *net = made_network("fattree:8,2");
    struct rates_run run = rates_sweep(net, NULL, 0.01, 1);
    for (size_t k = 0; k < run.found->links; k++) {
        const struct nt_link *is = &run.found->link[k], *was = &run.truth->link[k];
        assert_holds(is->bandwidth_MBps < 1.03 * was->bandwidth_MBps || is->a < net->hosts,
                     "%g of %g MB/s", is->bandwidth_MBps, was->bandwidth_MBps);
        assert_false(is->suspect);
        if (is->a >= net->hosts && is->bandwidth_MBps < 0.9 * was->bandwidth_MBps)
            assert_true(is->effective || is->at_least);
    }
    rates_run_fini(&run);
}

/* ---- links between switches on cycles ---- */

/* Links between switches get a rate of their own in each direction, from a quarter of a host's to
 * more than the hosts at both ends can send. */
static struct nt_network *known_cycles(const char *text, uint64_t seed)
{
    struct nt_spec spec;
    struct nt_network *net;
    struct nt_rng rng;
    rates_must(nt_spec_parse(text, &spec, &err), &err);
    rates_must(nt_network_build(&spec, NULL, &net, &err), &err);
    nt_rng_init(&rng, seed);
    for (size_t k = 0; k < net->arcs; k++)
        if (net->arc[k].from >= net->hosts && net->arc[k].to >= net->hosts)
            net->arc[k].rate_MBps = 12500 * (0.25 + 4 * nt_rng_uniform(&rng));
    return net;
}

struct cycle_verdict {
    size_t ways, values, wrong, high; /* of links between switches */
    size_t filled, hidden;            /* that the nearest hosts could fill; of them no values */
    size_t hosts_wrong;
};

static void judge_cycles(const struct nt_network *net, double sd, uint64_t seed, size_t nearest,
                         struct cycle_verdict *v)
{
    struct rates_run run = rates_sweep(net, NULL, sd, seed);
    for (size_t k = 0; k < run.found->links; k++)
        for (int back = 0; back < 2; back++) {
            const struct nt_link *l = &run.found->link[k];
            bool inner = l->a >= run.found->hosts && l->b >= run.found->hosts;
            bool bound = l->at_least || (back ? l->back_at_least : l->forth_at_least);
            double off = rates_way(l, back) / rates_way(&run.truth->link[k], back);
            if (!inner) {
                v->hosts_wrong += !bound && !(fabs(off - 1) < 0.1); /* the best of several */
                continue;
            }
            bool fills = rates_way(&run.truth->link[k], back) < 0.9 * 12500 * (double)nearest;
            bool value = !bound && !isnan(off) && !l->effective;
            v->ways++;
            v->values += value;
            v->wrong += value && !(fabs(off - 1) < 0.06);
            v->high += bound && off > 1.06;
            v->filled += fills;
            v->hidden += fills && !value;
        }
    rates_run_fini(&run);
}

TEST(links_on_cycles_are_values_or_bounds)
{
    static const struct {
        const char *spec;
        size_t nearest; /* hosts at a switch */
    } known[] = {{"ring:4,hosts=3", 3},    {"ring:7,hosts=4", 4},   {"torus:4x4,hosts=2", 2},
                 {"torus:5x5,hosts=3", 3}, {"mesh:4x3,hosts=3", 3}, {"hypercube:4,hosts=2", 2},
                 {"dragonfly:5x4x4", 4},   {"aries:3x2x3x3", 3},    {"ttorus:6x4:2,hosts=3", 3},
                 {"dragonfly:3x4x2", 2}};
    const double sds[] = {0, 0.02};
    struct cycle_verdict v = {0};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (size_t s = 0; s < 2; s++)
            for (uint64_t seed = 1; seed <= 4; seed++) {
                SCOPED(network) *net = known_cycles(known[k].spec, seed);
                judge_cycles(net, sds[s], seed, known[k].nearest, &v);
            }
    assert_int_equal(v.wrong, 0);
    assert_int_equal(v.high, 0);
    assert_int_equal(v.hosts_wrong, 0);
    assert_int_equal(v.hidden, 0);
    assert_above(v.values, v.filled * 11 / 10); /* more hosts than the nearest fill others */
}

/* A host whose link is narrow is suspect, and no other link is. */
TEST(narrow_hosts_on_cycles_are_suspect)
{
    enum { HOST = 2 };
    static const char *const known[] = {"ring:6,hosts=4", "mesh:4x3,hosts=3", "torus:4x4,hosts=2"};
    for (size_t k = 0; k < COUNT(known); k++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            bool narrow = seed % 4 != 0;
            SCOPED(network) *net = known_cycles(known[k], seed);
            for (size_t a = 0; a < net->arcs && narrow; a++)
                if (net->arc[a].from == HOST || net->arc[a].to == HOST)
                    net->arc[a].rate_MBps *= seed % 2 == 0 ? 0.5 : 0.1;
            struct rates_run run = rates_sweep(net, NULL, 0.02, seed);
            for (size_t l = 0; l < run.found->links; l++)
                assert_int_equal(run.found->link[l].suspect,
                                 narrow && run.found->link[l].a == HOST);
            rates_run_fini(&run);
        }
}

/* ---- bisection ---- */

static struct nt_model *known_graph(const char *text)
{
    struct nt_spec spec;
    struct nt_network *net;
    struct nt_model *m;
    rates_must(nt_spec_parse(text, &spec, &err), &err);
    rates_must(nt_network_build(&spec, NULL, &net, &err), &err);
    rates_must(nt_network_truth(net, &m, &err), &err);
    nt_network_destroy(net);
    return m;
}

static void find_bisection(struct nt_model *m)
{
    struct nt_rooted_tree *rooted;
    rates_must(nt_rooted_tree_create(m, &rooted, &err), &err);
    rates_must(nt_bisection_find(m, rooted, &err), &err);
    nt_rooted_tree_destroy(rooted);
}

/* In units of a link, 12,500 MB/s. A d-dimensional torus or mesh is cut across its longest side, a
 * hypercube across a dimension; an odd side costs what the middle does. */
TEST(bisections_of_known_graphs)
{
    static const struct {
        const char *spec;
        double links;
        bool at_most;
    } known[] = {
        {"ring:8", 2, false},
        {"torus:4x4", 8, false},
        {"torus:6x3", 6, false},
        {"mesh:4x4", 4, false},
        {"hypercube:4", 8, false},
        {"fullmesh:6", 9, false},
        {"ring:4,hosts=3", 2, false},
        {"torus:4x4,hosts=2", 8, false},
        {"ring:5,hosts=2", 3, false}, /* a host of the middle switch is on the other side */
        {"hypercube:3,hosts=4", 4, false},
        {"dragonfly:2x4x2", 1, false},
        {"torus:8x8", 16, true},
        {"torus:8x4x4", 32, true},
        {"hypercube:6", 32, true},
        {"mesh:8x6", 6, true},
        {"torus:8x6,hosts=3", 12, true},
        {"fullmesh:30,hosts=2", 30, true}, /* half of the hosts alone */
        {"dragonfly:6x5x3", 9, true}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        SCOPED(model) *m = known_graph(known[k].spec);
        find_bisection(m);
        if (!(fabs(m->bisection_MBps / 12500 - known[k].links) < 1e-6) ||
            m->bisection_at_most != known[k].at_most)
            fail_msg("%s: %g links, expected %g", known[k].spec, m->bisection_MBps / 12500,
                     known[k].links);
        m->link[0].bandwidth_back_MBps = NAN;
        find_bisection(m);
        assert_true(isnan(m->bisection_MBps) && !m->bisection_at_most);
    }
}

/* A. Bufe (Hamburg 2014), figure 2.21: 2, 3, 3, 4 and 6 hosts behind switches at one; here 1,250
 * MB/s to a host and 5,000 between switches: the switch of 6 and 3 hosts against the others. */
TEST(bisection_of_a_partition)
{
    static const uint32_t hosts[] = {2, 3, 3, 4, 6};
    SCOPED(model) *m;
    uint32_t link = 0, host = 0;
    rates_must(nt_model_create(18, 6, 23, &m, &err), &err);
    for (uint32_t s = 0; s < 5; s++) {
        for (uint32_t h = 0; h < hosts[s]; h++, host++)
            m->link[link++] = (struct nt_link){
                .a = host, .b = 19 + s, .bandwidth_MBps = 1250, .bandwidth_back_MBps = 1250};
        m->link[link++] = (struct nt_link){
            .a = 19 + s, .b = 18, .bandwidth_MBps = 5000, .bandwidth_back_MBps = 5000};
    }
    rates_must(nt_model_canonicalise(m, &err), &err);
    find_bisection(m);
    assert_close(m->bisection_MBps, 8750, 1e-9);
}

static struct nt_link random_link(struct nt_rng *rng, size_t a, size_t b, double MBps)
{
    struct nt_link l = {.a = (uint32_t)a, .b = (uint32_t)b};
    l.bandwidth_MBps = MBps * (1 + nt_rng_uniform(rng));
    l.bandwidth_back_MBps = MBps * (1 + nt_rng_uniform(rng));
    return l;
}

/* Switches with one to four hosts, any two of them linked; idle: switches that lead nowhere. */
static struct nt_model *random_graph(uint64_t seed, size_t switches, size_t idle)
{
    struct nt_rng rng;
    struct nt_model *m;
    size_t n = switches * 5 / 2, hosts = n + 2, k = 0;
    nt_rng_init(&rng, seed);
    rates_must(nt_model_create(hosts, switches + idle, hosts + switches - 1 + n + idle, &m, &err),
               &err);
    for (size_t h = 0; h < hosts; h++)
        m->link[k++] = random_link(&rng, h, hosts + h * h % switches, 100 * (double)(1 + seed % 8));
    for (size_t s = 1; s < switches; s++)
        m->link[k++] = random_link(&rng, hosts + nt_rng_below(&rng, s), hosts + s, 200);
    for (size_t a, b, more = 0; more < n; more++) {
        a = nt_rng_below(&rng, switches);
        b = (a + 1 + nt_rng_below(&rng, switches - 1)) % switches;
        m->link[k++] = random_link(&rng, hosts + a, hosts + b, 200);
    }
    for (size_t s = 0; s < idle; s++)
        m->link[k++] = random_link(&rng, hosts + s, hosts + switches + s, 200);
    return m;
}

/* All halvings of the one are tried, those of the other are searched. */
TEST(a_search_finds_small_halves)
{
    enum { GRAPHS = 100 };
    double more = 0;
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        SCOPED(model) *all = random_graph(seed, 18, 0), *some = random_graph(seed, 18, 8);
        find_bisection(all);
        find_bisection(some);
        assert_true(some->bisection_at_most && !all->bisection_at_most);
        assert_at_least(some->bisection_MBps, all->bisection_MBps * (1 - 1e-9));
        more += some->bisection_MBps / all->bisection_MBps - 1;
    }
    assert_at_most(more / GRAPHS, 0.05);
}

/* A link that carries nothing makes a tree a graph, whose halvings are all tried. */
TEST(trees_and_graphs_have_one_bisection)
{
    for (unsigned seed = 1; seed <= 40; seed++) {
        struct rates_tree t = {.tiers = 3,
                               .fan = {2 + seed % 3, 2 + seed % 2, 3},
                               .over = {1 + seed % 4, 1.5},
                               .host_MBps = 100,
                               .slow_hosts = 2,
                               .slow_links = 3,
                               .asymmetry = 0.7};
        SCOPED(network) *net = rates_network(&t, seed);
        SCOPED(model) *tree, *graph;
        rates_must(nt_network_truth(net, &tree, &err), &err);
        rates_must(nt_model_create(tree->hosts, tree->switches, tree->links + 1, &graph, &err),
                   &err);
        memcpy(graph->link, tree->link, tree->links * sizeof *tree->link);
        graph->link[tree->links] =
            (struct nt_link){.a = (uint32_t)tree->hosts, .b = (uint32_t)tree->hosts + 1};
        find_bisection(tree);
        find_bisection(graph);
        assert_above(tree->bisection_MBps, 0);
        assert_close(graph->bisection_MBps, tree->bisection_MBps, 1e-6);
    }
}

TEST(test_torus)
{
    SCOPED(network) *net = made_network("torus:4x4");
    net->arc[6].rate_MBps /= 3;
    uint32_t from = net->arc[6].from, to = net->arc[6].to;
    struct rates_run run = rates_sweep(net, NULL, 0.01, 1);
    for (size_t k = 0; k < run.found->links; k++) {
        const struct nt_link *l = &run.found->link[k];
        double forth = l->a == from && l->b == to ? 3 : 1;
        double back = l->b == from && l->a == to ? 3 : 1;
        assert_close(l->bandwidth_MBps * forth / 12500, 1, 0.05);
        assert_close(l->bandwidth_back_MBps * back / 12500, 1, 0.05);
        assert_false(l->at_least);
    }
    rates_run_fini(&run);
}

/* ---- from a record ---- */

/* Two leaves by latency, flows as in test_by_hand, named so that their order turns. */
static struct nt_samples *record(bool warm)
{
    static const char *const name[] = {"d", "c", "b", "a"};
    static const uint32_t flows[4][2][2] = {
        {{0, 1}, {2, 3}}, {{1, 0}, {3, 2}}, {{0, 2}, {1, 3}}, {{2, 0}, {3, 1}}};
    static const double rate[] = {10, 10, 6, 4};
    struct nt_samples *s;
    assert_int_equal(nt_samples_create(&s, NULL), 0);
    for (size_t h = 0; h < 4; h++)
        assert_int_equal(nt_samples_add_host(s, name[h], NULL), 0);
    nt_samples_begin_phase(s, "latency", NULL);
    for (uint32_t a = 0; a < 4; a++)
        for (uint32_t b = 0; b < 4; b++) {
            nt_samples_begin_round(s, NULL);
            struct nt_sample x = {
                .kind = NT_SAMPLE_LATENCY, .a = a, .b = b, .count = 9, .bytes = 8};
            x.value_us = x.latency.median_us = a / 2 == b / 2 ? 1 : 3;
            if (a != b)
                assert_int_equal(nt_samples_add(s, x, NULL, NULL), 0);
        }
    for (size_t r = 0; r < 4; r++) {
        nt_samples_begin_phase(s, warm ? "warm-up" : "tiers", NULL);
        nt_samples_begin_round(s, NULL);
        for (size_t f = 0; f < 2; f++) {
            struct nt_sample x = {.kind = NT_SAMPLE_BANDWIDTH,
                                  .a = flows[r][f][0],
                                  .b = flows[r][f][1],
                                  .count = 1,
                                  .bytes = rate[r] * 1e6,
                                  .value_us = 1e6};
            assert_int_equal(nt_samples_add(s, x, NULL, NULL), 0);
        }
    }
    nt_samples_finish(s, NT_STATUS_OK, 1);
    return s;
}

TEST(test_record)
{
    for (int warm = 0; warm < 2; warm++) {
        SCOPED(samples) *s = record(warm);
        SCOPED(map) *map;
        must(nt_solve_samples(s, NULL, NULL, &map, &err));
        size_t middle = 0;
        for (size_t k = 0; k < map->model->links; k++) {
            const struct nt_link *l = &map->model->link[k];
            if (warm) {
                assert_true(isnan(l->bandwidth_MBps));
            } else if (l->a < 4) {
                assert_close(l->bandwidth_MBps, 10, 1e-6);
            } else {
                /* leaf 4 has a and b, the record's 3 and 2: from it the slower way */
                middle++;
                assert_close(l->bandwidth_MBps, 8, 1e-6);
                assert_close(l->bandwidth_back_MBps, 12, 1e-6);
            }
        }
        assert_int_equal(middle, !warm);
    }
}

/* Both directions of the class of each link, without looking at all links for each: that would take
 * many times as long as there is. */
TEST(test_many_hosts)
{
    enum { LEAVES = 32768, HOSTS = 2 * LEAVES };
    SCOPED(model) *m, *found;
    must(nt_model_create(HOSTS, LEAVES + 1, HOSTS + LEAVES, &m, &err));
    for (uint32_t h = 0; h < HOSTS; h++) {
        m->link[h].a = h;
        m->link[h].b = HOSTS + h / 2;
    }
    for (uint32_t l = 0; l < LEAVES; l++) {
        m->link[HOSTS + l].a = HOSTS + l;
        m->link[HOSTS + l].b = HOSTS + LEAVES;
    }
    m->tier[LEAVES] = 2;
    const struct nt_measured_flow flow = {0, HOSTS - 1, 100};
    const struct nt_flow_round round = {1, &flow};
    clock_t began = clock();
    must(nt_infer_flows(m, &round, 1, &found, &err));
    assert_below((clock() - began) / CLOCKS_PER_SEC, 5);
    assert_true(found->link[0].bandwidth_MBps == 100 && isnan(found->link[1].bandwidth_MBps));
}

/* ---- shared ---- */

/* Two uplinks with a cable in common above them, which the model has apart: the planner's rounds
 * over the real network, and the finding over the believed one. */

enum { LEAF_HOSTS = 6, SEEDS = 20 };

static const double HOST_MBPS = 100, UPLINK_MBPS = 300;

/* Leaves below one switch. shared: a bit for each leaf whose uplink ends in a switch more, which
 * has one uplink as wide as one of theirs for all of them; 0: none. */
static struct nt_model *make_leaves(uint32_t leaves, unsigned shared)
{
    struct nt_model *m;
    uint32_t hosts = leaves * LEAF_HOSTS, root = hosts + leaves, joint = root + 1;
    size_t more = shared != 0, switches = leaves + 1 + more, links = hosts + leaves + more;
    must(nt_model_create(hosts, switches, links, &m, &err));
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
    struct nt_faults_found own;
    struct nt_model *blank = rates_blank(believed), *found;
    size_t rounds = rates_record(net, blank, &options, &noise, round, &run);
    must(nt_infer_flows(blank, round, rounds, &found, &err));
    must(nt_faults_find(found, true, &own, &err));
    size_t count = own.count;
    memcpy(fault, own.fault, count * sizeof *fault);
    nt_faults_found_fini(&own);
    must(nt_shared_paths_find(found, round, rounds, fault, &count, &err));
    rates_forget(round, rounds);
    nt_model_destroy(blank);
    nt_model_destroy(found);
    return count;
}

static size_t sweep_leaves(uint32_t leaves, unsigned shared, uint64_t seed)
{
    struct nt_model *real = make_leaves(leaves, shared), *believed = make_leaves(leaves, 0);
    struct nt_network *net;
    must(nt_network_from_model(real, &net, &err));
    size_t count = sweep(net, believed, seed);
    nt_network_destroy(net);
    nt_model_destroy(real);
    nt_model_destroy(believed);
    return count;
}

/* Every two of 4 to 8 leaves. Two that never send or receive in the same round show nothing, and of
 * four leaves it is not known whether two, the other two or the switch above are full. */
TEST(uplinks_that_share_a_cable_are_found)
{
    size_t found = 0, all = 0;
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

TEST(the_two_of_a_pairing_are_always_found)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(sweep_leaves(6, 3u << 2 * k, seed), 1);
            assert_int_equal(fault[0].way, NT_FAULT_BOTH);
            assert_int_equal(fault[0].part.a, 6 * LEAF_HOSTS + 2 * k);
        }
}

/* Three are not two, and none are none. */
TEST(what_more_than_two_share_is_not_blamed_on_two)
{
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
TEST(links_apart_are_not_blamed)
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
    for (size_t t = 0; t < sizeof trees / sizeof *trees; t++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            SCOPED(network) *net = rates_network(&trees[t], seed);
            SCOPED(model) *truth;
            must(nt_network_truth(net, &truth, &err));
            size_t n = sweep(net, truth, seed);
            for (size_t f = 0; f < n; f++)
                if (fault[f].part.kind == NT_FAULT_PATH_SHARED)
                    fail_msg("tree %zu, seed %d: %u and %u", t, (int)seed, fault[f].part.a,
                             fault[f].part.b);
        }
}

/* Two hosts that get 100 MB/s alone and 40 each together: from senders of one leaf, whose uplink
 * all of it goes over, that may be the uplink; with one of them from their own leaf it is theirs.
 */
TEST(flows_over_one_link_do_not_blame_two_others)
{
    SCOPED(model) *m = make_leaves(3, 0);
    const uint32_t one = LEAF_HOSTS, other = LEAF_HOSTS + 1, senders[] = {1, LEAF_HOSTS + 5};
    for (size_t k = 0; k < 2; k++) {
        const struct nt_measured_flow first[] = {{0, one, 100}},
                                      second[] = {{senders[k], other, 100}},
                                      both[] = {{0, one, 40}, {senders[k], other, 40}},
                                      more[] = {{0, one + 2, 100},
                                                {1, one + 3, 100},
                                                {2 * LEAF_HOSTS, one + 4, 100}};
        const struct nt_flow_round round[] = {
            {1, first}, {1, second}, {2, both}, {2, both}, {3, more}};
        size_t count = 0;
        must(nt_shared_paths_find(m, round, 5, fault, &count, &err));
        assert_int_equal(count, k);
        assert_true(k == 0 || (fault[0].part.a == one && fault[0].part.b == other &&
                               fault[0].way == NT_FAULT_DOWN));
    }
}

/* ---- from a record ---------------------------------------------------------------------------*/

static void record_latencies(struct nt_samples *s, const struct nt_network *believed)
{
    struct nt_measure_noise noise = {.sd = 0.01, .seed = 3};
    must(nt_samples_begin_phase(s, "latency", &err));
    must(nt_samples_begin_round(s, &err));
    for (uint32_t a = 0; a < believed->hosts; a++)
        for (uint32_t b = 0; b < believed->hosts; b++) {
            struct nt_sample x = {
                .kind = NT_SAMPLE_LATENCY, .a = a, .b = b, .count = 10, .bytes = 8};
            x.value_us = x.latency.median_us = nt_measure_latency(believed, &noise, a, b, 0);
            if (a != b)
                must(nt_samples_add(s, x, NULL, &err));
        }
    must(nt_samples_end_phase(s, 1, &err));
}

static void record_flows(struct nt_samples *s, const struct nt_flow_round *round, size_t rounds)
{
    must(nt_samples_begin_phase(s, "tiers", &err));
    for (size_t r = 0; r < rounds; r++) {
        must(nt_samples_begin_round(s, &err));
        for (size_t k = 0; k < round[r].flows; k++) {
            const struct nt_measured_flow *f = &round[r].flow[k];
            struct nt_sample x = {.kind = NT_SAMPLE_BANDWIDTH,
                                  .a = f->from,
                                  .b = f->to,
                                  .count = 1,
                                  .bytes = f->rate_MBps * 1e4,
                                  .value_us = 1e4};
            must(nt_samples_add(s, x, NULL, &err));
        }
    }
    must(nt_samples_end_phase(s, 1, &err));
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
    must(nt_network_from_model(real, &net, &err));
    must(nt_network_from_model(believed, &apart, &err));
    must(nt_samples_create(&s, &err));
    for (uint32_t h = 0; h < net->hosts; h++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", h + 1);
        must(nt_samples_add_host(s, name, &err));
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

TEST(the_map_of_a_record_says_so)
{
    for (unsigned shared = 0; shared <= 3; shared += 3) {
        SCOPED(samples) *s = record_sweep(6, shared);
        SCOPED(map) *map;
        bool told = false;
        must(nt_solve_samples(s, NULL, NULL, &map, &err));
        for (size_t k = 0; k < map->warnings; k++)
            told = told || strstr(map->warning[k], "the links of s2 and s3 share a path: 3");
        assert_int_equal(map->faults, shared != 0);
        assert_int_equal(told, shared != 0);
        for (size_t k = 0; k < map->model->links; k++)
            assert_false(map->model->link[k].suspect);
    }
}

RUN_TESTS
