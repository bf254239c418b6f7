/* SPDX-License-Identifier: Apache-2.0 */
/* Two hosts that are near by one reading of three are less of a group than two that are by all. */
#include "asserts.h"
#include "infer.h"
#include "known_network.h"
#include "latencies.h"
#include "rng.h"

enum { FEW = 7, MORE = 12, READINGS = 3 };

/* Hosts of one switch, 350 us from each other, whose readings are late by 2 us on average; *support
 * of a group of hosts 2 and 5 alone, of which so many readings are near_us lower; 0: not stated. */
static double support_of(uint32_t hosts, double near_us, uint64_t seed, size_t low,
                         bool with_errors)
{
    struct nt_latencies l;
    struct nt_rng rng;
    struct nt_matrix *x, *e;
    struct nt_model *m;
    double support = 0;
    nt_rng_init(&rng, seed);
    nt_latencies_init(&l, hosts);
    for (size_t k = 0; k < READINGS; k++)
        for (uint32_t a = 0; a < hosts; a++)
            for (uint32_t b = a + 1; b < hosts; b++) {
                double us = 350 + nt_rng_normal(&rng) - 2 * log(nt_rng_uniform(&rng));
                us -= a == 2 && b == 5 && k < low ? near_us : 0;
                known_must(nt_latencies_note(&l, a, b, us, 0, &err), &err);
            }
    known_must(nt_latencies_matrix(&l, &x, &e, &err), &err);
    known_must(nt_infer_latency(x, with_errors ? e : NULL, 1, &m, &err), &err);
    uint32_t at[2] = {0, 0};
    size_t there[2] = {0, 0};
    for (size_t k = 0; k < m->links; k++)
        for (size_t h = 0; h < 2; h++)
            if (m->link[k].a == (h == 0 ? 2u : 5u) && m->link[k].b >= hosts)
                at[h] = m->link[k].b;
    for (size_t k = 0; k < m->links; k++)
        for (size_t h = 0; h < 2; h++)
            there[h] += m->link[k].a < hosts && m->link[k].b == at[h];
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= hosts && at[0] == at[1] && there[0] == 2 &&
            (m->link[k].a == at[0] || m->link[k].b == at[0]))
            support = m->link[k].probability;
    nt_model_destroy(m);
    nt_matrix_destroy(x);
    nt_matrix_destroy(e);
    nt_latencies_fini(&l);
    return support;
}

static double mean_support(uint32_t hosts, double near_us, size_t low, bool with_errors)
{
    double sum = 0;
    size_t networks = draws(50, 100);
    for (uint64_t seed = 1; seed <= networks; seed++)
        sum += support_of(hosts, near_us, seed, low, with_errors) / (double)networks;
    return sum;
}

TEST(one_low_reading_of_three_is_hardly_a_group)
{
    double one = mean_support(MORE, 10, 1, true), without = mean_support(MORE, 10, 1, false);
    print_message("one of three low: %.2f, without errors %.2f\n", one, without);
    assert_below(one, 0.2);
    assert_above(without, one + 0.2);
}

TEST(three_low_readings_are_a_group)
{
    double all = mean_support(MORE, 10, 3, true), without = mean_support(MORE, 10, 3, false);
    print_message("three of three low: %.2f, without errors %.2f\n", all, without);
    assert_above(all, 0.6);
    assert_above(all, without - 0.1); /* an error that is large by chance costs some */
}

/* All trees of few hosts are tried, which is another way to the same. */
TEST(of_few_hosts_one_low_reading_is_none)
{
    double one = mean_support(FEW, 20, 1, true), all = mean_support(FEW, 20, 3, true);
    print_message("of few hosts: one of three low %.2f, three %.2f\n", one, all);
    assert_below(one, 0.2);
    assert_above(all, 0.9);
}

RUN_TESTS
