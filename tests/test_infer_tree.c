/* SPDX-License-Identifier: Apache-2.0 */
/* Trees from latencies: known networks must come back exactly. */
#include "asserts.h"
#include "known_network.h"

#define FAN(...) ((const size_t[]){__VA_ARGS__})
#define US(...) ((const double[]){__VA_ARGS__})

static struct nt_model *shape(int k)
{
    switch (k) {
    case 0:
        return known_balanced(1, FAN(3), US(0.6));
    case 1:
        return known_balanced(1, FAN(16), US(0.6));
    case 2:
        return known_balanced(2, FAN(2, 2), US(100, 100));
    case 3:
        return known_leaves(2, FAN(3, 5), 100, 100);
    case 4:
        return known_balanced(3, FAN(2, 2, 2), US(100, 100, 200));
    case 5:
        return known_balanced(3, FAN(2, 2, 4), US(100, 100, 200));
    case 6:
        return known_balanced(3, FAN(4, 4, 8), US(0.6, 0.25, 0.4));
    case 7:
        return known_balanced(4, FAN(3, 2, 3, 6), US(0.6, 0.25, 0.4, 0.5));
    case 8:
        return known_leaves(4, FAN(3, 5, 12, 20), 0.6, 0.25);
    case 9:
        return known_chain(4, 6, 0.6, 0.4);
    default:
        return NULL;
    }
}

TEST(test_shapes)
{
    const double sds[] = {0, 0.01};
    for (int k = 0; k <= 9; k++)
        for (size_t s = 0; s < 10; s++) {
            struct nt_rng rng;
            SCOPED(model) *truth = shape(k);
            nt_rng_init(&rng, s);
            struct nt_matrix *x =
                known_measure(truth, &(struct known_noise){.sd = sds[s % 2]}, &rng);
            SCOPED(model) *found = known_inferred(x, 1);
            if (!known_same_shape(truth, found))
                fail_msg("shape %d seed %zu: %zu switches, expected %zu", k, s, found->switches,
                         truth->switches);
            nt_matrix_destroy(x);
        }
}

TEST(test_few_hosts)
{
    struct nt_matrix *x;
    for (size_t n = 0; n <= 3; n++) {
        known_must(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &x, &err), &err);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                nt_matrix_set(x, i, j, 2.0f);
        SCOPED(model) *m = known_inferred(x, 1);
        assert_int_equal(m->hosts, n);
        assert_int_equal(m->switches, n > 0);
        assert_int_equal(m->links, n);
        for (size_t k = 0; k < m->links && n > 1; k++)
            assert_close(m->link[k].latency_us, 1, 1e-6);
        nt_matrix_destroy(x);
    }
}

TEST(test_silent_host)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    SCOPED(model) *truth = known_balanced(2, FAN(3, 4), US(0.6, 0.25));
    struct nt_matrix *x =
        known_measure(truth, &(struct known_noise){.sd = 0.01, .in_order = true}, &rng);
    for (size_t j = 0; j < x->n; j++) {
        nt_matrix_set(x, 5, j, NAN);
        nt_matrix_set(x, j, 5, -1);
    }
    SCOPED(model) *m = known_inferred(x, 1);
    assert_true(m->missing[5]);
    assert_int_equal(m->switches, truth->switches);
    assert_int_equal(m->links, truth->links - 1);
    nt_matrix_destroy(x);
}

/* Hosts anywhere: beside leaves, alone above them. At noise of one percent none may be wrong, nor
 * at three percent with few exceptions. */
TEST(test_uneven)
{
    const double sds[] = {0.003, 0.01, 0.03};
    const size_t wrong_most[] = {0, 0, 1}; /* of a hundred */
    size_t networks = draws(40, 200);
    for (size_t c = 0; c < 3; c++) {
        size_t wrong = 0;
        for (size_t s = 0; s < networks; s++) {
            struct nt_rng rng;
            nt_rng_init(&rng, 5000 + s);
            SCOPED(model) *truth = known_uneven(&rng);
            struct known_noise noise = {.sd = sds[c], .one_sided = true};
            SCOPED(matrix) *x = known_measure(truth, &noise, &rng);
            SCOPED(model) *m = known_inferred(x, 1);
            wrong += !known_same_shape(truth, m);
        }
        if (100 * wrong > wrong_most[c] * networks)
            fail_msg("%zu of %zu are wrong at noise %g", wrong, networks, sds[c]);
    }
}

/* The readings of the emulated fabrics: hosts behind links of 100 us, whole trees small. */
TEST(test_small_balanced)
{
    size_t networks = draws(40, 200);
    for (size_t k = 0; k < 4; k++) {
        size_t wrong = 0;
        for (size_t s = 0; s < networks; s++) {
            struct nt_rng rng;
            nt_rng_init(&rng, s);
            struct nt_model *truth = k == 0   ? known_balanced(2, FAN(2, 2), US(100, 100))
                                     : k == 1 ? known_balanced(3, FAN(2, 2, 2), US(100, 100, 200))
                                     : k == 2 ? known_balanced(3, FAN(2, 2, 4), US(100, 100, 200))
                                              : known_balanced(3, FAN(2, 3, 4), US(100, 100, 200));
            struct known_noise noise = {.sd = 0.02, .one_sided = true};
            SCOPED(matrix) *x = known_measure(truth, &noise, &rng);
            SCOPED(model) *m = known_inferred(x, 1);
            wrong += !known_same_shape(truth, m);
            nt_model_destroy(truth);
        }
        if (200 * wrong > networks)
            fail_msg("%zu of %zu are wrong in tree %zu", wrong, networks, k);
    }
}

RUN_TESTS
