/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of switches with several hosts each, by method tiers. */
#include "asserts.h"
#include "faults.h"
#include "graph_score.h"
#include "infer.h"
#include "known_network.h"
#include "rng.h"
#include "truth_readings.h"

enum { SEEDS = 4 };

struct graph {
    size_t dimensions, size[3], hosts; /* per switch */
    bool wraps;
    enum nt_family family;
};

static const struct graph graphs[] = {
    {1, {4}, 3, true, NT_FAMILY_RING},
    {1, {7}, 2, true, NT_FAMILY_RING},
    {1, {12}, 6, true, NT_FAMILY_RING},
    {2, {4, 3}, 2, false, NT_FAMILY_MESH},
    {2, {5, 4}, 3, true, NT_FAMILY_TORUS},
    {3, {3, 3, 3}, 2, true, NT_FAMILY_TORUS},
    {3, {2, 2, 2}, 4, false, NT_FAMILY_HYPERCUBE},
};

/* Readings of hosts whose switches are the vertices of a lattice: host h is on switch h / hosts. */
static struct nt_matrix *measure(const struct graph *g, double sd, struct nt_rng *rng)
{
    const double host_us = 0.6, link_us = 0.5;
    struct nt_model *lattice = known_lattice(g->dimensions, g->size, g->wraps, 0, host_us, link_us);
    size_t n = lattice->hosts * g->hosts;
    struct nt_matrix *between, *x;
    known_must(nt_model_latencies(lattice, &between, &err), &err);
    known_must(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &x, &err), &err);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            size_t a = i / g->hosts, b = j / g->hosts;
            double us = a == b ? 2 * host_us : (double)nt_matrix_get(between, a, b);
            if (i != j)
                nt_matrix_set(x, i, j, (float)(us * (1 + sd * nt_rng_normal(rng))));
        }
    nt_matrix_destroy(between);
    nt_model_destroy(lattice);
    return x;
}

/* Each host is with those of its switch, and with no other. */
static void hosts_are_attached(const struct nt_model *m, size_t hosts)
{
    uint32_t *at = calloc(m->hosts, sizeof *at);
    assert_non_null(at);
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a < m->hosts && m->link[k].b >= m->hosts)
            at[m->link[k].a] = m->link[k].b;
    for (size_t i = 0; i < m->hosts; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(at[i] == at[j], i / hosts == j / hosts);
    free(at);
}

/* The links of hosts have standard errors, and only the given one is degraded (hosts: none). */
static void host_is_named(const struct nt_model *m, uint32_t host)
{
    struct nt_faults_found found;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a < m->hosts)
            assert_at_least(m->link[k].latency_se_us, 0);
    known_must(nt_faults_find(m, false, &found, &err), &err);
    assert_int_equal(found.count, host < m->hosts);
    if (found.count > 0) {
        assert_int_equal(found.fault[0].part.kind, NT_FAULT_LINK_SLOW);
        assert_int_equal(found.fault[0].part.a, host);
    }
    nt_faults_found_fini(&found);
}

/* A standard error is that of the links in many measurements of one network. */
TEST(errors_of_host_links_are_right)
{
    enum { RUNS = 20 };
    double square = 0, count = 0;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        SCOPED(matrix) *x = measure(&graphs[seed % 2 == 0 ? 0 : 3], 0.02, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        for (size_t k = 0; k < m->links; k++)
            if (m->link[k].a < m->hosts) {
                double z = (m->link[k].latency_us - 0.6) / m->link[k].latency_se_us;
                square += z * z;
                count++;
            }
    }
    print_message("mean square of the standard score: %.2f\n", square / count);
    assert_above(square / count, 0.4);
    assert_below(square / count, 1.2);
}

