#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "method.h"
#include "rng.h"

enum { HOSTS = 12, PER_LEAF = 4, SIZES = 4 };

/* Leaves of PER_LEAF hosts; all on one switch when far is near. Directions differ by skew. */
static struct nt_matrix *tree(double near, double far, double skew)
{
    struct nt_matrix *m;
    struct nt_rng rng;
    struct nt_err err = {0};
    nt_rng_init(&rng, 9);
    assert_int_equal(nt_matrix_create(HOSTS, NT_MATRIX_LATENCY_US, &m, &err), 0);
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++)
            if (i != j) {
                double us = (i / PER_LEAF == j / PER_LEAF ? near : far) * (i < j ? 1 : skew);
                us *= 1 + 0.002 * nt_rng_normal(&rng);
                nt_matrix_set(m, i, j, (float)us);
            }
    return m;
}

static void settings_belong_to_their_method(void **state)
{
    (void)state;
    const struct {
        struct nt_method method;
        size_t sizes;
        const char *says; /* NULL: fine */
    } table[] = {
        {{NULL, NAN, NAN, NAN}, 5, NULL},
        {{"auto", NAN, NAN, NAN}, 1, NULL},
        {{"bufe", 0.2, NAN, NAN}, 1, NULL},
        {{"parus", NAN, 0, 100}, 5, NULL},
        {{"guess", NAN, NAN, NAN}, 1, "method guess: expected auto, bufe or parus"},
        {{"", NAN, NAN, NAN}, 1, "method : expected auto, bufe or parus"},
        {{"auto", 0.2, NAN, NAN}, 1, "epsilon: expected with method bufe only, found auto"},
        {{NULL, 0.2, NAN, NAN}, 1, "epsilon: expected with method bufe only, found auto"},
        {{"parus", 0.2, NAN, NAN}, 1, "epsilon: expected with method bufe only, found parus"},
        {{"bufe", NAN, 0.1, NAN}, 1, "eps-shared: expected with method parus only, found bufe"},
        {{"auto", NAN, NAN, 0.1}, 1, "eps-duplex: expected with method parus only, found auto"},
        {{"bufe", 0, NAN, NAN}, 1, "epsilon 0: expected above 0 and below 2"},
        {{"bufe", 2, NAN, NAN}, 1, "epsilon 2: expected above 0 and below 2"},
        {{"bufe", INFINITY, NAN, NAN}, 1, "epsilon inf: expected above 0 and below 2"},
        {{"parus", NAN, -1, NAN}, 1, "eps-shared -1: expected 0 to 100"},
        {{"parus", NAN, NAN, 101}, 1, "eps-duplex 101: expected 0 to 100"},
        {{"bufe", NAN, NAN, NAN},
         2,
         "2 matrices of latencies: expected at most 1 with method bufe"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_err err = {0};
        int rc = nt_method_check(&table[k].method, table[k].sizes, &err);
        assert_int_equal(rc, table[k].says == NULL ? 0 : -1);
        assert_string_equal(err.text, table[k].says == NULL ? "" : table[k].says);
        assert_int_equal(err.kind, table[k].says == NULL ? NT_ERR_NONE : NT_ERR_USAGE);
    }
    struct nt_err err = {0};
    assert_int_equal(nt_method_check(NULL, 3, &err), 0);
}

/* The leaves show in three sizes of four; the hosts' links in all. */
static void a_link_is_as_probable_as_it_is_frequent(void **state)
{
    (void)state;
    struct nt_matrix *m[SIZES] = {tree(2, 4, 1), tree(3, 6, 1), tree(9, 9, 1), tree(20, 40, 1)};
    struct nt_model *model;
    struct nt_err err = {0};
    assert_int_equal(
        nt_method_infer(NULL, (const struct nt_matrix *const *)m, SIZES, NULL, &model, &err), 0);
    assert_int_equal(model->switches, HOSTS / PER_LEAF + 1);
    for (size_t k = 0; k < model->links; k++) {
        double p = model->link[k].probability;
        if (model->link[k].a < HOSTS)
            assert_true(p > 0.999);
        else
            assert_true(p > 0.6 && p < 0.9);
    }
    nt_model_destroy(model);
    assert_int_equal(
        nt_method_infer(NULL, (const struct nt_matrix *const *)m, 1, NULL, &model, &err), 0);
    for (size_t k = 0; k < model->links; k++)
        assert_true(model->link[k].probability > 0.999);
    nt_model_destroy(model);
    for (size_t k = 0; k < SIZES; k++)
        nt_matrix_destroy(m[k]);
}

/* The smallest message does not show the leaves, and the larger ones do: the map has them, with the
 * figures of the smallest. */
static void a_link_of_larger_sizes_is_added(void **state)
{
    (void)state;
    struct nt_matrix *m[SIZES] = {tree(2, 2, 1), tree(3, 3, 1), tree(9, 12, 1), tree(20, 40, 1)};
    struct nt_model *model;
    struct nt_err err = {0};
    assert_int_equal(
        nt_method_infer(NULL, (const struct nt_matrix *const *)m, SIZES, NULL, &model, &err), 0);
    assert_int_equal(model->family, NT_FAMILY_TREE);
    assert_int_equal(model->switches, HOSTS / PER_LEAF + 1);
    assert_true(model->confidence > 0.5 && model->confidence < 1);
    assert_true(model->r2 == model->r2 || model->rms_us < 0.01);
    for (size_t k = 0; k < model->links; k++) {
        const struct nt_link *l = &model->link[k];
        bool host = l->a < HOSTS;
        assert_true(host ? l->probability > 0.999 : l->probability > 0.4 && l->probability < 0.6);
        assert_true(fabs(l->latency_us - (host ? 1 : 0)) < 0.02 && l->latency_se_us < 0.01);
        if (host)
            for (size_t i = 0; i < k; i++) /* hosts of a leaf are at one switch */
                if (model->link[i].a < HOSTS)
                    assert_int_equal(model->link[i].b == l->b,
                                     model->link[i].a / PER_LEAF == l->a / PER_LEAF);
    }
    nt_model_destroy(model);
    for (size_t k = 0; k < SIZES; k++)
        nt_matrix_destroy(m[k]);
}

/* Leaves of another size's own: they cut across those that are there, which stay. */
static void a_link_that_contradicts_is_not_added(void **state)
{
    (void)state;
    struct nt_matrix *m[2] = {tree(2, 4, 1), tree(9, 9, 1)};
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++)
            if (i != j && i % 3 == j % 3)
                nt_matrix_set(m[1], i, j, nt_matrix_get(m[1], i, j) / 2);
    struct nt_model *model;
    struct nt_err err = {0};
    assert_int_equal(
        nt_method_infer(NULL, (const struct nt_matrix *const *)m, 2, NULL, &model, &err), 0);
    assert_int_equal(model->switches, HOSTS / PER_LEAF + 1);
    for (size_t k = 0; k < model->links; k++)
        if (model->link[k].a < HOSTS)
            for (size_t i = 0; i < k; i++)
                if (model->link[i].a < HOSTS)
                    assert_int_equal(model->link[i].b == model->link[k].b,
                                     model->link[i].a / PER_LEAF == model->link[k].a / PER_LEAF);
    nt_model_destroy(model);
    nt_matrix_destroy(m[0]);
    nt_matrix_destroy(m[1]);
}

