/* SPDX-License-Identifier: Apache-2.0 */

#include "asserts.h"
#include "plan_checks.h"
#include "plan_model.h"
#include "rng.h"

static struct nt_model *make(size_t hosts, size_t switches, size_t links)
{
    struct nt_model *m;
    assert_int_equal(nt_model_create(hosts, switches, links, &m, NULL), 0);
    return m;
}

/* A random tree of switches, hosts anywhere on it, some switches without, some hosts missing. */
static struct nt_model *random_tree(uint64_t seed)
{
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    size_t switches = 1 + nt_rng_below(&rng, 12), hosts = 2 + nt_rng_below(&rng, 18);
    size_t missing = nt_rng_below(&rng, 2);
    struct nt_model *m = make(hosts + missing, switches, hosts + switches - 1);
    size_t reach = 1 + nt_rng_below(&rng, 4), l = 0; /* small: long chains */
    for (size_t h = 0; h < hosts; h++, l++) {
        m->link[l].a = (uint32_t)h;
        m->link[l].b = (uint32_t)(hosts + missing + nt_rng_below(&rng, switches));
    }
    for (size_t s = 1; s < switches; s++, l++) {
        size_t back = 1 + nt_rng_below(&rng, s < reach ? s : reach);
        m->link[l].a = (uint32_t)(hosts + missing + s);
        m->link[l].b = (uint32_t)(hosts + missing + s - back);
    }
    return m;
}

TEST(the_closed_form_finds_all_that_all_pairs_would)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        SCOPED(model) *m = random_tree(seed);
        SCOPED(routes) *all;
        SCOPED(plan) *plan;
        assert_true(nt_plan_is_tree(m));
        must(nt_plan_tree(m, &plan, &err));
        assert_int_equal(nt_plan_model_routes(m, &all, NULL), 0);
        check_plan(all, plan);
        if (plan->pairs != plan->rank || plan->rank != rank_of_all(all))
            fail_msg("seed %zu: %zu pairs, rank %zu", (size_t)seed, plan->pairs, rank_of_all(all));
    }
}

/* pods x leaves x hosts */
static struct nt_model *three_tiers(size_t pods, size_t leaves, size_t hosts)
{
    size_t n = pods * leaves * hosts, switches = 1 + pods + pods * leaves, l = 0;
    struct nt_model *m = make(n, switches, n + switches - 1);
    for (size_t h = 0; h < n; h++, l++) {
        m->link[l].a = (uint32_t)h;
        m->link[l].b = (uint32_t)(n + 1 + pods + h / hosts);
    }
    for (size_t s = 0; s < pods * leaves; s++, l++) {
        m->link[l].a = (uint32_t)(n + 1 + pods + s);
        m->link[l].b = (uint32_t)(n + 1 + s / leaves);
    }
    for (size_t p = 0; p < pods; p++, l++) {
        m->link[l].a = (uint32_t)(n + 1 + p);
        m->link[l].b = (uint32_t)n;
    }
    return m;
}

TEST(a_hundred_thousand_hosts_can_all_be_distinguished)
{
    struct nt_model *m = three_tiers(37, 37, 74); /* 101,306 hosts */
    SCOPED(plan) *plan;
    assert_int_equal(nt_plan_model(m, 1, 1, &plan, NULL), 0);
    assert_int_equal(plan->rank, m->links); /* every link can be distinguished */
    assert_int_equal(plan->pairs, m->links);
    assert_at_most(plan->rounds, 12);
    assert_true(isfinite(plan->amplification_rms));
    nt_model_destroy(m);
}

/* A ring of switches with two hosts each is no tree: its shortest paths are planned over. */
TEST(other_networks_are_planned_over_shortest_paths)
{
    SCOPED(model) *m = make(10, 5, 15);
    for (uint32_t k = 0; k < 10; k++) {
        m->link[k].a = k;
        m->link[k].b = 10 + k / 2;
    }
    for (uint32_t k = 0; k < 5; k++) {
        m->link[10 + k].a = 10 + k;
        m->link[10 + k].b = 10 + (k + 1) % 5;
    }
    assert_false(nt_plan_is_tree(m));
    for (int redundancy = 1; redundancy <= 2; redundancy++) {
        SCOPED(routes) *all;
        SCOPED(plan) *plan;
        assert_int_equal(nt_plan_model(m, redundancy, 1, &plan, NULL), 0);
        assert_int_equal(nt_plan_model_routes(m, &all, NULL), 0);
        assert_int_equal(all->pairs, 45);
        check_plan(all, plan);
        assert_int_equal(plan->rank, rank_of_all(all));
        assert_int_equal(plan->pairs, (size_t)redundancy * plan->rank);
    }
}

TEST(what_cannot_be_planned_says_why)
{
    struct nt_plan *plan = NULL;
    SCOPED(model) *one = make(1, 1, 1), *big = three_tiers(20, 20, 20);
    one->link[0].a = 0;
    one->link[0].b = 1;
    assert_int_equal(nt_plan_model(one, 1, 1, &plan, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_int_equal(nt_plan_model(big, 2, 1, &plan, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_non_null(strstr(err.text, "8000 hosts have over"));
    assert_null(plan);
}

RUN_TESTS
