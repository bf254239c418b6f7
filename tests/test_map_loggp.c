/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "known_loggp.h"
#include "loggp.h"
#include "loggp_time.h"
#include "map.h"
#include "map_record.h"
#include "reversed_record.h"

enum { HOSTS = 4 };

/* Two leaves of two hosts. */
static struct nt_map *two_leaves(void)
{
    static const uint32_t ends[5][2] = {{0, 4}, {1, 4}, {2, 5}, {3, 5}, {4, 5}};
    static const char *const names[HOSTS] = {"n1", "n2", "n3", "n4"};
    struct nt_model *m;
    struct nt_map *map;
    struct nt_err err = {0};
    assert_int_equal(nt_model_create(HOSTS, 2, 5, &m, &err), 0);
    for (size_t k = 0; k < 5; k++) {
        m->link[k].a = ends[k][0];
        m->link[k].b = ends[k][1];
    }
    assert_int_equal(nt_map_create(m, names, &map, &err), 0);
    return map;
}

static void add(struct nt_samples *s, uint32_t a, uint32_t b, const char *rail, struct nt_prtt m)
{
    struct nt_err err = {0};
    struct nt_sample x = {.kind = NT_SAMPLE_PRTT,
                          .a = a,
                          .b = b,
                          .count = m.count,
                          .bytes = m.bytes,
                          .value_us = m.time_us,
                          .prtt = {m.se_us, m.delay_us, m.hold_us}};
    assert_int_equal(nt_samples_begin_round(s, &err), 0);
    assert_int_equal(nt_samples_add(s, x, rail, &err), 0);
}

static void measure(struct nt_samples *s, uint32_t a, uint32_t b, const char *rail, double slower,
                    bool check)
{
    struct known_loggp k = known_tcp(0, 0, 1);
    for (size_t r = 0; r < k.regimes; r++)
        k.regime[r].L *= slower;
    struct nt_err err = {0};
    assert_int_equal(nt_samples_begin_phase(s, check ? NT_LOGGP_CHECK_PHASE : NT_LOGGP_PHASE, &err),
                     0);
    for (double bytes = check ? 9 : 1; bytes <= 4194304; bytes = floor(bytes * 1.7 + 1)) {
        add(s, a, b, rail, known_message(&k, bytes, 1, 0, 0));
        if (!check)
            add(s, a, b, rail, known_message(&k, bytes, 16, 0, 0));
    }
    assert_int_equal(nt_samples_end_phase(s, 1, &err), 0);
}

static void classes_and_rails_become_entries(void **state)
{
    (void)state;
    struct nt_map *map = two_leaves();
    struct nt_samples *s = reversed_record(HOSTS);
    struct nt_err err = {0};
    /* record numbers: 0 is n4, 1 is n3, 2 is n2, 3 is n1 */
    measure(s, 0, 3, "fab1", 2, false);
    measure(s, 0, 1, "fab1", 1.5, false);
    measure(s, 0, 1, "fab0", 1, false);
    measure(s, 2, 3, NULL, 1, false);
    measure(s, 0, 1, "fab0", 1, true);
    assert_int_equal(nt_map_loggp(s, map, &err), 0);
    static const char *const expected[] = {"same switch fab0", "same switch fab1",
                                           "same switch all", "through 2 switches fab1"};
    size_t at = 0;
    for (size_t k = 0; k < map->loggps; k++) {
        const struct nt_loggp *g = &map->loggp[k];
        char name[160];
        snprintf(name, sizeof name, "%s %s", g->class_name, g->rail);
        if (strcmp(name, expected[at]) != 0)
            at++;
        assert_true(at < 4);
        assert_string_equal(name, expected[at]);
        assert_true(isnan(g->check_percent) == (at != 0));
        assert_true(!isnan(g->g_us));
        double slower = at == 1 ? 1.5 : at == 3 ? 2 : 1;
        struct known_loggp truth = known_tcp(0, 0, 1);
        double bytes = floor(sqrt(g->min_bytes * g->max_bytes));
        const struct known_regime *r = known_regime(&truth, bytes);
        double time = r->o_send + slower * r->L + r->o_recv + (bytes - 1) * r->G;
        assert_close(nt_loggp_time_us(g, 1, bytes) / time, 1, 0.01);
    }
    assert_int_equal(at, 3);
    nt_samples_destroy(s);
    nt_map_destroy(map);
}

static void a_record_without_any_changes_nothing(void **state)
{
    (void)state;
    struct nt_map *map = two_leaves();
    struct nt_samples *s = reversed_record(HOSTS);
    struct nt_err err = {0};
    assert_int_equal(nt_map_loggp(s, map, &err), 0);
    assert_int_equal(map->loggps, 0);
    /* trains alone: no entry, and no error either */
    struct known_loggp k = known_tcp(0, 0, 1);
    assert_int_equal(nt_samples_begin_phase(s, NT_LOGGP_PHASE, &err), 0);
    add(s, 0, 1, NULL, known_message(&k, 8, 16, 0, 0));
    assert_int_equal(nt_map_loggp(s, map, &err), 0);
    assert_int_equal(map->loggps, 0);
    nt_samples_destroy(s);
    nt_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_and_rails_become_entries),
        cmocka_unit_test(a_record_without_any_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
