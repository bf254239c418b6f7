/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "normal.h"
#include "plan_checks.h"
#include "plan_routes.h"
#include "rng.h"
#include "routes_of.h"

/* Liu et al., NPC 2018, Fig. 2: six hosts, three switches, eight links; r1 has k1 k2 k5 k6, the
 * other hosts are behind l3 and l4. */
static struct nt_routes *figure_2(void)
{
    static const uint32_t host_link[6] = {0, 1, 4, 5, 6, 7};
    struct nt_routes_builder *b;
    struct nt_routes *r = NULL;
    assert_int_equal(nt_routes_builder_create(&b, NULL), 0);
    for (uint32_t i = 0; i < 6; i++) {
        for (uint32_t j = i + 1; j < 6; j++) {
            bool far_i = i == 2 || i == 3, far_j = j == 2 || j == 3;
            uint32_t link[4] = {host_link[i]};
            size_t n = 1;
            if (far_i != far_j) {
                link[n++] = far_j ? 2 : 3;
                link[n++] = far_j ? 3 : 2;
            }
            link[n++] = host_link[j];
            assert_int_equal(nt_routes_builder_add(b, i, j, link, n, NULL), 0);
        }
    }
    assert_int_equal(nt_routes_builder_finish(b, 6, 8, &r, NULL), 0);
    nt_routes_builder_destroy(b);
    return r;
}

TEST(the_papers_network_needs_7_pairs_in_3_rounds)
{
    SCOPED(routes) *r = figure_2();
    SCOPED(plan) *plan;
    assert_int_equal(nt_plan_routes(r, 1, 1, &plan, NULL), 0);
    assert_int_equal(plan->rank, 7); /* section 3.2 b: three sets of seven are listed */
    assert_int_equal(plan->pairs, 7);
    assert_int_equal(plan->rounds, 3); /* Fig. 3 needs five */
    assert_int_equal(plan->lower_bound, 3);
    check_plan(r, plan);
}

TEST(fat_trees_reach_full_rank_near_the_bound)
{
    static const struct {
        unsigned ports, levels;
        int both;
        size_t hosts, links, rank, rounds; /* hosts and links: table 2 of the paper */
    } table[] = {{4, 2, 0, 8, 16, 15, 5},
                 {4, 3, 0, 16, 48, 0, 8},
                 {6, 3, 0, 54, 162, 162, 8},
                 {6, 3, 1, 54, 162, 162, 9},
                 {8, 3, 0, 128, 384, 384, 8}};
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        SCOPED(routes) *r = fattree_routes(table[t].ports, table[t].levels, table[t].both);
        SCOPED(plan) *plan;
        assert_int_equal(nt_plan_routes(r, 1, 1, &plan, NULL), 0);
        assert_int_equal(r->hosts, table[t].hosts);
        assert_int_equal(r->links, table[t].links);
        if (table[t].rank != 0)
            assert_int_equal(plan->rank, table[t].rank);
        assert_int_equal(plan->pairs, plan->rank);
        assert_at_most(plan->rounds, table[t].rounds);
        check_plan(r, plan);
    }
}

/* Any graph of links between switches, hosts anywhere, one random route a pair and direction. */
static struct nt_routes *random_routes(uint64_t seed)
{
    struct nt_rng rng;
    struct nt_routes_builder *b;
    struct nt_routes *r = NULL;
    nt_rng_init(&rng, seed);
    uint32_t hosts = 2 + (uint32_t)nt_rng_below(&rng, 14);
    uint32_t links = hosts + (uint32_t)nt_rng_below(&rng, 20);
    assert_int_equal(nt_routes_builder_create(&b, NULL), 0);
    for (uint32_t i = 0; i < hosts; i++) {
        for (uint32_t j = 0; j < hosts; j++) {
            if (i == j || nt_rng_uniform(&rng) < 0.3)
                continue;
            uint32_t link[40] = {i, j};
            size_t n = 2, more = nt_rng_below(&rng, 4);
            for (size_t k = 0; k < more && links > hosts; k++) {
                uint32_t l = hosts + (uint32_t)nt_rng_below(&rng, links - hosts);
                bool there = false;
                for (size_t m = 2; m < n; m++)
                    there = there || link[m] == l;
                if (!there)
                    link[n++] = l;
            }
            assert_int_equal(nt_routes_builder_add(b, i, j, link, n, NULL), 0);
        }
    }
    assert_int_equal(nt_routes_builder_finish(b, hosts, links, &r, NULL), 0);
    nt_routes_builder_destroy(b);
    return r;
}