TEST(graphs_of_switches_are_found)
{
    const double sds[] = {0, 0.01, 0.03};
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++)
        for (size_t s = 0; s < sizeof sds / sizeof *sds; s += draws(2, 1)) {
            struct nt_rng rng;
            nt_rng_init(&rng, 10 * k + s);
            SCOPED(matrix) *x = measure(&graphs[k], sds[s], &rng);
            SCOPED(model) *m = known_inferred(x, 1);
            size_t switches = 1;
            for (size_t d = 0; d < graphs[k].dimensions; d++)
                switches *= graphs[k].size[d];
            assert_int_equal(m->family, graphs[k].family);
            assert_int_equal(m->switches, switches);
            assert_above(m->confidence, 0.9);
            hosts_are_attached(m, graphs[k].hosts);
            host_is_named(m, UINT32_MAX);
            for (size_t l = 0; l < m->links; l++)
                if (m->link[l].a >= m->hosts)
                    assert_close(m->link[l].latency_us, 0.5, 0.02);
        }
}

/* A line of switches has no cycle: it is a tree, with the same groups, or not sure. */
TEST(a_line_of_switches_is_a_tree)
{
    size_t found = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        SCOPED(model) *truth = known_chain(6, 5, 0.6, 0.3);
        SCOPED(matrix) *x = known_measure(truth, &(struct known_noise){.sd = 0.02}, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        assert_int_equal(m->family, NT_FAMILY_TREE);
        found += known_same_shape(truth, m);
        assert_holds(known_same_shape(truth, m) || m->confidence < 0.9, "%s, confidence %g",
                     nt_family_name(m->family), m->confidence);
    }
    assert_at_least(found, SEEDS - 1);
}

/* A chain of more switches than tiers have, up and down: its hosts' links are compared. */
TEST(a_slow_host_of_a_chain_is_named)
{
    enum { HOST = 9 };
    int found = 0;
    for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
        struct nt_rng rng;
        bool slow = seed % 2 == 1;
        nt_rng_init(&rng, seed);
        SCOPED(model) *truth = known_chain(8, 4, 0.5, 0.25);
        for (size_t k = 0; k < truth->links; k++)
            truth->link[k].latency_us += slow && truth->link[k].a == HOST ? 1 : 0;
        SCOPED(matrix) *x =
            known_measure(truth, &(struct known_noise){.sd = 0.01, .in_order = true}, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        bool same = known_same_shape(truth, m);
        found += same;
        if (same)
            host_is_named(m, slow ? HOST : UINT32_MAX);
    }
    print_message("%d of %d found\n", found, 2 * SEEDS);
    assert_at_least(found, SEEDS);
}

/* Trees of any depth are no graphs, however few their hosts are. */
TEST(trees_stay_trees)
{
    for (uint64_t seed = 0; seed < 8 * SEEDS; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        struct nt_model *truth =
            seed % 2 == 0
                ? known_balanced(3, (const size_t[]){2, 3, 1 + seed % 4},
                                 (const double[]){0.6, 0.3, 0.2})
                : known_balanced(2, (const size_t[]){4, 2 + seed % 5}, (const double[]){0.6, 0.25});
        SCOPED(matrix) *x = known_measure(truth, &(struct known_noise){.sd = 0.01}, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        assert_holds(m->family == NT_FAMILY_TREE || m->family == NT_FAMILY_STAR, "%s",
                     nt_family_name(m->family));
        nt_model_destroy(truth);
    }
}

/* One host that is far from all others has a long link, and the others keep theirs. */
TEST(a_distant_host_has_a_long_link)
{
    for (size_t n = 4; n <= 20; n += 4) {
        struct nt_rng rng;
        SCOPED(matrix) *x;
        nt_rng_init(&rng, n);
        known_must(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &x, &err), &err);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (i != j)
                    nt_matrix_set(
                        x, i, j,
                        (float)((i == 1 || j == 1 ? 2 : 1) * (1 + 0.01 * nt_rng_normal(&rng))));
        SCOPED(model) *m = known_inferred(x, 1);
        assert_int_equal(m->family, NT_FAMILY_STAR);
        for (size_t k = 0; k < m->links; k++)
            assert_close(m->link[k].latency_us, m->link[k].a == 1 ? 1.5 : 0.5, 0.05);
    }
}

