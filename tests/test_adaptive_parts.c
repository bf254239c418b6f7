/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the adaptive sweep: its sequential test, its classes, cells and clusters. */
#include "asserts.h"
#include "class_fit.h"
#include "clustering.h"
#include "rng.h"
#include "sparse.h"
#include "verify.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- the sequential test ---- */

static const struct nt_classes TWO = {.count = 2,
                                      .mean = {0.113, 0.293},
                                      .weight = {0.2, 0.8},
                                      .noise = 0.06, /* classes 3 sd apart: errors can be seen */
                                      .outliers = 0.02,
                                      .low_share = 0.25};

/* Readings of one pair until the sum leaves the limits; whether it says "same". */
static bool tested(struct nt_rng *rng, size_t class, double same, double differ, unsigned *readings)
{
    double sum = 0;
    while (sum <= same && sum >= differ) {
        double x = TWO.mean[class] + TWO.noise * nt_rng_normal(rng);
        if (nt_rng_uniform(rng) < TWO.outliers)
            x = TWO.mean[class] +
                (nt_rng_uniform(rng) < TWO.low_share ? -1.25 : 1.25) * nt_rng_uniform(rng);
        sum += nt_classes_llr(&TWO, x, 0);
        (*readings)++;
    }
    return sum > same;
}

/* Wald's bound: wrong with a chance of at most exp(-limit). */
TEST(test_error_rates)
{
    static const struct {
        double same, differ;
        unsigned cells;
    } table[] = {{2.5, -2.5, 20000}, {4, -4, 40000}, {16, -14, 40000}};
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    for (size_t k = 0; k < COUNT(table); k++) {
        unsigned merged = 0, split = 0, readings = 0, n = table[k].cells;
        for (unsigned i = 0; i < n; i++) {
            merged += tested(&rng, 1, table[k].same, table[k].differ, &readings);
            split += !tested(&rng, 0, table[k].same, table[k].differ, &readings);
        }
        double may_merge = exp(-table[k].same) * n, may_split = exp(table[k].differ) * n;
        assert_at_most(merged, may_merge + 4 * sqrt(may_merge) + 0.5);
        assert_at_most(split, may_split + 4 * sqrt(may_split) + 0.5);
        assert_below(readings, 2 * n * (1 + table[k].same));
        if (table[k].same < 3) { /* and the test could see them */
            assert_above(merged, 0);
            assert_above(split, 0);
        }
    }
}

TEST(test_evidence)
{
    assert_above(nt_classes_llr(&TWO, 0.113, 0), 3);
    assert_below(nt_classes_llr(&TWO, 0.293, 0), -3);
    assert_below(fabs(nt_classes_llr(&TWO, 0.203, 0)), 0.1); /* just between */
    assert_at_most(nt_classes_llr(&TWO, 0.113, 0), 12);
    assert_at_least(nt_classes_llr(&TWO, 0.293, 0), -7);
    assert_below(fabs(nt_classes_llr(&TWO, 1.1, 0)), 0.1); /* far off: an outlier, no evidence */
    assert_true(nt_classes_llr(&TWO, 0.113, 1) == 0);      /* no class above */
}

/* ---- classes ---- */

TEST(test_class_fit)
{
    static const struct {
        size_t classes;
        double us[6];
        unsigned values[6];
        double noise, spread_us, outliers;
    } table[] = {
        {1, {1.12}, {60}, 0.0085, 0, 0},
        {2, {1.12, 1.34}, {40, 200}, 0.0085, 0, 0.01},
        {3, {1.12, 1.34, 1.56}, {10, 40, 200}, 0.0085, 0, 0},
        {4, {1.12, 1.34, 1.56, 1.78}, {7, 20, 60, 190}, 0.0085, 0, 0.01},
        {3, {1.12, 1.34, 1.56}, {200, 800, 3000}, 0.02, 0, 0.01},
        {2, {1.0, 1.5}, {200, 600}, 0.0085, 0.03, 0}, /* hosts differ by more than noise */
        {2, {2.0, 14.0}, {9, 20}, 0.01, 0, 0},        /* few values */
        {5, {1, 1.2, 1.5, 2, 4}, {50, 50, 50, 50, 50}, 0.01, 0, 0.02},
    };
    static double value[8192];
    struct nt_rng rng;
    nt_rng_init(&rng, 4);
    for (size_t k = 0; k < COUNT(table); k++) {
        unsigned extra = 0;
        for (int repeat = 0; repeat < 20; repeat++) {
            struct nt_classes c;
            size_t n = 0;
            for (size_t i = 0; i < table[k].classes; i++)
                for (unsigned v = 0; v < table[k].values[i]; v++) {
                    double us = table[k].us[i] + table[k].spread_us * nt_rng_normal(&rng);
                    value[n] = log(us) + table[k].noise * nt_rng_normal(&rng);
                    if (nt_rng_uniform(&rng) < table[k].outliers)
                        value[n] += nt_rng_uniform(&rng);
                    n++;
                }
            assert_int_equal(
                nt_classes_fit(value, n, table[k].noise, fmax(table[k].outliers, 0.005), &c, NULL),
                0);
            /* accidents that agree look like a class; none may be lost */
            assert_at_least(c.count, table[k].classes);
            extra += c.count > table[k].classes;
            if (c.count > table[k].classes)
                continue;
            for (size_t i = 0; i < c.count; i++)
                assert_close(exp(c.mean[i]) / table[k].us[i], 1, 0.02);
            if (table[k].spread_us > 0)
                assert_close(c.spread_us / table[k].spread_us, 1, 0.25);
        }
        if (extra > (table[k].outliers > 0 ? 4 : 0))
            fail_msg("mixture %zu: %u times a class too many", k, extra);
    }
}

