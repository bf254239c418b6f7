/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "rng.h"
#include "size_fit.h"

enum { HOSTS = 8, SIZES_MAX = 12, LEAF = 4 };

/* Two leaves of four: latency and throughput of a pair. */
static double true_us(size_t i, size_t j)
{
    return i / LEAF == j / LEAF ? 2 : 3;
}

static double true_MBps(size_t i, size_t j)
{
    return i / LEAF == j / LEAF ? 1000 : 500;
}

struct measured {
    struct nt_matrix *latency[SIZES_MAX], *rate;
    double bytes[SIZES_MAX];
    size_t sizes;
};

static struct nt_matrix *create(enum nt_matrix_kind kind)
{
    struct nt_matrix *m;
    assert_int_equal(nt_matrix_create(HOSTS, kind, &m, NULL), 0);
    return m;
}

/* Over this size a message takes so much longer: the protocol's handshake. */
static const double EAGER_BYTES = 8192;

static void add_size(struct measured *d, double bytes, double noise, double handshake_us)
{
    struct nt_rng rng;
    struct nt_matrix *m = create(NT_MATRIX_LATENCY_US);
    nt_rng_init(&rng, 7 + d->sizes);
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++) {
            double us = true_us(i, j) + bytes / true_MBps(i, j);
            us += bytes > EAGER_BYTES ? handshake_us : 0;
            if (i != j)
                nt_matrix_set(m, i, j, (float)(us * (1 + noise * nt_rng_normal(&rng))));
        }
    d->latency[d->sizes] = m;
    d->bytes[d->sizes++] = bytes;
}

static void measure_rates(struct measured *d)
{
    d->rate = create(NT_MATRIX_BANDWIDTH_MBPS);
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++)
            if (i != j)
                nt_matrix_set(d->rate, i, j, (float)true_MBps(i, j));
}

static struct nt_size_fit fit(struct measured *d)
{
    struct nt_size_fit out;
    const struct nt_sized sized = {(const struct nt_matrix *const *)d->latency, d->bytes, d->sizes,
                                   d->rate};
    must(nt_size_fit(&sized, &out, &err));
    for (size_t k = 0; k < d->sizes; k++)
        nt_matrix_destroy(d->latency[k]);
    nt_matrix_destroy(d->rate);
    return out;
}

/* Every pair's figures within a share of the truth; 0: of no rates. */
static void assert_true_figures(const struct nt_size_fit *f, double us_share, double rate_share)
{
    assert_int_equal(f->pairs, HOSTS * (HOSTS - 1));
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++) {
            if (i == j)
                continue;
            double us = (double)nt_matrix_get(f->latency, i, j) / true_us(i, j);
            assert_close(us, 1, us_share);
            if (rate_share > 0)
                assert_close((double)nt_matrix_get(f->rate, i, j) / true_MBps(i, j), 1, rate_share);
        }
}

/* Equation 1.3. */
TEST(one_size_and_the_throughput_of_pairs)
{
    struct measured d = {0};
    add_size(&d, 65536, 0, 0);
    measure_rates(&d);
    nt_matrix_set(d.rate, 1, 0, NAN); /* known the other way */
    struct nt_size_fit f = fit(&d);
    assert_true_figures(&f, 1e-4, 0);
    assert_null(f.rate);
    assert_true(f.unclear == 0 && f.negative == 0);
    nt_size_fit_fini(&f);
}

TEST(a_pair_without_a_rate_and_one_that_a_message_exceeds_are_left_out)
{
    struct measured d = {0};
    add_size(&d, 65536, 0, 0);
    measure_rates(&d);
    nt_matrix_set(d.rate, 0, 1, NAN);
    nt_matrix_set(d.rate, 1, 0, NAN);
    nt_matrix_set(d.rate, 2, 3, 900); /* 72.8 us of 67.5 us */
    struct nt_size_fit f = fit(&d);
    assert_true(f.unclear == 2 && f.negative == 1);
    assert_true(isnan(nt_matrix_get(f.latency, 0, 1)) && isnan(nt_matrix_get(f.latency, 2, 3)));
    assert_close((double)nt_matrix_get(f.latency, 3, 2), 2, 1e-4);
    nt_size_fit_fini(&f);
}

/* Equations 1.5 and 1.6. */
TEST(two_sizes_show_both)
{
    struct measured d = {0};
    add_size(&d, 64, 0, 0);
    add_size(&d, 65536, 0, 0);
    struct nt_size_fit f = fit(&d);
    assert_true_figures(&f, 1e-4, 1e-4);
    nt_size_fit_fini(&f);
}

/* With 0.5 % of noise; and over 8 KiB a handshake takes longer than the latency. */
TEST(more_sizes_are_a_regression_in_each_regime_of_the_protocol)
{
    for (int jump = 0; jump <= 5; jump += 5) {
        struct measured d = {0};
        for (double s = 1; s <= 4194304; s *= 4)
            add_size(&d, s, 0.005, jump);
        struct nt_size_fit f = fit(&d);
        assert_true_figures(&f, 0.04, 0.03);
        assert_int_equal(f.unclear, 0);
        nt_size_fit_fini(&f);
    }
}

/* Eight bytes more take less than the noise: no rate, and the latencies as they are. */
TEST(sizes_too_near_each_other_show_no_rate)
{
    struct measured d = {0};
    add_size(&d, 1, 0.01, 0);
    add_size(&d, 8, 0.01, 0);
    float first = nt_matrix_get(d.latency[0], 0, 1);
    struct nt_size_fit f = fit(&d);
    assert_int_equal(f.unclear, f.pairs);
    assert_true(nt_matrix_get(f.latency, 0, 1) == first);
    assert_true(isnan(nt_matrix_get(f.rate, 0, 1)));
    nt_size_fit_fini(&f);
}

TEST(what_was_not_measured_stays_so)
{
    struct measured d = {0};
    for (double s = 64; s <= 1048576; s *= 16)
        add_size(&d, s, 0, 0);
    nt_matrix_set(d.latency[0], 0, 1, NAN);
    nt_matrix_set(d.latency[1], 2, 1, NAN);
    struct nt_size_fit f = fit(&d);
    assert_true(isnan(nt_matrix_get(f.latency, 0, 1)));
    assert_close((double)nt_matrix_get(f.latency, 2, 1), 2, 1e-3);
    assert_close((double)nt_matrix_get(f.rate, 2, 1), 1000, 1);
    nt_size_fit_fini(&f);
}

RUN_TESTS
