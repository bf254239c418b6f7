/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "map_record.h"
#include "reversed_record.h"

#define SMALL "packages=1 numa=1 cores=2 threads=2 allowed=2"
#define LARGE "packages=2 numa=2 cores=8 threads=16 allowed=16 cpu=B"

enum { HOSTS = 5 };

/* Of a record that has the hosts the other way round. */
static void set(struct nt_samples *s, int host, const char *text, double cache_us)
{
    uint32_t model;
    size_t at = (size_t)(HOSTS - host);
    struct nt_err err = {0};
    assert_int_equal(nt_samples_add_model(s, text, &model, &err), 0);
    assert_int_equal(nt_samples_set_model(s, at, model, &err), 0);
    if (cache_us > 0)
        assert_int_equal(nt_samples_set_cores(s, at, NT_BETWEEN_CACHE, cache_us, &err), 0);
}

/* n5 is missing. */
static struct nt_map *hosts_only(void)
{
    static const char *const names[HOSTS] = {"n1", "n2", "n3", "n4", "n5"};
    struct nt_model *m;
    struct nt_map *map;
    struct nt_err err = {0};
    assert_int_equal(nt_model_create(HOSTS, 0, 0, &m, &err), 0);
    m->missing[4] = true;
    assert_int_equal(nt_map_create(m, names, &map, &err), 0);
    return map;
}

static void equal_hosts_share_a_model(void **state)
{
    struct nt_samples *s = reversed_record(HOSTS);
    struct nt_map *map = hosts_only();
    struct nt_err err = {0};
    (void)state;
    set(s, 5, LARGE, 9); /* missing: of no account */
    set(s, 4, SMALL, 0.5);
    set(s, 3, LARGE, 0);
    set(s, 2, SMALL, 0.25);
    set(s, 1, SMALL, 0.125);
    assert_int_equal(nt_map_machines(s, map, &err), 0);
    assert_int_equal(map->machines, 2);
    assert_int_equal(map->machine[0].cores, 2); /* n1 comes first */
    assert_string_equal(map->machine[1].cpu, "B");
    static const uint32_t of[HOSTS] = {0, 0, 1, 0, NT_MAP_NO_MACHINE};
    assert_memory_equal(map->machine_of, of, sizeof of);
    const struct nt_core_latency *l = &map->machine[0].between[NT_BETWEEN_CACHE];
    assert_int_equal(l->hosts, 3);
    assert_true(l->latency_us == 0.25 && l->low_us == 0.125 && l->high_us == 0.5);
    assert_int_equal(map->machine[0].between[NT_BETWEEN_CORE].hosts, 0);
    assert_int_equal(map->machine[1].between[NT_BETWEEN_CACHE].hosts, 0);
    nt_samples_destroy(s);
    nt_map_destroy(map);
}

static void hosts_that_said_nothing_have_none(void **state)
{
    struct nt_samples *s = reversed_record(HOSTS);
    struct nt_map *map = hosts_only();
    struct nt_err err = {0};
    (void)state;
    assert_int_equal(nt_map_machines(s, map, &err), 0);
    assert_int_equal(map->machines, 0);
    assert_null(map->machine_of);
    set(s, 2, LARGE, 0);
    assert_int_equal(nt_map_machines(s, map, &err), 0);
    assert_int_equal(map->machines, 1);
    for (size_t k = 0; k < HOSTS; k++)
        assert_int_equal(map->machine_of[k], k == 1 ? 0 : NT_MAP_NO_MACHINE);
    nt_samples_destroy(s);
    nt_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_hosts_share_a_model),
        cmocka_unit_test(hosts_that_said_nothing_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
