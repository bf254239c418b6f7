/* SPDX-License-Identifier: Apache-2.0 */
/* Max-min fairness: by hand, and its properties over random flows. */
#include "asserts.h"
#include "flows.h"
#include "made_network.h"
#include "rng.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void rate_all(struct nt_network *n, double rate)
{
    for (size_t k = 0; k < n->arcs; k++)
        n->arc[k].rate_MBps = rate;
}

/* A line of 4 hosts, links of 10: a long flow, and a short one on each link but the last, which
 * has two: the long one gets 10/3 there, the others what it leaves. */
TEST(test_line)
{
    SCOPED(network) *n = made_network("mesh:4");
    struct nt_flow f[] = {{0, 3, 0}, {0, 1, 0}, {1, 2, 0}, {2, 3, 0},
                          {2, 3, 0}, {3, 0, 0}, {1, 1, 0}};
    const double expected[] = {10.0 / 3, 20.0 / 3, 20.0 / 3, 10.0 / 3, 10.0 / 3, 10, INFINITY};
    rate_all(n, 10);
    assert_int_equal(nt_flows_share(n, f, COUNT(f), NULL), 0);
    for (size_t k = 0; k < COUNT(f); k++)
        assert_holds(f[k].rate_MBps == expected[k] || fabs(f[k].rate_MBps - expected[k]) < 1e-9,
                     "%g, expected %g MB/s", f[k].rate_MBps, expected[k]);
}

/* Four hosts behind an uplink of two hosts' rate: half each; alone, all. */
TEST(test_uplink)
{
    SCOPED(network) *n = made_network("tree:2x4");
    struct nt_flow f[] = {{0, 4, 0}, {1, 5, 0}, {2, 6, 0}, {3, 7, 0}};
    for (size_t flows = 1; flows <= 4; flows++) {
        assert_int_equal(nt_flows_share(n, f, flows, NULL), 0);
        for (size_t k = 0; k < flows; k++)
            assert_close(f[k].rate_MBps, flows < 2 ? 12500 : 25000.0 / (double)flows, 1e-6);
    }
}

/* Capacity holds; and each flow crosses a full arc on which none is faster: it cannot be raised
 * without lowering one that is not faster (Bertsekas, Gallager: the mark of max-min fairness). */
static void check_fair(const struct nt_network *n, const struct nt_flow *flow, size_t flows)
{
    double *load = calloc(n->arcs, sizeof *load), *fastest = calloc(n->arcs, sizeof *fastest);
    struct nt_walk walk;
    uint32_t arc;
    for (size_t f = 0; f < flows; f++)
        for (nt_walk_begin(n, flow[f].from, flow[f].to, &walk); nt_walk_next(&walk, &arc);) {
            load[arc] += flow[f].rate_MBps;
            fastest[arc] = fmax(fastest[arc], flow[f].rate_MBps);
        }
    for (size_t k = 0; k < n->arcs; k++)
        assert_at_most(load[k], n->arc[k].rate_MBps * (1 + 1e-9));
    for (size_t f = 0; f < flows; f++) {
        bool held = flow[f].from == flow[f].to;
        for (nt_walk_begin(n, flow[f].from, flow[f].to, &walk); nt_walk_next(&walk, &arc);)
            held |= load[arc] >= n->arc[arc].rate_MBps * (1 - 1e-9) &&
                    fastest[arc] <= flow[f].rate_MBps * (1 + 1e-9);
        if (!held)
            fail_msg("flow %zu from %u to %u at %g could be faster", f, flow[f].from, flow[f].to,
                     flow[f].rate_MBps);
    }
    free(load);
    free(fastest);
}

TEST(test_fair)
{
    static const char *const specs[] = {"star:9",    "tree:3x2x4",  "fattree:4,3",     "torus:4x4",
                                        "chain:4x3", "hypercube:4", "dragonfly:3x3x2", "mesh:12"};
    struct nt_rng rng;
    nt_rng_init(&rng, 11);
    for (size_t s = 0; s < COUNT(specs); s++)
        for (int trial = 0; trial < 40; trial++) {
            SCOPED(network) *n = made_network(specs[s]);
            struct nt_flow flow[60];
            size_t flows = 1 + nt_rng_below(&rng, COUNT(flow));
            for (size_t k = 0; k < n->arcs; k++)
                n->arc[k].rate_MBps = trial % 2 ? 10 : 1 + 99 * nt_rng_uniform(&rng);
            for (size_t f = 0; f < flows; f++)
                flow[f] = (struct nt_flow){(uint32_t)nt_rng_below(&rng, n->hosts),
                                           (uint32_t)nt_rng_below(&rng, n->hosts), -1};
            assert_int_equal(nt_flows_share(n, flow, flows, NULL), 0);
            check_fair(n, flow, flows);
        }
}

/* One flow at a time gives the matrix of single pairs. */
TEST(test_alone)
{
    SCOPED(network) *n = made_network("tree:2x3x2");
    struct nt_rng rng;
    SCOPED(matrix) *m;
    nt_rng_init(&rng, 2);
    for (size_t k = 0; k < n->arcs; k++)
        n->arc[k].rate_MBps = 1 + 99 * nt_rng_uniform(&rng);
    n->arc[4].rate_MBps = NAN;
    assert_int_equal(nt_flows_alone(n, &m, NULL), 0);
    for (uint32_t a = 0; a < n->hosts; a++)
        for (uint32_t b = 0; b < n->hosts; b++) {
            struct nt_flow f = {a, b, 0};
            assert_int_equal(nt_flows_share(n, &f, 1, NULL), 0);
            if (a != b)
                assert_close(nt_matrix_get(m, a, b), f.rate_MBps, 1e-4);
        }
}

TEST(test_no_limit_no_path)
{
    SCOPED(model) *model;
    SCOPED(network) *n;
    assert_int_equal(nt_model_create(3, 0, 1, &model, NULL), 0);
    model->link[0].a = 0;
    model->link[0].b = 1;
    assert_int_equal(nt_network_from_model(model, &n, NULL), 0);
    struct nt_flow f[] = {{0, 1, 5}, {0, 2, 5}, {2, 0, 5}, {2, 2, 5}};
    assert_int_equal(nt_flows_share(n, f, COUNT(f), NULL), 0);
    assert_true(isinf(f[0].rate_MBps) && f[1].rate_MBps == 0 && f[2].rate_MBps == 0);
    assert_true(isinf(f[3].rate_MBps));
    f[1].to = 3;
    assert_int_equal(nt_flows_share(n, f, COUNT(f), &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
}

/* A flow has the rates of all its rails, of which each is shared on its own. */
TEST(test_rails_add_up)
{
    SCOPED(network) *n = made_network("rails:2:star:4");
    struct nt_flow flow[2] = {{0, 2, 0}, {1, 2, 0}};
    double rate = n->arc[0].rate_MBps;
    n->next_rail->arc[n->next_rail->out[n->next_rail->first[0]]].rate_MBps = rate / 4;
    assert_int_equal(nt_flows_share(n, flow, 2, NULL), 0);
    assert_below(fabs(flow[0].rate_MBps - (rate / 2 + rate / 4)), 1e-6 * rate);
    assert_below(fabs(flow[1].rate_MBps - (rate / 2 + 3 * rate / 4)), 1e-6 * rate);
    assert_int_equal(nt_flows_share_rail(n->next_rail, flow, 2, NULL), 0);
    assert_below(fabs(flow[0].rate_MBps - rate / 4), 1e-6 * rate);
}

RUN_TESTS
