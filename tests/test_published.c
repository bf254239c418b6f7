/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "published.h"
#include "rng.h"

enum { HOSTS = 12, PER_LEAF = 4 };

/* Leaves of PER_LEAF hosts; all on one switch when far is near. Directions differ by skew. */
static struct nt_matrix *tree(double near, double far, double skew)
{
    struct nt_matrix *m;
    struct nt_rng rng;
    nt_rng_init(&rng, 9);
    must(nt_matrix_create(HOSTS, NT_MATRIX_LATENCY_US, &m, &err));
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++)
            if (i != j) {
                double us = (i / PER_LEAF == j / PER_LEAF ? near : far) * (i < j ? 1 : skew);
                us *= 1 + 0.002 * nt_rng_normal(&rng);
                nt_matrix_set(m, i, j, (float)us);
            }
    return m;
}

TEST(settings_belong_to_their_method)
{
    const struct {
        struct nt_published published;
        size_t sizes;
        const char *says; /* NULL: fine */
    } table[] = {
        {{NULL, NAN, NAN, NAN, 0, 0}, 5, NULL},
        {{"auto", NAN, NAN, NAN, 0, 0}, 1, NULL},
        {{"bufe", 0.2, NAN, NAN, 0, 0}, 1, NULL},
        {{"parus", NAN, 0, 100, 0, 0}, 5, NULL},
        {{"guess", NAN, NAN, NAN, 0, 0}, 1, "--method guess: expected auto, bufe or parus"},
        {{"", NAN, NAN, NAN, 0, 0}, 1, "--method : expected auto, bufe or parus"},
        {{"auto", 0.2, NAN, NAN, 0, 0}, 1, "--epsilon requires --method bufe, found auto"},
        {{NULL, 0.2, NAN, NAN, 0, 0}, 1, "--epsilon requires --method bufe, found auto"},
        {{"parus", 0.2, NAN, NAN, 0, 0}, 1, "--epsilon requires --method bufe, found parus"},
        {{"bufe", NAN, 0.1, NAN, 0, 0}, 1, "--eps-shared requires --method parus, found bufe"},
        {{"auto", NAN, NAN, 0.1, 0, 0}, 1, "--eps-duplex requires --method parus, found auto"},
        {{"bufe", 0, NAN, NAN, 0, 0}, 1, "--epsilon 0: expected a number above 0 and below 2"},
        {{"bufe", 2, NAN, NAN, 0, 0}, 1, "--epsilon 2: expected a number above 0 and below 2"},
        {{"bufe", INFINITY, NAN, NAN, 0, 0},
         1,
         "--epsilon inf: expected a number above 0 and below 2"},
        {{"parus", NAN, -1, NAN, 0, 0}, 1, "--eps-shared -1: expected a number from 0 to 100"},
        {{"parus", NAN, NAN, 101, 0, 0}, 1, "--eps-duplex 101: expected a number from 0 to 100"},
        {{"bufe", NAN, NAN, NAN, 0, 0},
         2,
         "2 matrices of latencies: expected at most 1 with --method bufe"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_err err = {0};
        int rc = nt_published_check(&table[k].published, table[k].sizes, &err);
        assert_int_equal(rc, table[k].says == NULL ? 0 : -1);
        assert_string_equal(err.text, table[k].says == NULL ? "" : table[k].says);
        assert_int_equal(err.kind, table[k].says == NULL ? NT_ERR_NONE : NT_ERR_USAGE);
    }
}

static int infer_by(const struct nt_published *published, const struct nt_matrix *const *latency,
                    size_t sizes, struct nt_model **out, struct nt_err *err)
{
    struct nt_method method;
    assert_true(nt_published_method(published, &method));
    return method.infer(method.settings, latency, sizes, NULL, out, err);
}

TEST(our_own_is_none_of_them)
{
    struct nt_published ours = nt_published_named("auto"), none = nt_published_named(NULL);
    struct nt_method method;
    assert_false(nt_published_method(&ours, &method));
    assert_false(nt_published_method(&none, &method));
}

/* What a file holds shows only when it is read. */
TEST(sizes_beyond_the_method_are_usage)
{
    SCOPED(matrix) *m = tree(2, 4, 1);
    const struct nt_matrix *latency[] = {m, m};
    struct nt_published bufe = nt_published_named("bufe");
    struct nt_model *model;
    assert_int_equal(infer_by(&bufe, latency, 2, &model, &err), -1);
    assert_int_equal(err.kind, NT_ERR_USAGE);
}

/* Each setting changes what its method finds. */
TEST(settings_reach_the_methods)
{
    SCOPED(matrix) *m = tree(2, 2.3, 1);
    const struct nt_matrix *latency[] = {m};
    struct nt_published coarse = nt_published_named("bufe"), fine = coarse;
    SCOPED(model) *a, *b;
    coarse.epsilon = 0.3;
    fine.epsilon = 0.02;
    assert_int_equal(infer_by(&coarse, latency, 1, &a, &err), 0);
    assert_int_equal(infer_by(&fine, latency, 1, &b, &err), 0);
    assert_true(a->switches == 1 && b->switches > 1);
}

static size_t one_way_links(double eps_duplex)
{
    struct nt_matrix *m = tree(1, 10, 1);
    struct nt_published parus = nt_published_named("parus");
    struct nt_model *model;
    size_t count = 0;
    for (size_t i = 0; i < HOSTS; i++) /* between leaves 10 there, 18 back */
        for (size_t j = 0; j < i; j++)
            if (i / PER_LEAF != j / PER_LEAF)
                nt_matrix_set(m, i, j, 18);
    parus.eps_duplex = eps_duplex;
    parus.eps_shared = 0.2;
    const struct nt_matrix *latency[] = {m};
    assert_int_equal(infer_by(&parus, latency, 1, &model, &err), 0);
    for (size_t k = 0; k < model->links; k++)
        count += model->link[k].simplex;
    nt_model_destroy(model);
    nt_matrix_destroy(m);
    return count;
}

TEST(a_tolerance_of_directions_reaches_parus)
{
    assert_int_equal(one_way_links(2), 0);
    assert_above(one_way_links(0.1), 0);
}

/* What parus merges: the share of sizes whose local topology has the arc. */
TEST(parus_takes_all_sizes)
{
    struct nt_matrix *m[2] = {tree(2, 4, 1), tree(2, 4, 1)};
    for (size_t j = 1; j < HOSTS; j++) { /* host 0 is far away from all in the second */
        nt_matrix_set(m[1], 0, j, j == 1 ? 50.f : 90.f);
        nt_matrix_set(m[1], j, 0, j == 1 ? 50.f : 90.f);
    }
    struct nt_published parus = nt_published_named("parus");
    struct nt_model *model;
    size_t halves = 0;
    assert_int_equal(infer_by(&parus, (const struct nt_matrix *const *)m, 2, &model, &err), 0);
    for (size_t k = 0; k < model->links; k++)
        halves += fabs(model->link[k].probability - 0.5) < 1e-9;
    assert_above(halves, 0);
    nt_model_destroy(model);
    nt_matrix_destroy(m[0]);
    nt_matrix_destroy(m[1]);
}

RUN_TESTS
