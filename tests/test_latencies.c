/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "latencies.h"
#include "rng.h"

enum { HOSTS = 40 };

static void assert_same(const struct nt_matrix *x, const struct nt_matrix *y)
{
    assert_int_equal(x->n, y->n);
    for (size_t k = 0; k < x->n * x->n; k++)
        assert_true(x->at[k] == y->at[k] || (isnan(x->at[k]) && isnan(y->at[k])));
}

/* The lowest, unless all others agree that it is too low. */
TEST(a_clock_that_jumped_does_not_count)
{
    static const struct {
        float us[5], low;
    } table[] = {
        {{10}, 10},
        {{10, 6}, 6},
        {{10, 6, 10.4F}, 10},
        {{10, 10, 6}, 10},
        {{6, 10, 15}, 6},
        {{6, 9, 12, 15}, 6},
        {{10, 10.2F, 15}, 10},
        {{6, 6.2F, 10, 10}, 6},
        {{10.3F, 10, 10.2F, 6, 10.4F}, 10},
        {{10.3F, 10, 10.2F, 6, 10.8F}, 6},
        {{6, 15, 20, 30}, 6},
        {{9.5F, 10, 10.2F}, 9.5F},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        for (size_t turn = 0; turn < 5; turn++) { /* in any order */
            struct nt_min_latency low = {0};
            for (size_t i = 0; i < 5; i++)
                if (table[k].us[(i + turn) % 5] > 0)
                    nt_min_latency_note(&low, table[k].us[(i + turn) % 5], 0);
            assert_true(nt_min_latency_of(&low) == table[k].low);
        }
}

/* The error of one reading is its own, negative; that of several is not. */
TEST(one_reading_has_its_own_error)
{
    struct nt_latencies l;
    SCOPED(matrix) *found, *error;
    nt_latencies_init(&l, 4);
    assert_int_equal(nt_latencies_note(&l, 0, 1, 10, 3, NULL), 0);
    assert_int_equal(nt_latencies_note(&l, 0, 2, 10, 0, NULL), 0);
    assert_int_equal(nt_latencies_note(&l, 0, 3, 12, 3, NULL), 0);
    assert_int_equal(nt_latencies_note(&l, 0, 3, 10, 4, NULL), 0);
    assert_int_equal(nt_latencies_matrix(&l, &found, &error, NULL), 0);
    assert_true(nt_matrix_get(error, 0, 1) == -3 && nt_matrix_get(error, 0, 3) == 2);
    assert_true(isnan(nt_matrix_get(error, 0, 2)) && isnan(nt_matrix_get(error, 1, 0)));
    assert_true(nt_matrix_get(found, 0, 3) == 10);
    nt_latencies_fini(&l);
}

/* All pairs of 8 hosts in three passes, with the latencies us. */
enum { ALL = 8, CHANGED = 2 };

static void read_thrice(double (*us)(uint32_t a, uint32_t b, int pass), struct nt_matrix **found,
                        struct nt_matrix **error)
{
    struct nt_latencies l;
    nt_latencies_init(&l, ALL);
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t a = 0; a < ALL; a++)
            for (uint32_t b = a + 1; b < ALL; b++)
                assert_int_equal(nt_latencies_note(&l, a, b, us(a, b, pass), 0, NULL), 0);
    assert_int_equal(nt_latencies_matrix(&l, found, error, NULL), 0);
    nt_latencies_fini(&l);
}

static bool has_changed(uint32_t a, uint32_t b)
{
    return a == CHANGED || b == CHANGED;
}

static double low_at_first(uint32_t a, uint32_t b, int pass)
{
    return pass == 0 && (has_changed(a, b) || (a == 4 && b == 7)) ? 6 : 10;
}

/* The first reading of each of a host's pairs is lower than both that follow: it is the others that
 * do not count, but of a pair apart from it. */
TEST(of_a_host_that_changed_the_lowest_counts)
{
    SCOPED(matrix) *found, *error;
    read_thrice(low_at_first, &found, &error);
    for (uint32_t a = 0; a < ALL; a++)
        for (uint32_t b = a + 1; b < ALL; b++) {
            assert_true(nt_matrix_get(found, a, b) == (has_changed(a, b) ? 6 : 10));
            assert_int_equal(isnan(nt_matrix_get(error, a, b)), has_changed(a, b));
        }
}

static double near_or_far(uint32_t a, uint32_t b, int pass)
{
    return ((a < ALL / 2) == (b < ALL / 2) ? 350 : 880) +
           (has_changed(a, b) && pass > 0 ? 80 + pass : 0);
}

