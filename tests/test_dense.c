/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "dense.h"
#include "panels.h"
#include "rng.h"

static double *noise(size_t n, struct nt_rng *rng)
{
    double *x = malloc((n + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t k = 0; k < n; k++)
        x[k] = nt_rng_normal(rng);
    return x;
}

/* A product of a matrix with itself, and something on its diagonal; NAN above it. */
static double *definite(size_t n, struct nt_rng *rng)
{
    double *half = noise(n * n, rng), *a = malloc((n * n + 1) * sizeof *a);
    assert_non_null(a);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            double sum = i == j ? 1 : 0;
            for (size_t p = 0; p < n && i >= j; p++)
                sum += half[p * n + i] * half[p * n + j] / (double)n;
            a[j * n + i] = i >= j ? sum : NAN;
        }
    free(half);
    return a;
}

static double of(const double *lower, size_t n, size_t i, size_t j)
{
    return i >= j ? lower[j * n + i] : lower[i * n + j];
}

static const size_t sizes[] = {0, 1, 2, 3, 5, 63, 64, 65, 67, 128, 130, 259};

static void the_factor_times_itself_is_the_matrix(void **state)
{
    (void)state;
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
        size_t n = sizes[t];
        double *a = definite(n, &rng), *l = malloc((n * n + 1) * sizeof *l);
        double *x = noise(n, &rng), *b = calloc(n + 1, sizeof *b);
        assert_non_null(l);
        assert_non_null(b);
        memcpy(l, a, n * n * sizeof *l);
        assert_int_equal(nt_dense_factor(l, n, NULL), 0);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++) {
                double sum = 0;
                for (size_t p = 0; p <= j; p++)
                    sum += l[p * n + i] * l[p * n + j];
                assert_below(fabs(sum - a[j * n + i]), 1e-10);
            }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                b[i] += of(a, n, i, j) * x[j];
        nt_dense_solve(l, n, b);
        for (size_t i = 0; i < n; i++)
            assert_close(b[i], x[i], 1e-9);
        free(a);
        free(l);
        free(x);
        free(b);
    }
}

static void the_inverse_times_the_matrix_is_one(void **state)
{
    (void)state;
    struct nt_rng rng;
    nt_rng_init(&rng, 2);
    for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
        size_t n = sizes[t];
        double *a = definite(n, &rng), *z = malloc((n * n + 1) * sizeof *z);
        assert_non_null(z);
        memcpy(z, a, n * n * sizeof *z);
        assert_int_equal(nt_dense_factor(z, n, NULL), 0);
        assert_int_equal(nt_dense_invert(z, n, NULL), 0);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = i == j ? -1 : 0;
                assert_true(z[j * n + i] == z[i * n + j]); /* both triangles */
                for (size_t p = 0; p < n; p++)
                    sum += z[p * n + i] * of(a, n, p, j);
                assert_below(fabs(sum), 1e-9);
            }
        free(a);
        free(z);
    }
}

static void what_is_not_definite_is_refused(void **state)
{
    (void)state;
    struct nt_rng rng;
    nt_rng_init(&rng, 3);
    for (size_t bad = 0; bad < 130; bad += 43) { /* in each block of columns */
        struct nt_err err = {0};
        double *a = definite(130, &rng);
        a[bad * 130 + bad] = -1;
        assert_int_equal(nt_dense_factor(a, 130, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_string_equal(err.text, "a matrix of 130 is not positive definite");
        free(a);
    }
    struct nt_err err = {0};
    double none[4] = {0};
    assert_int_equal(nt_dense_invert(none, 2, &err), -1);
    assert_string_equal(err.text, "a factor of 2 is singular");
}

static void products_of_any_shape_are_right(void **state)
{
    (void)state;
    static const size_t shape[][3] = {{1, 1, 1}, {4, 4, 4},    {5, 3, 7},   {3, 9, 1},
                                      {8, 6, 0}, {13, 17, 11}, {7, 2, 256}, {21, 20, 33}};
    struct nt_rng rng;
    nt_rng_init(&rng, 4);
    for (size_t t = 0; t < 4 * sizeof shape / sizeof *shape; t++) {
        size_t m = shape[t / 4][0], n = shape[t / 4][1], k = shape[t / 4][2], ld = m + 2;
        double *a = noise(m * k, &rng), *b = noise(n * k, &rng), *c = noise(n * ld, &rng);
        double *was = malloc((n * ld + 1) * sizeof *was);
        double *panels = malloc((nt_panels_size(n, k) + 1) * sizeof *panels);
        assert_non_null(was);
        assert_non_null(panels);
        memcpy(was, c, n * ld * sizeof *c);
        struct nt_strided as = {a, 1, m}, bs = {b, 1, n};
        if (t % 2 == 1) { /* the other way round in memory */
            as = (struct nt_strided){a, k, 1};
            bs = (struct nt_strided){b, k, 1};
        }
        bool lower = t % 4 >= 2;
        nt_panels_pack(bs, n, k, panels);
        nt_panels_multiply(c, ld, as, m, panels, n, k, -0.5, lower);
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < ld; i++) {
                double sum = was[j * ld + i];
                for (size_t p = 0; p < k && i < m; p++)
                    sum -=
                        0.5 * as.at[i * as.down + p * as.right] * bs.at[j * bs.down + p * bs.right];
                if (i >= m)
                    assert_true(c[j * ld + i] == was[j * ld + i]); /* nothing behind it */
                else if (!lower || i >= j)
                    assert_below(fabs(c[j * ld + i] - sum), 1e-11);
            }
        free(a);
        free(b);
        free(c);
        free(was);
        free(panels);
    }
}

static void sums_are_right_for_any_length(void **state)
{
    (void)state;
    struct nt_rng rng;
    nt_rng_init(&rng, 5);
    for (size_t n = 0; n < 40; n++) {
        double *x[4], *y = noise(n, &rng), *one_by_one = malloc((n + 1) * sizeof *one_by_one);
        const double a[4] = {1.5, -2, 0.25, 3};
        assert_non_null(one_by_one);
        memcpy(one_by_one, y, n * sizeof *y);
        for (size_t k = 0; k < 4; k++) {
            x[k] = noise(n, &rng);
            nt_dense_add(one_by_one, a[k], x[k], n);
        }
        nt_dense_add4(y, a, (const double *const[]){x[0], x[1], x[2], x[3]}, n);
        double dot = 0;
        for (size_t i = 0; i < n; i++) {
            assert_close(y[i], one_by_one[i], 1e-12);
            dot += x[0][i] * x[1][i];
        }
        assert_close(dot, nt_dense_dot(x[0], x[1], n), 1e-12);
        for (size_t k = 0; k < 4; k++)
            free(x[k]);
        free(y);
        free(one_by_one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_factor_times_itself_is_the_matrix),
        cmocka_unit_test(the_inverse_times_the_matrix_is_one),
        cmocka_unit_test(what_is_not_definite_is_refused),
        cmocka_unit_test(products_of_any_shape_are_right),
        cmocka_unit_test(sums_are_right_for_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
