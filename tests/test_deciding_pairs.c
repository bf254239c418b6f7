/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs are measured again, and in which rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "deciding_pairs.h"
#include "rng.h"

enum { HOSTS_MAX = 64, ROUNDS_MAX = 64 };

/* Leaves of group[k] hosts each below a top that has the other hosts, all in the order of numbers;
 * the group k has the support. */
static struct nt_model *leaves(size_t hosts, const size_t *group, const double *support,
                               size_t groups)
{
    struct nt_model *m;
    uint32_t h = 0, top = (uint32_t)(hosts + groups);
    size_t links = 0;
    assert_int_equal(nt_model_create(hosts, groups + 1, hosts + groups, &m, NULL), 0);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t leaf = (uint32_t)hosts + g;
        for (size_t k = 0; k < group[g]; k++) {
            m->link[links].a = h++;
            m->link[links++].b = leaf;
        }
        m->link[links].a = leaf;
        m->link[links].b = top;
        m->link[links++].probability = support[g];
        m->tier[g] = 1;
    }
    m->tier[groups] = groups > 0 ? 2 : 1;
    while (h < hosts) {
        m->link[links].a = h++;
        m->link[links++].b = top;
    }
    return m;
}

/* 1.4 us with noise of 2 %. */
static struct nt_matrix *readings(size_t hosts, uint64_t seed)
{
    struct nt_matrix *m;
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    assert_int_equal(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &m, NULL), 0);
    for (size_t j = 1; j < hosts; j++)
        for (size_t i = 0; i < j; i++)
            nt_matrix_set(m, i, j, (float)(1.4 * (1 + 0.02 * nt_rng_normal(&rng))));
    return m;
}

static size_t times(const struct nt_deciding_pairs *d, uint32_t a, uint32_t b)
{
    size_t n = 0;
    for (size_t k = 0; k < d->start[d->rounds]; k++)
        n += d->pair[k][0] == a && d->pair[k][1] == b;
    return n;
}

static void check_rounds(const struct nt_deciding_pairs *d, const struct nt_model *m,
                         const bool *absent, size_t most)
{
    assert_true(d->rounds <= most);
    assert_true(d->deciding <= d->start[d->rounds]);
    for (size_t r = 0; r < d->rounds; r++) {
        bool busy[HOSTS_MAX] = {0};
        assert_true(d->start[r] < d->start[r + 1]);
        for (size_t k = d->start[r]; k < d->start[r + 1]; k++) {
            uint32_t a = d->pair[k][0], b = d->pair[k][1];
            assert_true(a < b && b < m->hosts);
            assert_false(busy[a] || busy[b] || m->missing[a] || m->missing[b]);
            assert_false(absent != NULL && (absent[a] || absent[b]));
            assert_int_equal(times(d, a, b), 1);
            busy[a] = busy[b] = true;
        }
    }
}

static void of_few_hosts_every_pair_decides(void **state)
{
    (void)state;
    for (size_t hosts = 2; hosts <= NT_DECIDING_PAIRS_FEW; hosts++)
        for (size_t most = 1; most <= ROUNDS_MAX; most *= 8) {
            struct nt_model *m = leaves(hosts, NULL, NULL, 0);
            struct nt_matrix *us = readings(hosts, hosts);
            struct nt_deciding_pairs d;
            assert_int_equal(nt_deciding_pairs_find(m, us, NULL, most, 1, &d, NULL), 0);
            check_rounds(&d, m, NULL, most);
            size_t all = hosts % 2 == 0 ? hosts - 1 : hosts, rounds = all < most ? all : most;
            assert_int_equal(d.rounds, rounds);
            assert_int_equal(d.deciding, rounds * (hosts / 2));
            nt_deciding_pairs_fini(&d);
            nt_model_destroy(m);
            nt_matrix_destroy(us);
        }
}

/* Groups of 2, 4 and 12 of 48 hosts; of those that are sure no more than chance has. */
static void groups_of_little_support_decide(void **state)
{
    (void)state;
    static const size_t group[] = {2, 4, 12, 4};
    static const double support[] = {0.6, 0.9, 0.7, 0.999};
    struct nt_model *m = leaves(48, group, support, 4);
    struct nt_matrix *us = readings(48, 1);
    struct nt_deciding_pairs d;
    bool absent[HOSTS_MAX] = {[3] = true};
    size_t inside = 0, met[HOSTS_MAX] = {0};
    m->missing[4] = true;
    assert_int_equal(nt_deciding_pairs_find(m, us, NULL, ROUNDS_MAX, 1, &d, NULL), 0);
    check_rounds(&d, m, NULL, ROUNDS_MAX);
    assert_int_equal(times(&d, 0, 1), 1);
    nt_deciding_pairs_fini(&d);
    m->missing[4] = false;
    assert_int_equal(nt_deciding_pairs_find(m, us, absent, ROUNDS_MAX, 1, &d, NULL), 0);
    check_rounds(&d, m, absent, ROUNDS_MAX);
    assert_int_equal(times(&d, 0, 1) + times(&d, 2, 4) + times(&d, 2, 5) + times(&d, 4, 5), 4);
    for (uint32_t b = 6; b < 18; b++)
        for (uint32_t a = 6; a < b; a++) {
            met[a] += times(&d, a, b);
            met[b] += times(&d, a, b);
        }
    for (uint32_t a = 6; a < 18; a++)
        assert_in_range(met[a], 6, 8);
    for (uint32_t b = 19; b < 22; b++)
        for (uint32_t a = 18; a < b; a++)
            inside += times(&d, a, b);
    assert_true(inside < 3);
    assert_true(d.start[d.rounds] >= d.deciding * 3 / 2); /* controls */
    nt_deciding_pairs_fini(&d);
    nt_model_destroy(m);
    nt_matrix_destroy(us);
}