/* A host's link becomes 80 us longer: a quarter of what its near pairs have, less than a tenth of
 * its far ones. All of them show the network before it. */
TEST(near_and_far_pairs_of_a_changed_host_agree)
{
    SCOPED(matrix) *found, *error;
    read_thrice(near_or_far, &found, &error);
    for (uint32_t a = 0; a < ALL; a++)
        for (uint32_t b = a + 1; b < ALL; b++)
            assert_true(nt_matrix_get(found, a, b) == (float)near_or_far(a, b, 0));
}

static double with_noise(uint32_t a, uint32_t b, int pass)
{
    if (a == 0 && b == 2 && pass == 0)
        return 338;
    return pass == 0 ? 350.5 : 351 + 0.1 * (double)(a + b) + 0.1 * pass;
}

/* The lowest of 350 us are about a microsecond below the next ones, but for one that is 13 below:
 * that it is too low is told from the noise of all pairs, though it is no tenth. */
TEST(a_low_reading_is_told_from_the_noise)
{
    SCOPED(matrix) *found, *error;
    read_thrice(with_noise, &found, &error);
    for (uint32_t a = 0; a < ALL; a++)
        for (uint32_t b = a + 1; b < ALL; b++) {
            bool low = a == 0 && b == 2;
            assert_true(nt_matrix_get(found, a, b) == (float)with_noise(a, b, low ? 1 : 0));
            assert_below(nt_matrix_get(error, a, b), 2.5F);
        }
}

static double in_steps(uint32_t a, uint32_t b, int pass)
{
    return a == 0 && b == 2 && pass == 0 ? 340 : 350;
}

/* Of readings that do not differ nobody knows the noise: less than a tenth may be a short path. */
TEST(without_noise_a_low_reading_counts)
{
    SCOPED(matrix) *found, *error;
    read_thrice(in_steps, &found, &error);
    assert_true(nt_matrix_get(found, 0, 2) == 340);
    assert_true(nt_matrix_get(found, 0, 1) == 350);
}

static void assert_lowest(size_t hosts, size_t notes)
{
    struct nt_latencies l;
    SCOPED(matrix) *expected, *found;
    struct nt_rng rng;
    struct nt_min_latency *low = calloc(hosts * hosts, sizeof *low);
    assert_non_null(low);
    nt_rng_init(&rng, notes);
    nt_latencies_init(&l, hosts);
    assert_int_equal(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &expected, NULL), 0);
    for (size_t k = 0; k < notes; k++) {
        uint32_t a = (uint32_t)nt_rng_below(&rng, hosts), b = (uint32_t)nt_rng_below(&rng, 5);
        double us = 1 + 0.01 * nt_rng_uniform(&rng); /* none stands alone */
        if (a != b) {
            nt_min_latency_note(&low[a * hosts + b], (float)us, 0);
            nt_matrix_set(expected, a, b, nt_min_latency_of(&low[a * hosts + b]));
        }
        assert_int_equal(nt_latencies_note(&l, a, b, us, 0, NULL), 0);
    }
    assert_int_equal(nt_latencies_matrix(&l, &found, NULL, NULL), 0);
    assert_same(found, expected);
    nt_latencies_fini(&l);
    nt_latencies_fini(&l);
    free(low);
}

/* With any number of readings: as if there had always been a matrix. */
TEST(the_lowest_of_each_direction_stays)
{
    for (size_t notes = 0; notes < 4000; notes += notes < 200 ? 1 : 379)
        assert_lowest(HOSTS, notes);
    assert_lowest(NT_LATENCIES_LISTED_HOSTS + 1, 60000); /* a list still, */
    assert_lowest(NT_LATENCIES_LISTED_HOSTS + 1, 80000); /* and a table */
}

/* A list while that is shorter, of as many hosts as a matrix may not have too. */
TEST(few_notes_take_little)
{
    static const size_t hosts[] = {300, 10000, 1000000};
    for (size_t t = 0; t < 3; t++) {
        struct nt_latencies l;
        nt_latencies_init(&l, hosts[t]);
        for (size_t k = 0; k < 200000; k++) {
            assert_int_equal(nt_latencies_note(&l, (uint32_t)(k % hosts[t]), 0, 1, 0, NULL), 0);
            assert_at_most(l.capacity * sizeof *l.entry, 16 * hosts[t] * hosts[t]);
        }
        assert_int_equal(l.low != NULL, t == 0);
        nt_latencies_fini(&l);
    }
}

RUN_TESTS