/* Several sizes of one switch are no more switches than one size: nothing is added by chance. */
static void noise_adds_no_links(void **state)
{
    (void)state;
    size_t false_switches = 0;
    struct nt_rng rng;
    nt_rng_init(&rng, 5);
    for (size_t run = 0; run < 100; run++) {
        struct nt_matrix *m[SIZES];
        struct nt_model *model;
        struct nt_err err = {0};
        for (size_t k = 0; k < SIZES; k++) {
            m[k] = tree((double)(k + 1), (double)(k + 1), 1);
            for (size_t c = 0; c < HOSTS * HOSTS; c++)
                m[k]->at[c] *= (float)exp(0.05 * nt_rng_normal(&rng));
        }
        assert_int_equal(
            nt_method_infer(NULL, (const struct nt_matrix *const *)m, SIZES, NULL, &model, &err),
            0);
        false_switches += model->switches != 1;
        nt_model_destroy(model);
        for (size_t k = 0; k < SIZES; k++)
            nt_matrix_destroy(m[k]);
    }
    assert_true(false_switches <= 1);
}

/* A host that one size lacks leaves the others' links as probable as they are. */
static void a_size_without_a_host_has_its_say(void **state)
{
    (void)state;
    struct nt_matrix *m[2] = {tree(2, 4, 1), tree(3, 6, 1)};
    for (size_t j = 1; j < HOSTS; j++) {
        nt_matrix_set(m[1], 0, j, NAN);
        nt_matrix_set(m[1], j, 0, NAN);
    }
    struct nt_model *model;
    struct nt_err err = {0};
    assert_int_equal(
        nt_method_infer(NULL, (const struct nt_matrix *const *)m, 2, NULL, &model, &err), 0);
    for (size_t k = 0; k < model->links; k++)
        assert_true(model->link[k].probability > 0.999);
    nt_model_destroy(model);
    nt_matrix_destroy(m[0]);
    nt_matrix_destroy(m[1]);
}