/* A host whose link is longer by a whole latency stays on its leaf, with the others. */
TEST(a_host_with_a_slow_link_stays_in_its_leaf)
{
    for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        struct nt_model *truth = known_balanced(3, (const size_t[]){3, 4, 3 + seed % 2},
                                                (const double[]){0.6, 0.3, 0.4});
        for (size_t k = 0; k < truth->links; k++)
            truth->link[k].latency_us += truth->link[k].a == 3 ? 2.6 : 0;
        struct nt_matrix *x = known_measure(
            truth, &(struct known_noise){.sd = 0.01, .spread = 0.1, .in_order = true}, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        assert_true(known_same_shape(truth, m));
        for (size_t k = 0; k < m->links; k++)
            assert_close(m->link[k].latency_us, truth->link[k].latency_us, 0.05);
        nt_model_destroy(truth);
        nt_matrix_destroy(x);
    }
}

/* A host whose link is longer by two and a half links between switches has no switch of its own. */
TEST(a_host_with_a_slow_link_stays_at_its_switch)
{
    enum { HOST = 4 };
    static const struct graph slow[] = {{1, {6}, 3, true, NT_FAMILY_RING},
                                        {2, {3, 3}, 3, false, NT_FAMILY_MESH}};
    for (size_t k = 0; k < sizeof slow / sizeof *slow; k++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct nt_rng rng;
            nt_rng_init(&rng, seed);
            SCOPED(matrix) *x = measure(&slow[k], 0.01, &rng);
            for (size_t h = 0; h < x->n; h++)
                if (h != HOST) {
                    nt_matrix_set(x, h, HOST, nt_matrix_get(x, h, HOST) + 1.25F);
                    nt_matrix_set(x, HOST, h, nt_matrix_get(x, HOST, h) + 1.25F);
                }
            SCOPED(model) *m = known_inferred(x, 1);
            assert_int_equal(m->family, slow[k].family);
            assert_above(m->confidence, 0.9);
            hosts_are_attached(m, slow[k].hosts);
            host_is_named(m, HOST);
        }
}

/* Two switches of the cycle are equally far from all others. One of them may have a single host,
 * whose readings alone part them: they agree with each other, and are not wrong. */
TEST(cycles_over_a_switch_without_hosts_are_found)
{
    static struct truth_graph g;
    const struct truth_noise noise = {.core = 0.01};
    size_t found = 0;
    truth_cycle(&g, 0.11);
    for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
        struct nt_rng rng;
        struct truth_net net;
        nt_rng_init(&rng, seed);
        truth_graph_some(&g, TRUTH_SCATTERED, 7, 2, 12, 0.55, &rng, &net);
        SCOPED(matrix) *x = truth_measure(&net, &noise, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        bool same = truth_same_latencies(&net, m);
        found += same;
        assert_holds(same || m->confidence < 0.9, "confidence %g of another network",
                     m->confidence);
        truth_net_fini(&net);
    }
    print_message("%zu of %d found\n", found, 4 * SEEDS);
    assert_at_least(found, 4 * SEEDS - 1);
}

/* One host per switch: the readings do not show how many hops the nearest are apart. The paths do:
 * each is the sum of its links. */
TEST(paths_are_sums_of_links)
{
    static struct truth_graph g;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const struct truth_noise noise = {.core = seed % 2 == 0 ? 0 : 0.003};
        struct nt_rng rng;
        struct truth_net net;
        nt_rng_init(&rng, seed);
        truth_dragonfly(&g, 4, 3, 0.2, 0.46);
        truth_graph_whole(&g, 1, 0.55, &rng, &net);
        SCOPED(matrix) *x = truth_measure(&net, &noise, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        assert_true(truth_same_latencies(&net, m));
        truth_net_fini(&net);
    }
}

/* A ring of six in which one pair reads four times its latency: rounded to hops, it is farther
 * apart than there are switches. And one direction of a tree that reads three times the other, so
 * that no reading counts for the lengths: their errors are not known. */
