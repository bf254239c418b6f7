/* Bandwidths of links from pairs, and links merged over message sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "known_network.h"

/* Two leaves of three hosts; hosts 100 MB/s, the trunk as given. */
static struct nt_model *two_leaves(void)
{
    struct nt_err err;
    struct nt_model *m = known_leaves(2, (const size_t[]){3, 3}, 1, 1);
    known_must(nt_model_canonicalise(m, &err), &err);
    return m;
}

static struct nt_matrix *readings(double trunk, double slow_host)
{
    struct nt_err err;
    struct nt_matrix *b;
    known_must(nt_matrix_create(6, NT_MATRIX_BANDWIDTH_MBPS, &b, &err), &err);
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++) {
            double v = i / 3 == j / 3 ? 100 : fmin(100, trunk);
            if (i == 1) /* sends slowly */
                v = fmin(v, slow_host);
            if (i != j)
                nt_matrix_set(b, i, j, (float)v);
        }
    return b;
}

static const struct nt_link *trunk_of(const struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts)
            return &m->link[k];
    return NULL;
}

static void test_narrow_trunk(void **state)
{
    (void)state;
    struct nt_err err;
    struct nt_model *m = two_leaves(), *out;
    struct nt_matrix *b = readings(60, 100);
    known_must(nt_infer_bandwidth(m, b, &out, &err), &err);
    const struct nt_link *t = trunk_of(out);
    assert_true(fabs(t->bandwidth_MBps - 60) < 1);
    assert_false(t->at_least);
    for (size_t k = 0; k < out->links; k++)
        if (out->link[k].a < out->hosts) {
            assert_true(fabs(out->link[k].bandwidth_MBps - 100) < 1);
            assert_false(out->link[k].at_least);
        }
    nt_model_destroy(m);
    nt_model_destroy(out);
    nt_matrix_destroy(b);
}

static void test_wide_trunk_is_a_bound(void **state)
{
    (void)state;
    struct nt_err err;
    struct nt_model *m = two_leaves(), *out;
    struct nt_matrix *b = readings(1000, 40);
    known_must(nt_infer_bandwidth(m, b, &out, &err), &err);
    assert_true(trunk_of(out)->at_least);
    assert_true(fabs(trunk_of(out)->bandwidth_MBps - 100) < 1);
    for (size_t k = 0; k < out->links; k++)
        if (out->link[k].a == 1) {
            assert_true(fabs(out->link[k].bandwidth_MBps - 40) < 1);
            assert_true(fabs(out->link[k].bandwidth_back_MBps - 100) < 1);
        }
    nt_model_destroy(m);
    nt_model_destroy(out);
    nt_matrix_destroy(b);
}

static void test_wrong_size(void **state)
{
    (void)state;
    struct nt_err err;
    struct nt_model *m = two_leaves(), *out = NULL;
    struct nt_matrix *b;
    known_must(nt_matrix_create(5, NT_MATRIX_BANDWIDTH_MBPS, &b, &err), &err);
    assert_int_equal(nt_infer_bandwidth(m, b, &out, &err), -1);
    assert_null(out);
    nt_model_destroy(m);
    nt_matrix_destroy(b);
}

static void test_merge(void **state)
{
    (void)state;
    struct nt_err err;
    struct nt_model *m = two_leaves(), *same = two_leaves();
    struct nt_model *star = known_balanced(1, (const size_t[]){6}, (const double[]){1});
    known_must(nt_model_canonicalise(star, &err), &err);
    m->confidence = same->confidence = star->confidence = 0.9;
    const struct nt_model *others[] = {same, star};
    known_must(nt_infer_merge(&m, others, 2, NULL, 1, &err), &err);
    for (size_t k = 0; k < m->links; k++) {
        double expected = m->link[k].a < m->hosts ? 1 : (1 + 1 + 0.25) / 3;
        assert_true(fabs(m->link[k].probability - expected) < 1e-9);
    }
    nt_model_destroy(m);
    nt_model_destroy(same);
    nt_model_destroy(star);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_trunk),
        cmocka_unit_test(test_wide_trunk_is_a_bound),
        cmocka_unit_test(test_wrong_size),
        cmocka_unit_test(test_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