/* Whichever of two switches is the top: the pair decides, not the others. */
static void the_smaller_group_of_two_decides(void **state)
{
    (void)state;
    static const double support[] = {0.9};
    for (size_t size = 2; size <= 28; size += 26)
        for (uint32_t tier = 1; tier <= 3; tier++) {
            struct nt_model *m = leaves(30, &size, support, 1);
            struct nt_matrix *us = readings(30, 1);
            struct nt_deciding_pairs d;
            uint32_t first = size == 2 ? 0 : 28;
            m->tier[0] = tier;
            assert_int_equal(nt_deciding_pairs_find(m, us, NULL, ROUNDS_MAX, 1, &d, NULL), 0);
            check_rounds(&d, m, NULL, ROUNDS_MAX);
            assert_int_equal(times(&d, first, first + 1), 1);
            assert_in_range(d.deciding, 1, 12);
            nt_deciding_pairs_fini(&d);
            nt_model_destroy(m);
            nt_matrix_destroy(us);
        }
}

/* Two and three hosts whose pairs read 3.5 sd low, in what is taken for a star. */
static void hidden_pairs_and_triples_decide(void **state)
{
    (void)state;
    static const uint32_t low[][2] = {{7, 30}, {11, 12}, {11, 25}, {12, 25}};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct nt_model *m = leaves(40, NULL, NULL, 0);
        struct nt_matrix *us = readings(40, seed);
        struct nt_deciding_pairs d;
        for (size_t k = 0; k < 4; k++)
            nt_matrix_set(us, low[k][0], low[k][1], 1.4F * (1 - 3.5F * 0.02F));
        us->at[40 * 5 + 6] = NAN; /* a pair that failed decides nothing */
        assert_int_equal(nt_deciding_pairs_find(m, us, NULL, ROUNDS_MAX, 1, &d, NULL), 0);
        check_rounds(&d, m, NULL, ROUNDS_MAX);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(times(&d, low[k][0], low[k][1]), 1);
        assert_in_range(d.deciding, 4, 24); /* of 780 */
        nt_deciding_pairs_fini(&d);
        nt_model_destroy(m);
        nt_matrix_destroy(us);
    }
}

static void pairs_that_do_not_fit_decide(void **state)
{
    (void)state;
    struct nt_model *m = leaves(40, NULL, NULL, 0);
    struct nt_matrix *us = readings(40, 3);
    struct nt_deciding_pairs d;
    free(m->pair_off);
    m->pair_off = calloc(1, sizeof *m->pair_off);
    m->pairs_off = 1;
    m->pair_off[0][0] = 20;
    m->pair_off[0][1] = 33;
    nt_matrix_set(us, 20, 33, 3);
    assert_int_equal(nt_deciding_pairs_find(m, us, NULL, ROUNDS_MAX, 1, &d, NULL), 0);
    assert_int_equal(times(&d, 20, 33), 1);
    nt_deciding_pairs_fini(&d);
    nt_model_destroy(m);
    nt_matrix_destroy(us);
}

static void without_switches_nothing_decides(void **state)
{
    (void)state;
    for (size_t hosts = 0; hosts <= 40; hosts += 20) {
        struct nt_model *m;
        struct nt_matrix *us = readings(hosts, 1);
        struct nt_deciding_pairs d;
        assert_int_equal(nt_model_create(hosts, 0, hosts, &m, NULL), 0);
        for (uint32_t h = 0; h < hosts; h++) {
            m->link[h].a = h;
            m->link[h].b = (h + 1) % (uint32_t)hosts;
        }
        assert_int_equal(nt_deciding_pairs_find(m, us, NULL, ROUNDS_MAX, 1, &d, NULL), 0);
        assert_int_equal(d.rounds, 0);
        assert_int_equal(d.deciding, 0);
        nt_deciding_pairs_fini(&d);
        nt_model_destroy(m);
        nt_matrix_destroy(us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_few_hosts_every_pair_decides),
        cmocka_unit_test(groups_of_little_support_decide),
        cmocka_unit_test(the_smaller_group_of_two_decides),
        cmocka_unit_test(hidden_pairs_and_triples_decide),
        cmocka_unit_test(pairs_that_do_not_fit_decide),
        cmocka_unit_test(without_switches_nothing_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
