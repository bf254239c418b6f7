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
#include "link_figures.h"
#include "map_json.h"
#include "rng.h"
#include "solve.h"

enum { LEAVES = 3, PER_LEAF = 5, HOSTS = LEAVES * PER_LEAF };

/* A sweep over a tree of two tiers with 1 % of noise; order[k] is the host that came k-th, NULL: as
 * they are numbered. */
static struct nt_samples *sweep(const uint32_t *order, int lost)
{
    struct nt_samples *s;
    struct nt_rng rng;
    struct nt_err err = {0};
    double noise[HOSTS][HOSTS];
    uint32_t numbered[HOSTS];
    for (uint32_t k = 0; k < HOSTS; k++)
        numbered[k] = k;
    order = order != NULL ? order : numbered;
    nt_rng_init(&rng, 9);
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++)
            noise[i][j] = 1 + 0.01 * nt_rng_normal(&rng);
    assert_int_equal(nt_samples_create(&s, &err), 0);
    assert_int_equal(nt_samples_set_word(&s->pattern, "neighbour", &err), 0);
    for (size_t k = 0; k < HOSTS; k++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", order[k] + 1);
        assert_int_equal(nt_samples_add_host(s, name, &err), 0);
        if ((int)order[k] == lost)
            assert_int_equal(nt_samples_set_missing(s, k, "no answer", &err), 0);
    }
    assert_int_equal(nt_samples_begin_phase(s, "latency", &err), 0);
    assert_int_equal(nt_samples_begin_round(s, &err), 0);
    for (uint32_t i = 0; i < HOSTS; i++)
        for (uint32_t j = 0; j < HOSTS; j++) {
            uint32_t a = order[i], b = order[j];
            if (i == j || (int)a == lost || (int)b == lost)
                continue;
            double us = (a / PER_LEAF == b / PER_LEAF ? 2 : 4) * noise[a][b];
            struct nt_sample x = {.kind = NT_SAMPLE_LATENCY,
                                  .a = i,
                                  .b = j,
                                  .bytes = 8,
                                  .count = 30,
                                  .value_us = us,
                                  .latency.median_us = us};
            assert_int_equal(nt_samples_add(s, x, NULL, &err), 0);
        }
    assert_int_equal(nt_samples_end_phase(s, 0.5, &err), 0);
    assert_int_equal(nt_samples_warn(s, &err, "said by the probe"), 0);
    nt_samples_finish(s, NT_STATUS_OK, 0.75);
    return s;
}