/* Each setting changes what its method finds. */
static void settings_reach_the_methods(void **state)
{
    (void)state;
    struct nt_matrix *m = tree(2, 2.3, 1);
    const struct nt_matrix *latency[] = {m};
    struct nt_method coarse = nt_method_named("bufe"), fine = coarse;
    struct nt_model *a, *b;
    struct nt_err err = {0};
    coarse.epsilon = 0.3;
    fine.epsilon = 0.02;
    assert_int_equal(nt_method_infer(&coarse, latency, 1, NULL, &a, &err), 0);
    assert_int_equal(nt_method_infer(&fine, latency, 1, NULL, &b, &err), 0);
    assert_true(a->switches == 1 && b->switches > 1);
    nt_model_destroy(a);
    nt_model_destroy(b);
    nt_matrix_destroy(m);
}

static size_t one_way_links(double eps_duplex)
{
    struct nt_matrix *m = tree(1, 10, 1);
    struct nt_method parus = nt_method_named("parus");
    struct nt_model *model;
    struct nt_err err = {0};
    size_t count = 0;
    for (size_t i = 0; i < HOSTS; i++) /* between leaves 10 there, 18 back */
        for (size_t j = 0; j < i; j++)
            if (i / PER_LEAF != j / PER_LEAF)
                nt_matrix_set(m, i, j, 18);
    parus.eps_duplex = eps_duplex;
    parus.eps_shared = 0.2;
    const struct nt_matrix *latency[] = {m};
    assert_int_equal(nt_method_infer(&parus, latency, 1, NULL, &model, &err), 0);
    for (size_t k = 0; k < model->links; k++)
        count += model->link[k].simplex;
    nt_model_destroy(model);
    nt_matrix_destroy(m);
    return count;
}

static void a_tolerance_of_directions_reaches_parus(void **state)
{
    (void)state;
    assert_int_equal(one_way_links(2), 0);
    assert_true(one_way_links(0.1) > 0);
}

/* What parus merges: the share of sizes whose local topology has the arc. */
static void parus_takes_all_sizes(void **state)
{
    (void)state;
    struct nt_matrix *m[2] = {tree(2, 4, 1), tree(2, 4, 1)};
    for (size_t j = 1; j < HOSTS; j++) { /* host 0 is far away from all in the second */
        nt_matrix_set(m[1], 0, j, j == 1 ? 50.f : 90.f);
        nt_matrix_set(m[1], j, 0, j == 1 ? 50.f : 90.f);
    }
    struct nt_method parus = nt_method_named("parus");
    struct nt_model *model;
    struct nt_err err = {0};
    size_t halves = 0;
    assert_int_equal(
        nt_method_infer(&parus, (const struct nt_matrix *const *)m, 2, NULL, &model, &err), 0);
    for (size_t k = 0; k < model->links; k++)
        halves += fabs(model->link[k].probability - 0.5) < 1e-9;
    assert_true(halves > 0);
    nt_model_destroy(model);
    nt_matrix_destroy(m[0]);
    nt_matrix_destroy(m[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_belong_to_their_method),
        cmocka_unit_test(a_link_is_as_probable_as_it_is_frequent),
        cmocka_unit_test(a_link_of_larger_sizes_is_added),
        cmocka_unit_test(a_link_that_contradicts_is_not_added),
        cmocka_unit_test(noise_adds_no_links),
        cmocka_unit_test(a_size_without_a_host_has_its_say),
        cmocka_unit_test(settings_reach_the_methods),
        cmocka_unit_test(a_tolerance_of_directions_reaches_parus),
        cmocka_unit_test(parus_takes_all_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
