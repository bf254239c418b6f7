/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidths compared with an older map's: whole sweeps of flows with noise, of known networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "asserts.h"
#include "compare.h"
#include "known_rates.h"

static const struct rates_tree healthy[] = {
    {1, {8}, {0}, false, 100, 0, 0, false, 0},
    {2, {3, 4}, {2}, false, 100, 0, 0, false, 0},
    {2, {4, 4}, {2}, false, 12500, 0, 0, false, 0.5},
    {3, {2, 3, 4}, {2, 1.5}, false, 100, 0, 0, false, 0},
};

enum { TREES = sizeof healthy / sizeof *healthy };

static struct nt_comparison *held(const struct nt_model *is, const struct nt_model *was,
                                  double tolerance)
{
    struct nt_comparison *c;
    struct nt_err err = {0};
    if (nt_compare(is, was, tolerance, &c, &err) != 0)
        fail_msg("%s", err.text);
    return c;
}

/* Even where a tolerance of 2 % asks for more than the noise gives. */
static void two_sweeps_of_one_network_are_the_same(void **state)
{
    (void)state;
    enum { PAIRS = 200 };
    size_t differ[2] = {0, 0};
    for (uint64_t k = 0; k < PAIRS; k++) {
        double sd = 0.005 + 0.045 * (double)k / PAIRS;
        struct nt_network *net = rates_network(&healthy[k % TREES], k);
        struct rates_run one = rates_sweep(net, NULL, sd, 1000 + 2 * k);
        struct rates_run two = rates_sweep(net, NULL, sd, 1001 + 2 * k);
        for (int t = 0; t < 2; t++) {
            struct nt_comparison *c = held(two.found, one.found, t == 0 ? 0.25 : 0.02);
            differ[t] += c->differences > 0;
            nt_comparison_destroy(c);
        }
        rates_run_fini(&one);
        rates_run_fini(&two);
        nt_network_destroy(net);
    }
    assert_int_equal(differ[0], 0);
    assert_in_range(differ[1], 0, 2); /* 0.1 % a pair is the claim */
}

/* Every link of each tree in its turn, each way; where flows could reach its limit. */
static void a_link_at_half_its_rate_is_found_and_nothing_else(void **state)
{
    (void)state;
    size_t tried = 0, found = 0, other = 0;
    for (size_t k = 0; k < TREES; k++) {
        struct nt_network *net = rates_network(&healthy[k], k);
        struct rates_run was = rates_sweep(net, NULL, 0.02, 5);
        for (size_t arc = 0; arc < 2 * was.truth->links; arc += 5) {
            net->arc[arc].rate_MBps /= 2;
            struct rates_run is = rates_sweep(net, NULL, 0.02, 100 + arc);
            struct nt_comparison *c = held(is.found, was.found, 0.25);
            tried++;
            for (size_t d = 0; d < c->differences; d++) {
                const struct nt_difference *x = &c->difference[d];
                bool narrow = x->kind == NT_DIFFERENCE_LINK_NARROW;
                bool it = narrow && rates_way(&is.truth->link[x->found], x->back) <
                                        rates_way(&was.truth->link[x->found], x->back);
                found += it && x->confidence > 0.9999 && fabs(x->is / x->was - 0.5) < 0.05;
                other += !it;
            }
            nt_comparison_destroy(c);
            rates_run_fini(&is);
            net->arc[arc].rate_MBps *= 2;
        }
        rates_run_fini(&was);
        nt_network_destroy(net);
    }
    assert_in_range(tried, 30, 1000);
    assert_int_equal(other, 0);
    assert_int_equal(found, tried);
}

/* Two links, by hand: the margin is what both figures' errors leave, and the confidence says it,
 * times the link's own probability. */
static void the_margin_is_tested(void **state)
{
    static const struct {
        double is, se, was, was_se;
        bool narrow;
        double confidence;
    } table[] = {
        {60, 1, 100, 1, true, 0.75},     /* as sure as the link itself */
        {60, 15, 100, 1, false, 0},      /* 2.7 sd: noise does that somewhere */
        {60, 1, 100, 15, false, 0},      /* yesterday's figure was no better */
        {60, 7, 100, 7, true, 0.749980}, /* 4.04 sd */
        {80, 0.1, 100, 0.1, false, 0},   /* certain, and within the tolerance */
        {60, NAN, 100, NAN, true, 0.75}, /* no error known: the link's own probability */
    };
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        for (int back = 0; back < 2; back++) {
            struct nt_model *m[2];
            for (int s = 0; s < 2; s++) {
                assert_int_equal(nt_model_create(3, 1, 3, &m[s], NULL), 0);
                for (uint32_t h = 0; h < 3; h++) {
                    struct nt_link *l = &m[s]->link[h];
                    l->a = h;
                    l->b = 3;
                    l->latency_us = 1;
                    l->probability = 0.75;
                    l->bandwidth_MBps = l->bandwidth_back_MBps = 100;
                    l->bandwidth_se_MBps = l->bandwidth_back_se_MBps = 1;
                }
                struct nt_link *l = &m[s]->link[1];
                *(back ? &l->bandwidth_back_MBps : &l->bandwidth_MBps) =
                    s == 0 ? table[k].is : table[k].was;
                *(back ? &l->bandwidth_back_se_MBps : &l->bandwidth_se_MBps) =
                    s == 0 ? table[k].se : table[k].was_se;
            }
            struct nt_comparison *c = held(m[0], m[1], 0.25);
            assert_int_equal(c->differences, table[k].narrow);
            if (table[k].narrow) {
                assert_int_equal(c->difference[0].found, 1);
                assert_int_equal(c->difference[0].back, back);
                assert_close(c->difference[0].confidence, table[k].confidence, 1e-6);
            }
            nt_comparison_destroy(c);
            nt_model_destroy(m[0]);
            nt_model_destroy(m[1]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_margin_is_tested),
        cmocka_unit_test(two_sweeps_of_one_network_are_the_same),
        cmocka_unit_test(a_link_at_half_its_rate_is_found_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
