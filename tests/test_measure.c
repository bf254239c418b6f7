/* SPDX-License-Identifier: Apache-2.0 */
/* The noise of simulated measurements: its statistics, and that it is a function of the pair. */
#include "asserts.h"
#include "made_network.h"
#include "measure.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

TEST(test_none)
{
    SCOPED(network) *n = made_network("tree:3x4");
    SCOPED(matrix) *m;
    struct nt_measure_noise noise = {.seed = 7};
    assert_int_equal(nt_measure_apply_structure(&noise, n, NULL), 0);
    assert_int_equal(nt_measure_latencies(n, &noise, &m, NULL), 0);
    for (uint32_t i = 0; i < n->hosts; i++)
        for (uint32_t j = 0; j < n->hosts; j++)
            assert_true(i == j ? isnan(nt_matrix_get(m, i, j))
                               : nt_matrix_get(m, i, j) == (float)nt_network_latency(n, i, j));
}

/* Mean 1, the sd that was asked for, no correlation of the two directions or of repeats. */
TEST(test_noise)
{
    struct nt_network *n = made_network("star:300");
    struct nt_measure_noise noise = {.sd = 0.05, .seed = 1};
    double sum = 0, square = 0, both = 0, again = 0, count = 0;
    for (uint32_t a = 0; a < n->hosts; a++)
        for (uint32_t b = 0; b < n->hosts; b++) {
            if (a == b)
                continue;
            double x = nt_measure_latency(n, &noise, a, b, 0) - 1;
            sum += x;
            square += x * x;
            both += x * (nt_measure_latency(n, &noise, b, a, 0) - 1);
            again += x * (nt_measure_latency(n, &noise, a, b, 1) - 1);
            count++;
        }
    assert_below(fabs(sum / count), 4 * 0.05 / sqrt(count));
    assert_close(sqrt(square / count), 0.05, 0.001);
    assert_below(fabs(both / square), 0.02);
    assert_below(fabs(again / square), 0.02);
    nt_network_destroy(n);
}

/* Shares of pairs, the same both ways; wrong values by 1.2 to 4, drawn anew each repeat. */
TEST(test_shares)
{
    struct nt_network *n = made_network("star:300");
    struct nt_measure_noise noise = {.outliers = 0.1, .missing = 0.2, .seed = 2};
    double pairs = 0, wrong = 0, high = 0, missing = 0, changed = 0;
    for (uint32_t a = 0; a < n->hosts; a++)
        for (uint32_t b = a + 1; b < n->hosts; b++) {
            double x = nt_measure_latency(n, &noise, a, b, 0),
                   y = nt_measure_latency(n, &noise, b, a, 0);
            double z = nt_measure_latency(n, &noise, a, b, 1);
            pairs++;
            missing += isnan(x);
            assert_true(isnan(x) == isnan(y) && isnan(x) == isnan(z));
            if (isnan(x))
                continue;
            assert_true(x == y);
            assert_holds(x == 1 || (x >= 1.2 && x <= 4) || (x >= 0.25 && x <= 1 / 1.2), "factor %g",
                         x);
            wrong += x != 1;
            high += x > 1;
            changed += x != 1 && z == 1;
        }
    assert_close(missing / pairs, 0.2, 0.01);
    assert_close(wrong / (pairs - missing), 0.1, 0.01);
    assert_close(high / wrong, 0.75, 0.03);
    assert_close(changed / wrong, 0.9, 0.03);
    nt_network_destroy(n);
}

/* Spread and asymmetry are the network's own: the same for every pair of a host, and the mean of
 * the two directions stays. */
TEST(test_settled)
{
    struct nt_network *n = made_network("star:2000");
    struct nt_measure_noise noise = {.host_spread = 0.1, .seed = 3};
    double sum = 0, square = 0;
    assert_int_equal(nt_measure_apply_structure(&noise, n, NULL), 0);
    for (uint32_t h = 1; h < n->hosts; h++) {
        double own = nt_network_latency(n, 0, h) - n->arc[0].latency_us;
        double x = own / 0.5 - 1;
        assert_close(nt_network_latency(n, h, 0), nt_network_latency(n, 0, h), 1e-12);
        assert_close(nt_network_latency(n, h, (h + 1) % 2000) -
                         n->arc[2 * ((h + 1) % 2000)].latency_us,
                     own, 1e-12);
        sum += x;
        square += x * x;
    }
    assert_below(fabs(sum / 1999), 0.01);
    assert_close(sqrt(square / 1999), 0.1, 0.008);
    nt_network_destroy(n);

    n = made_network("torus:4x4");
    struct nt_measure_noise skew = {.asymmetry = 0.1, .seed = 3};
    assert_int_equal(nt_measure_apply_structure(&skew, n, NULL), 0);
    assert_true(nt_network_latency(n, 0, 1) != nt_network_latency(n, 1, 0));
    assert_close(nt_network_latency(n, 0, 1) + nt_network_latency(n, 1, 0), 2 * 1.3, 1e-9);
    nt_network_destroy(n);
}

TEST(test_seeds)
{
    SCOPED(network) *n = made_network("tree:3x4");
    struct nt_measure_noise noise = {.sd = 0.1, .outliers = 0.1, .missing = 0.1, .seed = 1},
                            other = noise;
    size_t same = 0;
    other.seed = 2;
    for (uint32_t b = 1; b < n->hosts; b++) {
        double x = nt_measure_latency(n, &noise, 0, b, 5);
        double y = nt_measure_latency(n, &noise, 0, b, 5);
        assert_true(isnan(x) ? isnan(y) : x == y);
        same += x == nt_measure_latency(n, &other, 0, b, 5);
    }
    assert_at_most(same, 1);
}

TEST(test_refusals)
{
    static const struct nt_measure_noise bad[] = {
        {.sd = -0.1},    {.sd = NAN},      {.sd = 11},        {.outliers = 1.5},
        {.missing = -1}, {.missing = NAN}, {.asymmetry = -1}, {.host_spread = -1}};
    SCOPED(network) *n = made_network("star:3");
    for (size_t k = 0; k < COUNT(bad); k++) {
        assert_int_equal(nt_measure_apply_structure(&bad[k], n, &err), -1);
        assert_int_equal(err.kind, NT_ERR_USAGE);
    }
}

RUN_TESTS