TEST(readings_far_off_do_no_harm)
{
    enum { N = 8 };
    for (int what = 0; what < 2; what++) {
        size_t n = what == 0 ? 6 : N;
        SCOPED(matrix) *d;
        SCOPED(model) *m;
        must(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &d, &err));
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                size_t steps = i < j ? j - i : i - j, hops = steps < n - steps ? steps : n - steps;
                double ring = (0.8 + 0.5 * (double)hops) * (i + j == 5 && hops == 3 ? 4 : 1);
                double tree = (i / 4 == j / 4 ? 2 : 3) * (i < j ? 3 : 1);
                nt_matrix_set(d, i, j, i == j ? 0 : (float)(what == 0 ? ring : tree));
            }
        must(nt_infer_latency(d, NULL, 1, &m, &err));
        for (size_t k = 0; k < m->links; k++)
            assert_holds(!(m->link[k].latency_se_us > 100), "error %g us",
                         m->link[k].latency_se_us);
    }
}

/* ---- the screen of a score ---- */

enum { RING = 6, RING_HOSTS = 18 };
enum readings { PLAIN, TAILS, FAR_HOST, ERRORS, NO_NOISE, KINDS };

static struct nt_pairs *ring_readings(enum readings kind, struct nt_rng *rng)
{
    struct nt_pair_value value[RING_HOSTS * RING_HOSTS];
    struct nt_pairs *p;
    size_t n = 0;
    for (uint32_t i = 0; i < RING_HOSTS; i++)
        for (uint32_t j = 0; j < i; j++) {
            uint32_t steps = i / 3 - j / 3, hops = steps < RING - steps ? steps : RING - steps;
            double us = 1.2 + 0.5 * hops + (kind == FAR_HOST && i == 7 ? 3 : 0), sd = 0.01;
            sd *= kind == ERRORS && (i + j) % 2 == 0 ? 6 : kind == NO_NOISE ? 0 : 1;
            struct nt_pair_value v = {i, j, us * (1 + sd * nt_rng_normal(rng)), 0, 0};
            v.se_us = kind == ERRORS ? us * sd : 0;
            v.us *= kind == TAILS && (7 * i + j) % 23 == 0 ? 1.5 : 1;
            v.us *= kind == TAILS && i == 9 && j == 2 ? 0.6 : 1;
            value[n++] = v;
        }
    must(nt_pairs_create(RING_HOSTS, value, n, &p, &err));
    return p;
}

static void make_ring(struct nt_switch_graph *g, const uint32_t *order, uint32_t *unit,
                      uint16_t *hops)
{
    for (uint32_t h = 0; h < RING_HOSTS; h++)
        unit[h] = h / 3;
    for (uint32_t a = 0; a < RING; a++)
        for (uint32_t b = 0; b < RING; b++) {
            uint32_t steps = order[a] > order[b] ? order[a] - order[b] : order[b] - order[a];
            hops[a * RING + b] = (uint16_t)(steps < RING - steps ? steps : RING - steps);
        }
    *g = (struct nt_switch_graph){RING, unit, hops, 0.5, RING, true, false};
}

/* The screen rejects no graph that is as likely as the best network, whatever the readings are, and
 * states a score below the least for others. */
TEST(likely_graphs_are_scored_exactly)
{
    static const uint32_t ring[RING] = {0, 1, 2, 3, 4, 5}, other[RING] = {0, 2, 1, 3, 4, 5};
    uint32_t unit[RING_HOSTS];
    uint16_t hops[RING * RING];
    struct nt_switch_graph g;
    for (uint64_t seed = 0; seed < 4 * KINDS; seed++) {
        struct nt_rng rng;
        double exact, again, wrong;
        nt_rng_init(&rng, seed);
        struct nt_pairs *p = ring_readings((enum readings)(seed % KINDS), &rng);
        make_ring(&g, ring, unit, hops);
        must(nt_graph_score(&g, p, -(double)INFINITY, &exact, &err));
        must(nt_graph_score(&g, p, exact - 12, &again, &err));
        assert_close(again, exact, 0.1);
        make_ring(&g, other, unit, hops);
        must(nt_graph_score(&g, p, exact - 12, &wrong, &err));
        assert_below(wrong, exact - 12);
        nt_pairs_destroy(p);
    }
}

RUN_TESTS
