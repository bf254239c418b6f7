/* SPDX-License-Identifier: Apache-2.0 */
/* A host told from its cable, from simulated sweeps of hosts with two rails. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made_network.h"
#include "map_json.h"
#include "solve.h"
#include "sweep_sim.h"

enum { HOSTS = 16, HOST = 5, SEEDS = 20, BOTH_RAILS = -1, NO_RAIL = -2 };

static const char TWO_RAILS[] = "rails:2:tree:2x8";

/* The host's own link on a rail. */
static void plant(struct nt_network *network, int rail, double latency, double rate)
{
    int number = 0;
    for (struct nt_network *n = network; n != NULL; n = n->next_rail, number++) {
        uint32_t arc = n->out[n->first[HOST]];
        if (rail != number && rail != BOTH_RAILS)
            continue;
        for (uint32_t k = 0; k < 2; k++) {
            n->arc[arc ^ k].latency_us *= latency;
            n->arc[arc ^ k].rate_MBps *= rate;
        }
    }
}

static struct nt_map *sweep(const char *spec, int rail, double latency, double rate, uint64_t seed)
{
    struct nt_measure_noise noise = {.sd = 0.01, .host_spread = 0.01, .seed = seed};
    struct nt_network *network = made_network(spec);
    struct nt_samples *samples;
    struct nt_map *map;
    struct nt_err err;
    char name[HOSTS][8];
    const char *names[HOSTS];
    for (int h = 0; h < HOSTS; h++) {
        snprintf(name[h], sizeof name[h], "n%d", h + 1);
        names[h] = name[h];
    }
    assert_int_equal(nt_measure_settle(&noise, network, &err), 0);
    plant(network, rail, latency, rate);
    assert_int_equal(nt_samples_simulate(network, &noise, names, "test", 0.01, &samples, &err), 0);
    assert_int_equal(nt_solve_samples(samples, &map, &err), 0);
    nt_samples_destroy(samples);
    nt_network_destroy(network);
    return map;
}

struct expected {
    int rail;
    double latency, rate;
    enum nt_fault_kind kind;
    const char *name; /* of the rail in the finding */
    bool by_rate;
};

static bool is_found(const struct nt_map *map, const struct expected *e)
{
    const struct nt_fault *f = map->fault;
    if (map->faults != 1 || strcmp(map->host_name[f->part.a], "n6") != 0)
        return false;
    bool host = f->part.a == f->part.b;
    return f->part.kind == e->kind && host == (e->kind == NT_FAULT_HOST_SLOW) && f->others == 0 &&
           strcmp(f->rail, e->name) == 0 && f->by_rate == e->by_rate &&
           map->model->host_suspect[f->part.a];
}

static void a_fault_on_one_rail_is_its_cable_on_all_the_host(void **state)
{
    static const struct expected cases[] = {
        {0, 2, 1, NT_FAULT_LINK_SLOW, "rail0", false},
        {1, 2, 1, NT_FAULT_LINK_SLOW, "rail1", false},
        {BOTH_RAILS, 2, 1, NT_FAULT_HOST_SLOW, "", false},
        {0, 1, 0.4, NT_FAULT_LINK_NARROW, "rail0", false},
        {1, 1, 0.4, NT_FAULT_LINK_NARROW, "rail1", false},
        {BOTH_RAILS, 1, 0.4, NT_FAULT_HOST_SLOW, "", true},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct expected *e = &cases[k];
        int right = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct nt_map *map = sweep(TWO_RAILS, e->rail, e->latency, e->rate, seed);
            right += is_found(map, e);
            nt_map_destroy(map);
        }
        if (right < SEEDS - 1)
            fail_msg("case %zu: %d of %d", k, right, SEEDS);
    }
}

static void sound_rails_have_no_finding(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct nt_map *map = sweep(TWO_RAILS, NO_RAIL, 1, 1, seed);
        assert_int_equal(map->faults, 0);
        nt_map_destroy(map);
    }
}

static void with_one_rail_the_host_is_an_alternative(void **state)
{
    struct nt_map *map = sweep("tree:2x8", 0, 1, 0.4, 1);
    (void)state;
    assert_int_equal(map->faults, 1);
    assert_int_equal(map->fault[0].part.kind, NT_FAULT_LINK_NARROW);
    assert_int_equal(map->fault[0].others, 1);
    assert_string_equal(map->fault[0].rail, "");
    nt_map_destroy(map);
}

static void the_sentence_names_the_rail(void **state)
{
    struct nt_map *map = sweep(TWO_RAILS, 1, 1, 0.4, 1);
    bool told = false;
    (void)state;
    for (size_t k = 0; k < map->warnings; k++)
        told = told || strstr(map->warning[k], " is narrower than its like on rail rail1: ");
    assert_true(told);
    nt_map_destroy(map);
}

/* What is written is read again, of a slow host too. */
static void the_map_keeps_rail_and_unit(void **state)
{
    (void)state;
    for (int rail = BOTH_RAILS; rail <= 0; rail++) {
        struct nt_map *map = sweep(TWO_RAILS, rail, 1, 0.4, 1), *again;
        struct nt_err err;
        char *text, *second;
        size_t bytes;
        assert_int_equal(nt_map_write(map, false, &text, &bytes, &err), 0);
        assert_non_null(strstr(text, rail == 0 ? "\"rail\": \"rail0\"" : "\"host-slow\""));
        assert_non_null(strstr(text, "\"unit\": \"MB/s\""));
        assert_int_equal(nt_map_read("map", text, bytes, &again, &err), 0);
        assert_int_equal(nt_map_write(again, false, &second, &bytes, &err), 0);
        assert_string_equal(text, second);
        free(text);
        free(second);
        nt_map_destroy(map);
        nt_map_destroy(again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_on_one_rail_is_its_cable_on_all_the_host),
        cmocka_unit_test(sound_rails_have_no_finding),
        cmocka_unit_test(with_one_rail_the_host_is_an_alternative),
        cmocka_unit_test(the_sentence_names_the_rail),
        cmocka_unit_test(the_map_keeps_rail_and_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
