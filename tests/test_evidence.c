/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what many jobs measured, and the offsets of jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planted_jobs.h"

static void refuses(struct nt_evidence *e, uint32_t job, uint32_t a, uint32_t b, double us)
{
    struct nt_err err = {0};
    size_t before = e->entries;
    assert_int_equal(nt_evidence_note(e, job, a, b, us, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_int_equal(e->entries, before);
}

static void test_bounds(void **state)
{
    struct nt_evidence e;
    struct nt_err err;
    (void)state;
    assert_int_equal(nt_evidence_init(&e, (size_t)1 << 20, &err), -1);
    assert_int_equal(nt_evidence_init(&e, 3, &err), 0);
    refuses(&e, 0, 0, 1, 1); /* no job yet */
    assert_int_equal(nt_evidence_add_job(&e, 5, 1, 0, NULL, &err), 0);
    refuses(&e, 0, 0, 0, 1);
    refuses(&e, 0, 0, 3, 1);
    refuses(&e, 1, 0, 1, 1);
    refuses(&e, 0, 0, 1, 0);
    refuses(&e, 0, 0, 1, -1);
    refuses(&e, 0, 0, 1, NAN);
    refuses(&e, 0, 0, 1, INFINITY);
    struct nt_evidence_entry bad = {.a = 0, .b = 1, .count = 0, .lowest_us = 1, .mean_us = 1};
    assert_int_equal(nt_evidence_add(&e, &bad, &err), -1);
    bad.count = 2;
    bad.sd_us = NAN;
    assert_int_equal(nt_evidence_add(&e, &bad, &err), -1);
    nt_evidence_fini(&e);
}

static void test_folds(void **state)
{
    static const double us[] = {3, 1, 2, 6};
    struct nt_evidence e;
    struct nt_err err;
    (void)state;
    assert_int_equal(nt_evidence_init(&e, 3, &err), 0);
    assert_int_equal(nt_evidence_add_job(&e, 9, 1, 0, NULL, &err), 0);
    assert_int_equal(nt_evidence_add_job(&e, 5, 2, 0, NULL, &err), 0);
    for (size_t k = 0; k < 4; k++)
        assert_int_equal(nt_evidence_note(&e, 0, k % 2 ? 2 : 1, k % 2 ? 1 : 2, us[k], &err), 0);
    assert_int_equal(nt_evidence_note(&e, 1, 1, 2, 7, &err), 0);
    assert_int_equal(nt_evidence_note(&e, 0, 0, 2, 4, &err), 0);
    assert_int_equal(nt_evidence_sort(&e, &err), 0);
    assert_int_equal(e.entries, 3);
    assert_int_equal(e.entry[0].a, 0);
    assert_true(e.job[0].id == 2 && e.job[1].id == 1); /* by time */
    assert_true(e.entry[1].job == 0 && e.entry[2].job == 1);
    const struct nt_evidence_entry *folded = &e.entry[2];
    assert_int_equal(folded->count, 4);
    assert_true(folded->a == 1 && folded->b == 2);
    assert_float_equal(folded->lowest_us, 1, 1e-6);
    assert_float_equal(folded->mean_us, 3, 1e-6);
    assert_float_equal(folded->sd_us, sqrt(14.0 / 3), 1e-6);
    assert_int_equal(nt_evidence_next_pair(&e, 1), 3);
    nt_evidence_fini(&e);
}

/* Offsets between jobs that share pairs are found, also through others, and when one pair in ten
 * is disturbed. */
static void test_aligns(void **state)
{
    struct nt_network *n = made_machine("tree:2x4x4");
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct planted_jobs p = {.network = n,
                                 .noise = {.sd = 0.01, .outliers = 0.1, .seed = seed}};
        struct nt_evidence e;
        struct nt_err err;
        struct nt_rng rng;
        double factor[12];
        nt_rng_init(&rng, seed);
        assert_int_equal(nt_evidence_init(&e, n->hosts, &err), 0);
        for (uint32_t j = 0; j < 12; j++) { /* hosts 2j..2j+7: neighbours in time share six */
            uint32_t host[8];
            for (uint32_t k = 0; k < 8; k++)
                host[k] = (2 * j + k) % (uint32_t)n->hosts;
            factor[j] = exp(0.1 * nt_rng_normal(&rng));
            planted_job(&p, &e, PLANTED_START_S + j, j + 1, 0, host, 8);
            for (size_t k = 0; k < e.entries; k++)
                if (e.entry[k].job == j) {
                    e.entry[k].lowest_us *= (float)factor[j];
                    e.entry[k].mean_us *= (float)factor[j];
                }
        }
        assert_int_equal(nt_evidence_align(&e, &err), 0);
        for (uint32_t j = 1; j < 12; j++) {
            double found = (double)(e.job[j].offset_ln - e.job[0].offset_ln);
            assert_float_equal(found, log(factor[j] / factor[0]), 0.03);
        }
        nt_evidence_fini(&e);
    }
    nt_network_destroy(n);
}

static void test_alone(void **state)
{
    struct nt_evidence e;
    struct nt_err err;
    (void)state;
    assert_int_equal(nt_evidence_init(&e, 4, &err), 0);
    assert_int_equal(nt_evidence_align(&e, &err), 0);
    for (uint32_t j = 0; j < 3; j++) {
        assert_int_equal(nt_evidence_add_job(&e, j, j, 0, NULL, &err), 0);
        assert_int_equal(nt_evidence_note(&e, j, j < 2 ? 0 : 2, j < 2 ? 1 : 3, 1 + j, &err), 0);
    }
    assert_int_equal(nt_evidence_align(&e, &err), 0);
    assert_true(isnan(e.job[2].offset_ln));
    assert_float_equal(e.job[1].offset_ln - e.job[0].offset_ln, log(2), 1e-4);
    nt_evidence_fini(&e);
}

/* Two groups of jobs of the same mean factor, and one job of the second whose reading of a pair of
 * the first is disturbed: that pair does not put the groups apart. */
static void test_groups(void **state)
{
    enum { JOBS = 8, HOSTS = 5 };
    struct nt_evidence e;
    struct nt_err err;
    (void)state;
    assert_int_equal(nt_evidence_init(&e, 2 * HOSTS, &err), 0);
    for (uint32_t j = 0; j < 2 * JOBS; j++) {
        uint32_t group = j / JOBS, first = group * HOSTS;
        double factor = 1 + 0.02 * ((int)(j % JOBS) - 3.5);
        assert_int_equal(nt_evidence_add_job(&e, j, j, 0, NULL, &err), 0);
        for (uint32_t a = first; a < first + HOSTS; a++)
            for (uint32_t b = a + 1; b < first + HOSTS; b++)
                assert_int_equal(nt_evidence_note(&e, j, a, b, factor, &err), 0);
    }
    assert_int_equal(nt_evidence_note(&e, JOBS, 0, 1, 1.4, &err), 0);
    assert_int_equal(nt_evidence_align(&e, &err), 0);
    for (size_t k = 0; k < e.entries; k++)
        if (e.entry[k].job != JOBS || e.entry[k].a > 0)
            assert_true(fabs((double)e.entry[k].ln) < 0.03);
    nt_evidence_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds), cmocka_unit_test(test_folds),
                                       cmocka_unit_test(test_aligns), cmocka_unit_test(test_alone),
                                       cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