static char *solve_to_text(const struct nt_samples *s)
{
    struct nt_map *map;
    struct nt_err err = {0};
    char *text;
    if (nt_solve_samples(s, &map, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(nt_map_write(map, false, &text, NULL, &err), 0);
    nt_map_destroy(map);
    return text;
}

static struct nt_samples *read_back(const struct nt_samples *s)
{
    struct nt_samples_reader *r;
    struct nt_samples *again;
    struct nt_err err = {0};
    char *text;
    size_t bytes;
    assert_int_equal(nt_samples_write(s, &text, &bytes, &err), 0);
    assert_int_equal(nt_samples_reader_create("f", &r, &err), 0);
    assert_int_equal(nt_samples_reader_feed(r, text, bytes, &err), 0);
    assert_int_equal(nt_samples_reader_finish(r, &again, &err), 0);
    nt_samples_reader_destroy(r);
    free(text);
    return again;
}

static void the_same_samples_give_the_same_bytes(void **state)
{
    (void)state;
    uint32_t order[HOSTS];
    struct nt_rng rng;
    for (uint32_t k = 0; k < HOSTS; k++)
        order[k] = k;
    struct nt_samples *s = sweep(order, -1), *again = read_back(s);
    char *text = solve_to_text(s), *twice = solve_to_text(s), *from_text = solve_to_text(again);
    assert_string_equal(text, twice);
    assert_string_equal(text, from_text);
    assert_non_null(strstr(text, "\"family\": \"tree\""));
    assert_non_null(strstr(text, "\"pairs_measured\": 105, \"pairs_total\": 105, \"rounds\": 1"));
    assert_non_null(strstr(text, "said by the probe"));
    nt_rng_init(&rng, 4);
    for (int turn = 0; turn < 5; turn++) { /* nor does it matter in which order hosts came */
        nt_rng_shuffle(&rng, order, HOSTS);
        struct nt_samples *shuffled = sweep(order, -1);
        char *shuffled_text = solve_to_text(shuffled);
        assert_string_equal(text, shuffled_text);
        free(shuffled_text);
        nt_samples_destroy(shuffled);
    }
    free(text);
    free(twice);
    free(from_text);
    nt_samples_destroy(s);
    nt_samples_destroy(again);
}

static void a_missing_host_makes_it_partial(void **state)
{
    (void)state;
    uint32_t order[HOSTS];
    for (uint32_t k = 0; k < HOSTS; k++)
        order[k] = HOSTS - 1 - k;
    struct nt_samples *s = sweep(order, 6);
    struct nt_findings findings = {0};
    struct nt_map *map;
    struct nt_err err = {0};
    assert_int_equal(nt_solve_samples(s, &map, &err), 0);
    assert_int_equal(map->status, NT_STATUS_PARTIAL);
    assert_string_equal(map->host_name[6], "n7");
    for (size_t k = 0; k < HOSTS; k++)
        assert_int_equal(map->model->missing[k], k == 6);
    assert_string_equal(map->warning[0], "host n7 is missing: no answer");
    assert_int_equal(map->sweep.pairs_measured, 91);
    assert_int_equal(map->placement->hosts, HOSTS);
    assert_int_equal(map->placement->order[HOSTS - 1], 6);
    assert_int_equal(nt_map_check(map, &findings, &err), 0);
    if (findings.count > 0)
        fail_msg("%s", findings.line[0]);
    nt_findings_fini(&findings);
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

/* All others were lost: the last host has answered to the end, and is not missing. */
static void the_last_host_is_there(void **state)
{
    (void)state;
    struct nt_samples *s = sweep(NULL, -1);
    struct nt_map *map;
    struct nt_err err = {0};
    for (size_t k = 1; k < HOSTS; k++)
        assert_int_equal(nt_samples_set_missing(s, k, "stopped answering", &err), 0);
    if (nt_solve_samples(s, &map, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(map->status, NT_STATUS_PARTIAL);
    for (size_t k = 0; k < HOSTS; k++)
        assert_int_equal(map->model->missing[k], k > 0);
    assert_int_equal(map->model->family, NT_FAMILY_UNDETERMINED);
    assert_string_equal(map->warning[0], "0 of 105 pairs measured: too few to tell the network");
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

/* Of a job in which hardly a host answered: no matrix of them, and no list without an end. */
static void most_hosts_may_be_missing(void **state)
{
    (void)state;
    enum { MANY = 40000, HERE = 3 };
    struct nt_samples *s;
    struct nt_map *map;
    struct nt_err err = {0};
    char name[16];
    assert_int_equal(nt_samples_create(&s, &err), 0);
    for (size_t k = 0; k < MANY; k++) {
        snprintf(name, sizeof name, "n%05zu", k);
        assert_int_equal(nt_samples_add_host(s, name, &err), 0);
        if (k >= HERE)
            assert_int_equal(nt_samples_set_missing(s, k, "no answer", &err), 0);
    }
    assert_int_equal(nt_samples_begin_phase(s, "latency", &err), 0);
    assert_int_equal(nt_samples_begin_round(s, &err), 0);
    for (uint32_t k = 0; k < HERE; k++) {
        struct nt_sample x = {.a = k,
                              .b = (k + 1) % HERE,
                              .bytes = 8,
                              .count = 3,
                              .value_us = 1,
                              .latency.median_us = 1};
        assert_int_equal(nt_samples_add(s, x, NULL, &err), 0);
    }
    assert_int_equal(nt_samples_end_phase(s, 1, &err), 0);
    nt_samples_finish(s, NT_STATUS_PARTIAL, 1);
    if (nt_solve_samples(s, &map, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(map->status, NT_STATUS_PARTIAL);
    assert_int_equal(map->sweep.pairs_measured, HERE);
    assert_int_equal(map->model->links, 0);
    assert_true(!map->model->missing[HERE - 1] && map->model->missing[HERE]);
    assert_int_equal(map->warnings, 1002);
    assert_string_equal(map->warning[0], "3 of 799980000 pairs measured: too few to tell the "
                                         "network");
    assert_string_equal(map->warning[1001], "38997 hosts more are missing");
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

static void a_pattern_that_does_not_fit_costs_a_warning(void **state)
{
    (void)state;
    struct nt_samples *s = sweep(NULL, -1);
    struct nt_map *map;
    struct nt_err err = {0};
    assert_int_equal(nt_samples_set_word(&s->pattern, "stencil:4x4", &err), 0);
    assert_int_equal(nt_solve_samples(s, &map, &err), 0);
    assert_string_equal(map->placement->pattern, "neighbour");
    assert_int_equal(map->warnings, 2);
    assert_non_null(strstr(map->warning[0], "pattern stencil:4x4: "));
    assert_int_equal(map->status, NT_STATUS_OK);
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

/* Ranks that stand far from each other in the scheduler's order talk: r with r + PER_LEAF. */
static void a_matrix_comes_from_the_record(void **state)
{
    (void)state;
    struct nt_samples *s = sweep(NULL, -1);
    struct nt_map *map;
    struct nt_err err = {0};
    assert_int_equal(nt_samples_set_word(&s->pattern, "matrix:/t.csv", &err), 0);
    for (uint32_t r = 0; r < PER_LEAF; r++)
        assert_int_equal(nt_samples_add_traffic(s, r, r + PER_LEAF, 1e6, &err), 0);
    assert_int_equal(nt_solve_samples(s, &map, &err), 0);
    assert_string_equal(map->placement->pattern, "matrix:/t.csv");
    assert_above(map->placement->gain, 1.5);
    for (uint32_t r = 0; r < PER_LEAF; r++)
        assert_int_equal(map->placement->rank_host[r] / PER_LEAF,
                         map->placement->rank_host[r + PER_LEAF] / PER_LEAF);
    nt_map_destroy(map);
    struct nt_samples *again = read_back(s);
    char *text = solve_to_text(s), *from_text = solve_to_text(again);
    assert_string_equal(text, from_text);
    free(text);
    free(from_text);
    nt_samples_destroy(again);
    assert_int_equal(nt_samples_add_traffic(s, 5, HOSTS, 1, &err), 0);
    assert_int_equal(nt_solve_samples(s, &map, &err), 0);
    assert_string_equal(map->placement->pattern, "neighbour");
    assert_string_equal(map->warning[0], "pattern matrix:/t.csv: 16 ranks for 15 tasks; the hint "
                                         "is for neighbour");
    nt_map_destroy(map);
    nt_samples_clear_traffic(s);
    assert_int_equal(nt_solve_samples(s, &map, &err), 0);
    assert_string_equal(map->warning[0], "pattern matrix:/t.csv: the record does not hold it; the "
                                         "hint is for neighbour");
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

static void few_hosts_are_no_special_case(void **state)
{
    (void)state;
    for (size_t hosts = 0; hosts <= 3; hosts++) {
        struct nt_samples *s;
        struct nt_err err = {0};
        assert_int_equal(nt_samples_create(&s, &err), 0);
        for (size_t k = 0; k < hosts; k++)
            assert_int_equal(nt_samples_add_host(s, (const char *const[]){"a", "b", "c"}[k], &err),
                             0);
        nt_samples_finish(s, NT_STATUS_FAILED, 1);
        char *text = solve_to_text(s);
        struct nt_map *map;
        assert_int_equal(nt_map_read("f", text, strlen(text), &map, &err), 0);
        assert_int_equal(map->model->hosts, hosts);
        assert_int_equal(map->status, NT_STATUS_FAILED);
        nt_map_destroy(map);
        free(text);
        nt_samples_destroy(s);
    }
}

/* Each pair is read three times more each way; a disturbed reading takes up to three times as long.
 */
static struct nt_map *solved_with(double disturbed)
{
    struct nt_samples *s = sweep(NULL, -1);
    struct nt_map *map;
    struct nt_rng rng;
    struct nt_err err = {0};
    size_t once = s->samples;
    nt_rng_init(&rng, 3);
    assert_int_equal(nt_samples_begin_phase(s, "latency", &err), 0);
    assert_int_equal(nt_samples_begin_round(s, &err), 0);
    for (size_t k = 0; k < 3 * once; k++) {
        struct nt_sample x = s->sample[k % once];
        x.value_us *= nt_rng_uniform(&rng) < disturbed ? 1.2 + 1.8 * nt_rng_uniform(&rng) : 1;
        assert_int_equal(nt_samples_add(s, x, NULL, &err), 0);
    }
    assert_int_equal(nt_samples_end_phase(s, 0.5, &err), 0);
    assert_int_equal(nt_solve_samples(s, &map, &err), 0);
    nt_samples_destroy(s);
    return map;
}

static bool warns(const struct nt_map *map, const char *part)
{
    for (size_t k = 0; k < map->warnings; k++)
        if (strstr(map->warning[k], part) != NULL)
            return true;
    return false;
}

static void disturbed_readings_cost_confidence(void **state)
{
    (void)state;
    static const double shares[] = {0, 0.1, 0.9};
    double confidence[3];
    for (size_t k = 0; k < 3; k++) {
        struct nt_map *map = solved_with(shares[k]);
        confidence[k] = map->model->confidence;
        print_message("%g disturbed: %g\n", shares[k], confidence[k]);
        assert_int_equal(warns(map, "of the readings were disturbed"), shares[k] > 0.5);
        nt_map_destroy(map);
    }
    assert_above(confidence[1], 0.99 * confidence[0]);
    assert_below(confidence[2], 0.8 * confidence[0]);
}

/* In a round of their own: a flow, and beside it one that failed or went as fast. */
static void add_flows(struct nt_samples *s, double MBps, bool failed)
{
    struct nt_err err = {0};
    struct nt_sample x = {
        .kind = NT_SAMPLE_BANDWIDTH, .b = 1, .bytes = 1e6 * MBps, .value_us = 1e6};
    struct nt_sample beside = x;
    beside.kind = failed ? NT_SAMPLE_FAILED : x.kind;
    beside.a = 2;
    beside.b = 3;
    assert_int_equal(nt_samples_begin_round(s, &err), 0);
    assert_int_equal(nt_samples_add(s, x, NULL, &err), 0);
    assert_int_equal(nt_samples_add(s, beside, failed ? "no answer" : NULL, &err), 0);
}

static void flows_beside_one_that_failed_do_not_count(void **state)
{
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        struct nt_samples *s = sweep(NULL, -1);
        struct nt_map *map;
        struct nt_err err = {0};
        bool seen = false;
        assert_int_equal(nt_samples_begin_phase(s, "host-links", &err), 0);
        add_flows(s, 100, false);
        add_flows(s, 150, failed);
        assert_int_equal(nt_samples_end_phase(s, 0.1, &err), 0);
        assert_int_equal(nt_solve_samples(s, &map, &err), 0);
        for (size_t k = 0; k < map->model->links; k++) {
            const struct nt_link *l = &map->model->link[k];
            if (l->a != 0 && l->b != 0)
                continue;
            double rate = isnan(l->bandwidth_MBps) ? l->bandwidth_back_MBps : l->bandwidth_MBps;
            seen = true;
            assert_below(fabs(rate - (failed ? 100 : 150)), 1);
        }
        assert_true(seen);
        nt_map_destroy(map);
        nt_samples_destroy(s);
    }
}

/* Two leaves of four hosts; the uplink carries 500 one way and 400 the other, host 5 sends 100. */
/* Of short messages bandwidths are lower bounds, of unknown and of long ones they are values. */
static void short_messages_bound_bandwidths(void **state)
{
    static const struct {
        double bytes;
        bool bound;
    } cases[] = {{4096, true}, {65536, false}, {0, false}, {NAN, false}};
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
    struct nt_matrix *latency, *rates;
    struct nt_err err;
    (void)state;
    assert_int_equal(nt_matrix_create(5, NT_MATRIX_LATENCY_US, &latency, &err), 0);
    assert_int_equal(nt_matrix_create(5, NT_MATRIX_BANDWIDTH_MBPS, &rates, &err), 0);
    for (uint32_t a = 0; a < 5; a++)
        for (uint32_t b = 0; b < 5; b++) {
            nt_matrix_set(latency, a, b, 1.0f + 0.001f * (float)((a + b) % 3));
            nt_matrix_set(rates, a, b, 1000);
        }
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct nt_solve_input input = {.latency = latency,
                                       .bandwidth = rates,
                                       .rate_bytes = cases[k].bytes,
                                       .host_name = names,
                                       .pattern = ""};
        struct nt_map *map;
        bool told = false;
        assert_int_equal(nt_solve_measured(&input, &map, &err), 0);
        assert_true(map->model->links > 0);
        for (size_t l = 0; l < map->model->links; l++)
            assert_int_equal(map->model->link[l].at_least, cases[k].bound);
        for (size_t w = 0; w < map->warnings; w++)
            told = told || strstr(map->warning[w], "messages of 4096 bytes");
        assert_int_equal(told, cases[k].bound);
        nt_map_destroy(map);
    }
    nt_matrix_destroy(latency);
    nt_matrix_destroy(rates);
}

static void links_get_the_bandwidth_that_pairs_show(void **state)
{
    (void)state;
    struct nt_model *m;
    struct nt_matrix *b;
    struct nt_err err = {0};
    assert_int_equal(nt_model_create(8, 2, 9, &m, &err), 0);
    assert_int_equal(nt_matrix_create(8, NT_MATRIX_BANDWIDTH_MBPS, &b, &err), 0);
    for (uint32_t k = 0; k < 8; k++) {
        m->link[k].a = k;
        m->link[k].b = k < 4 ? 8 : 9;
    }
    m->link[8].a = 8;
    m->link[8].b = 9;
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++) {
            double up = i == 5 ? 100 : j == 0 ? 5000 : 1000;
            double middle = i / 4 == j / 4 ? 1e9 : i < 4 ? 500 : 400;
            nt_matrix_set(b, i, j, i == j ? NAN : (float)fmin(up, middle));
        }
    assert_int_equal(nt_link_bandwidth(m, b, &err), 1);
    assert_true(m->link[8].bandwidth_MBps == 500 && m->link[8].bandwidth_back_MBps == 400);
    assert_true(m->link[5].bandwidth_MBps == 100 && m->link[5].bandwidth_back_MBps == 1000);
    assert_true(!m->link[8].at_least && !m->link[5].at_least);
    m->link[8].a = 0; /* a loop: no tree */
    m->link[8].b = 9;
    m->link[7].b = 8;
    m->link[7].a = 0;
    assert_int_equal(nt_link_bandwidth(m, b, &err), 0);
    nt_matrix_destroy(b);
    nt_model_destroy(m);
}

/* Two hosts on each of two switches are no line of four; if one of two at a switch is farther by
 * the link between the switches, they may be. */
static void only_lines_are_warned_of(void **state)
{
    (void)state;
    static const float us[2][6] = {{1, 2, 2, 2, 2, 1}, {1, 2, 3, 1, 2, 1}};
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int line = 0; line < 2; line++) {
        struct nt_matrix *latency;
        struct nt_map *map;
        struct nt_err err = {0};
        bool warned = false;
        size_t k = 0;
        assert_int_equal(nt_matrix_create(4, NT_MATRIX_LATENCY_US, &latency, &err), 0);
        for (size_t i = 0; i < 4; i++)
            for (size_t j = i + 1; j < 4; j++) {
                nt_matrix_set(latency, i, j, us[line][k]);
                nt_matrix_set(latency, j, i, us[line][k++]);
            }
        struct nt_solve_input input = {.latency = latency, .host_name = names, .pattern = ""};
        assert_int_equal(nt_solve_measured(&input, &map, &err), 0);
        for (size_t w = 0; w < map->warnings; w++)
            warned = warned || strstr(map->warning[w], "one host each") != NULL;
        assert_int_equal(warned, line);
        nt_map_destroy(map);
        nt_matrix_destroy(latency);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_lines_are_warned_of),
        cmocka_unit_test(the_same_samples_give_the_same_bytes),
        cmocka_unit_test(a_missing_host_makes_it_partial),
        cmocka_unit_test(the_last_host_is_there),
        cmocka_unit_test(most_hosts_may_be_missing),
        cmocka_unit_test(a_pattern_that_does_not_fit_costs_a_warning),
        cmocka_unit_test(a_matrix_comes_from_the_record),
        cmocka_unit_test(few_hosts_are_no_special_case),
        cmocka_unit_test(disturbed_readings_cost_confidence),
        cmocka_unit_test(flows_beside_one_that_failed_do_not_count),
        cmocka_unit_test(short_messages_bound_bandwidths),
        cmocka_unit_test(links_get_the_bandwidth_that_pairs_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
