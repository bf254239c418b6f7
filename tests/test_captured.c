/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps that were measured on emulated fabrics: tests/data/samples, and the fabrics behind them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "known_network.h"
#include "samples.h"

static struct nt_matrix *latency_of(const char *path, struct nt_matrix **error)
{
    static char text[1 << 16];
    struct nt_samples_reader *r;
    struct nt_samples *s;
    struct nt_matrix *m;
    struct nt_err err;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    known_must(nt_samples_reader_create(path, &r, &err), &err);
    for (size_t got; (got = fread(text, 1, sizeof text, f)) > 0;)
        known_must(nt_samples_reader_feed(r, text, got, &err), &err);
    fclose(f);
    known_must(nt_samples_reader_finish(r, &s, &err), &err);
    nt_samples_reader_destroy(r);
    known_must(nt_samples_latency(s, 0, &m, error, &err), &err);
    nt_samples_destroy(s);
    return m;
}

/* uneven12.fabric: leaves of two, three and four, one host above two leaves, two at the core. */
static void test_uneven12(void **state)
{
    (void)state;
    static const uint32_t at[12] = {0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4};
    static const uint32_t parent[5] = {3, 3, 4, 4, 4};
    static const double up_us[5] = {100, 100, 200, 200, 0};
    static const char *const path[] = {"tests/data/samples/uneven12-1.samples",
                                       "tests/data/samples/uneven12-2.samples"};
    for (size_t k = 0; k < 2; k++) {
        struct nt_err err;
        struct nt_model *m, *truth = known_tree(12, at, 100, 5, parent, up_us);
        struct nt_matrix *x = latency_of(path[k], NULL);
        known_must(nt_model_canonicalise(truth, &err), &err);
        known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
        assert_true(known_same_shape(truth, m));
        nt_matrix_destroy(x);
        nt_model_destroy(truth);
        nt_model_destroy(m);
    }
}

/* Four leaves and one host; of one leaf the readings of one host to the other three were late, and
 * their standard errors say so. */
static void test_disturbed15(void **state)
{
    (void)state;
    static const uint32_t at[15] = {0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4};
    static const uint32_t parent[5] = {4, 4, 4, 4, 4};
    static const double up_us[5] = {260, 260, 260, 260, 0};
    struct nt_err err;
    struct nt_matrix *error, *x = latency_of("tests/data/samples/disturbed15.samples", &error);
    struct nt_model *m, *truth = known_tree(15, at, 180, 5, parent, up_us);
    known_must(nt_model_canonicalise(truth, &err), &err);
    known_must(nt_infer_latency(x, error, 1, &m, &err), &err);
    assert_true(known_same_shape(truth, m));
    nt_matrix_destroy(x);
    nt_matrix_destroy(error);
    nt_model_destroy(truth);
    nt_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_uneven12),
                                       cmocka_unit_test(test_disturbed15)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
