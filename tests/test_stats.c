/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics against a sort, on values of every kind. */
#include "asserts.h"
#include "rng.h"
#include "stats.h"

enum { VALUES = 5000 };

static int compare(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

static float value(int kind, size_t k, size_t n, struct nt_rng *rng)
{
    switch (kind) {
    case 0:
        return (float)nt_rng_normal(rng);
    case 1:
        return (float)nt_rng_below(rng, 4);
    case 2:
        return (float)k;
    case 3:
        return (float)(n - k);
    default:
        return 7;
    }
}

/* The k-th is in its place, nothing above it before it, nothing below it after it. */
TEST(test_select)
{
    float v[VALUES], sorted[VALUES];
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    for (size_t run = 0; run < 2000; run++) {
        size_t most = run % 50 == 0 ? VALUES : run % 5 == 0 ? 900 : 30;
        size_t n = 1 + nt_rng_below(&rng, most), k = nt_rng_below(&rng, n);
        for (size_t i = 0; i < n; i++)
            v[i] = sorted[i] = value((int)(run % 5), i, n, &rng);
        qsort(sorted, n, sizeof *sorted, compare);
        float found = nt_stats_select(v, n, k);
        assert_true(found == sorted[k] && v[k] == found);
        for (size_t i = 0; i < n; i++)
            assert_true(i < k ? v[i] <= found : v[i] >= found);
        float middle = n % 2 == 1 ? sorted[n / 2] : 0.5f * (sorted[n / 2 - 1] + sorted[n / 2]);
        assert_true(nt_stats_median(v, n) == middle);
        assert_true(nt_stats_quantile(v, n, 1) == sorted[n - 1]);
    }
    assert_true(isnan(nt_stats_median(v, 0)));
}

/* As the median of each value repeated as often as its weight says. */
TEST(test_weighted_median)
{
    struct nt_weighted w[40];
    float flat[400];
    struct nt_rng rng;
    nt_rng_init(&rng, 2);
    for (size_t run = 0; run < 3000; run++) {
        size_t n = 1 + nt_rng_below(&rng, 40), count = 0;
        for (size_t i = 0; i < n; i++) {
            size_t times = 1 + nt_rng_below(&rng, 10);
            w[i] = (struct nt_weighted){value((int)(run % 5), i, n, &rng), (float)times};
            for (size_t k = 0; k < times; k++)
                flat[count++] = w[i].value;
        }
        assert_true(nt_stats_weighted_median(w, n) == nt_stats_median(flat, count));
    }
}

RUN_TESTS