/* ---- cells and clusters ---- */

TEST(test_clusters)
{
    struct nt_clusters c;
    assert_int_equal(nt_clusters_init(&c, 6, 3, NULL), 0);
    nt_clusters_unite(&c, 0, 4, 2);
    nt_clusters_unite(&c, 1, 4, 5);
    assert_int_equal(nt_clusters_find(&c, 0, 4), 2);
    assert_int_equal(nt_clusters_find(&c, 0, 5), 5);
    assert_int_equal(nt_clusters_find(&c, 1, 5), 2);
    assert_int_equal(nt_clusters_find(&c, 2, 3), 0);
    assert_int_equal(nt_clusters_meet(&c, 2, 4), 0);
    assert_int_equal(nt_clusters_meet(&c, 2, 5), 1);
    assert_int_equal(nt_clusters_meet(&c, 0, 5), 2);
    nt_clusters_fini(&c);
}

TEST(test_cells)
{
    struct nt_cells *c;
    assert_int_equal(nt_cells_create(NT_CELLS_CLUSTERS_MAX + 1, &c, &err), -1);
    must(nt_cells_create(3, &c, &err));
    for (uint32_t k = 0; k < 3; k++) {
        c->cluster[k].seat = malloc(sizeof(uint32_t));
        c->cluster[k].seat[0] = c->cluster[k].low = c->cluster[k].high = 10 + k;
        c->cluster[k].size = 1;
    }
    nt_cells_add(c, 0, 1, 3);
    nt_cells_add(c, 2, 0, 4);
    nt_cells_add(c, 1, 2, -5);
    must(nt_cells_merge(c, 0, 1, &err));
    assert_true(c->cluster[1].merged && c->cluster[0].size == 2);
    assert_close((double)c->sum[nt_cell_at(0, 2)], -1, 1e-6); /* evidence adds up */
    assert_int_equal(c->count[nt_cell_at(0, 2)], 2);
    must(nt_cells_append(c, 2, &err));
    assert_true(c->sum[nt_cell_at(4, 0)] == 0 && c->clusters == 5);
    assert_close((double)c->sum[nt_cell_at(0, 2)], -1, 1e-6);
    nt_cells_destroy(c);
    nt_cells_destroy(NULL);
}

/* ---- judging ---- */

/* Merging reads again what it is least certain of, so that of very many pairs one is off by a
 * little three times; a network is refuted by what chance does not make of one of them. */
TEST(test_judge)
{
    static const struct {
        unsigned readings;
        double off_sds;
        size_t contradicting, rechecks;
    } table[] = {{3, 0.5, 0, 0}, {3, -2.6, 0, 1}, {3, -4.0, 1, 0},
                 {3, 12, 1, 0},  {6, -2.6, 1, 0}, {9, 2.6, 1, 0}};
    for (size_t k = 0; k < COUNT(table); k++) {
        struct nt_classes classes = {.count = 1, .mean = {0.113}, .weight = {1}, .noise = 0.012};
        struct nt_readings r = {0};
        struct nt_clusters clusters;
        struct nt_finding f;
        const bool lost[4] = {0};
        assert_int_equal(nt_clusters_init(&clusters, 4, 1, NULL), 0);
        const struct nt_slow slow = {0};
        const struct nt_found_tree claim = {4,     lost, &classes,      &clusters,
                                            &slow, &r,   classes.noise, 0};
        for (unsigned i = 0; i < table[k].readings; i++)
            assert_int_equal(
                nt_readings_add(&r, 0, 1, 30, (float)(0.113 + 0.012 * table[k].off_sds), NULL), 0);
        assert_int_equal(nt_readings_add(&r, 2, 3, 30, 0.113F, NULL), 0);
        r.calibration = 0;
        r.planning = r.count;
        assert_int_equal(nt_verify_judge(&claim, &f, NULL), 0);
        if ((f.contradicting > 0) != (table[k].contradicting > 0) ||
            f.rechecks != table[k].rechecks)
            fail_msg("%u readings off by %g: %zu against, %zu suspects", table[k].readings,
                     table[k].off_sds, f.contradicting, f.rechecks);
        nt_finding_fini(&f);
        nt_readings_fini(&r);
        nt_clusters_fini(&clusters);
    }
}

/* Readings that do not contradict a clustering are no evidence for it if it is as likely wrong. */
TEST(test_verdict_needs_confidence)
{
    static const struct {
        double risk;
        size_t contradicting;
        enum nt_sparse_verdict verdict;
    } table[] = {{0.1, 0, NT_SPARSE_SOUND}, {1, 0, NT_SPARSE_OPEN}, {1.5, 1, NT_SPARSE_REFUTED}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_sparse s = {.seats = 24, .clustering = {.over = true, .risk = table[k].risk}};
        s.finding.contradicting = table[k].contradicting;
        nt_sparse_set_verdict(&s);
        assert_int_equal(s.verdict, table[k].verdict);
    }
}

RUN_TESTS
