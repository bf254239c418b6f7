/* SPDX-License-Identifier: Apache-2.0 */
/* What a map states of its resolution: no link between switches is below it, no host link is 0,
 * and the map is no surer than its least certain group. */
#include "asserts.h"
#include "job_network.h"
#include "switch_support.h"

/* Of a map that was inferred; the number of links between switches. */
static size_t check(const struct nt_model *m)
{
    size_t inner = 0;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        bool between = l->a >= m->hosts && l->b >= m->hosts;
        inner += between;
        if (!(l->latency_us > 0) || (between && l->latency_us < m->resolution_us))
            fail_msg("%zu hosts, link %u %u: %g us, resolution %g", m->hosts, l->a, l->b,
                     l->latency_us, m->resolution_us);
        if (between && m->confidence > l->probability)
            fail_msg("%zu hosts: confidence %g over the %g of a group", m->hosts, m->confidence,
                     l->probability);
    }
    return inner;
}

TEST(no_link_of_a_map_is_below_it)
{
    const struct job_noise noise[] = {{.sd_us = 0},
                                      {.sd_us = 0.03},
                                      {.sd_us = 0.1},
                                      {.sd_us = 0.03, .outliers = 0.05, .low = 0.5},
                                      {.sd_us = 0.02, .host = 1}};
    size_t inner = 0, jobs = draws(50, 100);
    for (uint64_t seed = 0; seed < jobs; seed++) {
        struct nt_rng rng;
        struct job_leaves leaves;
        SCOPED(model) *m;
        nt_rng_init(&rng, seed);
        job_leaves_draw(&leaves, (enum job_kind)(seed % JOB_KINDS), 6 + seed * 7 % 60, &rng);
        SCOPED(model) *truth = job_tree(&leaves, seed % 2 == 0 ? 0 : 4, 0.56, 0.1);
        SCOPED(matrix) *x = job_measure(truth, &noise[seed / JOB_KINDS % 5], &rng);
        known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
        inner += check(m);
    }
    assert_above(inner, jobs);
}

/* Leaves with uplinks of 0.035 us: with noise of 0.03 one pair tells 0.042, but many show them, and
 * then that is what the readings resolve. */
TEST(many_pairs_resolve_what_one_does_not)
{
    struct nt_rng rng;
    SCOPED(model) *m;
    struct job_leaves leaves = {.count = 0};
    nt_rng_init(&rng, 3);
    job_leaves_add(&leaves, 4, 16);
    SCOPED(model) *truth = job_tree(&leaves, 0, 0.56, 0.035);
    SCOPED(matrix) *x = job_measure(truth, &(struct job_noise){.sd_us = 0.03}, &rng);
    known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
    assert_int_equal(check(m), 4);
    assert_above(m->resolution_us, 0.03);
    assert_below(m->resolution_us, 0.04);
}

RUN_TESTS