TEST(plans_of_random_routes_keep_their_promises)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        SCOPED(routes) *r = random_routes(seed);
        for (size_t redundancy = 1; redundancy <= 2 && r->pairs > 0; redundancy++) {
            SCOPED(plan) *plan, *again;
            assert_int_equal(nt_plan_routes(r, (double)redundancy, 7, &plan, NULL), 0);
            assert_int_equal(plan->rank, rank_of_all(r));
            assert_int_equal(plan->pairs, redundancy * plan->rank < r->pairs
                                              ? redundancy * plan->rank
                                              : r->pairs);
            check_plan(r, plan);
            assert_int_equal(nt_plan_routes(r, (double)redundancy, 7, &again, NULL), 0);
            assert_memory_equal(plan->pair, again->pair, plan->pairs * sizeof *plan->pair);
            assert_memory_equal(plan->round, again->round, plan->pairs * sizeof *plan->round);
        }
    }
}

/* The standard errors of the links from the normal matrix, by plain elimination. */
static double amplification(const struct nt_routes *r, const struct nt_plan *plan)
{
    size_t m = r->links;
    double *a = calloc(m * 2 * m, sizeof *a), sum = 0;
    struct nt_pair_index *index;
    assert_non_null(a);
    assert_int_equal(nt_pair_index_create(r, &index, NULL), 0);
    for (size_t i = 0; i < plan->pairs; i++) {
        uint32_t p = nt_pair_index_find(index, plan->pair[i][0], plan->pair[i][1]);
        double share = 1.0 / nt_route_directions(r, p);
        for (size_t k = 0; k < nt_route_length(r, p); k++) {
            for (size_t l = 0; l < nt_route_length(r, p); l++)
                a[nt_route_links(r, p)[k] * 2 * m + nt_route_links(r, p)[l]] += share * share;
        }
    }
    for (size_t i = 0; i < m; i++)
        a[i * 2 * m + m + i] = 1;
    for (size_t c = 0; c < m; c++) {
        size_t p = c;
        for (size_t i = c; i < m; i++)
            p = fabs(a[i * 2 * m + c]) > fabs(a[p * 2 * m + c]) ? i : p;
        for (size_t k = 0; k < 2 * m; k++) {
            double t = a[p * 2 * m + k];
            a[p * 2 * m + k] = a[c * 2 * m + k];
            a[c * 2 * m + k] = t;
        }
        double pivot = a[c * 2 * m + c];
        assert_above(fabs(pivot), 1e-9);
        for (size_t k = 0; k < 2 * m; k++)
            a[c * 2 * m + k] /= pivot;
        for (size_t i = 0; i < m; i++) {
            double factor = a[i * 2 * m + c];
            for (size_t k = 0; i != c && factor != 0 && k < 2 * m; k++)
                a[i * 2 * m + k] -= factor * a[c * 2 * m + k];
        }
    }
    for (size_t i = 0; i < m; i++)
        sum += a[i * 2 * m + m + i];
    nt_pair_index_destroy(index);
    free(a);
    return sqrt(sum / (double)m);
}

TEST(amplification_is_what_the_normal_matrix_says)
{
    for (int both = 0; both < 2; both++) {
        SCOPED(routes) *r = fattree_routes(6, 3, both);
        for (int redundancy = 1; redundancy <= 3; redundancy += 2) {
            SCOPED(plan) *plan;
            assert_int_equal(nt_plan_routes(r, redundancy, 1, &plan, NULL), 0);
            double expected = amplification(r, plan);
            assert_close(plan->amplification_rms / expected, 1, 1e-6);
            assert_at_least(plan->amplification_max, plan->amplification_rms);
            assert_below(plan->amplification_rms, (redundancy == 1 ? 3 : 0.7));
        }
    }
}

TEST(a_bad_redundancy_and_no_routes_are_refused)
{
    static const double bad[] = {0, 0.99, -1, 1e7, NAN, INFINITY};
    struct nt_routes *r = figure_2();
    struct nt_plan *plan = NULL;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(nt_plan_routes(r, bad[k], 1, &plan, &err), -1);
        assert_int_equal(err.kind, NT_ERR_USAGE);
        assert_non_null(strstr(err.text, "redundancy"));
    }
    nt_routes_destroy(r);
    struct nt_routes none = {0};
    assert_int_equal(nt_plan_routes(&none, 1, 1, &plan, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_null(plan);
}

/* Columns 0 and 1 are equal; column 2 has no row; three columns of two rows, but for rounding. */
TEST(equations_that_depend_on_each_other_are_refused)
{
    static const double value[3][6] = {
        {1, 1, 1, 1, 1, 3}, {1, 1, 0, 1, 3, 0}, {1, 1.1, 0.7, 0.3, 0.9, 1.3}};
    for (size_t t = 0; t < 3; t++) {
        struct nt_rows *rows;
        double variance[3];
        assert_int_equal(nt_rows_create(2, 3, 6, &rows, NULL), 0);
        for (uint32_t k = 0; k < 6; k++) {
            rows->column[k] = k % 3;
            rows->value[k] = value[t][k];
        }
        rows->start[1] = 3;
        rows->start[2] = 6;
        assert_int_equal(nt_normal_variances(rows, variance, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_string_equal(err.text, "the equations are not independent");
        nt_rows_destroy(rows);
    }
}

RUN_TESTS
