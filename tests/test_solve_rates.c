/* SPDX-License-Identifier: Apache-2.0 */
/* Maps from bandwidths alone: what shows, and what does not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "made_network.h"
#include "map_json.h"
#include "measure.h"
#include "shape.h"
#include "solve.h"

enum { HOSTS_MAX = 32 };

static double pair_rate(const struct nt_network *net, uint32_t a, uint32_t b)
{
    struct nt_walk walk;
    double least = INFINITY;
    uint32_t arc;
    for (nt_walk_begin(net, a, b, &walk); nt_walk_next(&walk, &arc);)
        least = fmin(least, net->arc[arc].rate_MBps);
    return least;
}

/* One network: its uplinks have that share of what a host has; host 0 so much less. */
static struct nt_map *solve(const char *spec, double uplink, double first, bool contended,
                            struct nt_model **truth)
{
    struct nt_network *net = made_network(spec);
    struct nt_measure_noise noise = {.sd = 0.03, .seed = 4};
    struct nt_matrix *rates;
    struct nt_map *map;
    struct nt_err err = {0};
    char name[HOSTS_MAX][24];
    const char *names[HOSTS_MAX];
    for (size_t k = 0; k < net->arcs; k++) {
        bool host = net->arc[k].from < net->hosts || net->arc[k].to < net->hosts;
        bool zero = net->arc[k].from == 0 || net->arc[k].to == 0;
        net->arc[k].rate_MBps = 100 * (zero ? first : host ? 1 : uplink);
    }
    assert_int_equal(nt_matrix_create(net->hosts, NT_MATRIX_BANDWIDTH_MBPS, &rates, &err), 0);
    for (uint32_t a = 0; a < net->hosts; a++) {
        snprintf(name[a], sizeof name[a], "n%u", a);
        names[a] = name[a];
        for (uint32_t b = 0; b < net->hosts; b++)
            if (a != b)
                nt_matrix_set(rates, a, b,
                              (float)(pair_rate(net, a, b) * nt_measure_factor(&noise, a, b, 0)));
    }
    struct nt_solve_input input = {
        .bandwidth = rates, .contended = contended, .host_name = names, .pattern = ""};
    if (nt_solve_measured(&input, &map, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(nt_network_truth(net, truth, &err), 0);
    nt_matrix_destroy(rates);
    nt_network_destroy(net);
    struct nt_findings findings = {0};
    assert_int_equal(nt_map_check(map, &findings, &err), 0);
    if (findings.count > 0)
        fail_msg("%s", findings.line[0]);
    return map;
}

static bool warns(const struct nt_map *map, const char *text)
{
    bool said = false;
    for (size_t k = 0; k < map->warnings; k++)
        said |= strstr(map->warning[k], text) != NULL;
    return said;
}

static void narrow_uplinks_show_groups(void **state)
{
    (void)state;
    for (int contended = 0; contended < 2; contended++) {
        struct nt_model *truth;
        struct nt_map *map = solve("tree:3x4", 0.5, 1, contended, &truth);
        assert_true(nt_shape_equal(map->model, truth));
        assert_above(map->model->confidence, 0.9);
        assert_true(warns(map, "from bandwidths alone"));
        assert_int_equal(warns(map, "all hosts sent"), contended);
        for (size_t k = 0; k < map->model->links; k++) {
            const struct nt_link *l = &map->model->link[k];
            bool host = l->a < map->model->hosts;
            assert_true(isnan(l->latency_us));
            assert_below(fabs(l->bandwidth_MBps - (host ? 100 : 50)), 5);
            assert_int_equal(l->at_least, !host && contended);
        }
        nt_map_destroy(map);
        nt_model_destroy(truth);
    }
}

static void wide_uplinks_show_nothing(void **state)
{
    struct nt_model *truth;
    (void)state;
    struct nt_map *map = solve("tree:3x4", 4, 1, false, &truth);
    assert_int_equal(map->model->links, 0);
    assert_int_equal(map->model->family, NT_FAMILY_UNDETERMINED);
    assert_true(warns(map, "show no groups"));
    nt_map_destroy(map);
    nt_model_destroy(truth);
}

/* A host that gets less from everybody than others get across groups may hang anywhere. */
static void a_narrow_host_makes_groups_unsure(void **state)
{
    struct nt_model *truth;
    (void)state;
    struct nt_map *map = solve("tree:3x4", 0.5, 0.3, false, &truth);
    assert_true(map->model->links == 0 || map->model->confidence <= 0.5);
    assert_true(warns(map, "the host or its link is narrow"));
    nt_map_destroy(map);
    nt_model_destroy(truth);
}

/* Four pairs of five hosts: the one in all of the narrow pairs is named, with what it has and what
 * others have. */
static void a_narrow_host_is_named(void **state)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
    static const struct {
        size_t a, b;
        float MBps;
    } pair[] = {{0, 1, 49400}, {0, 4, 49300}, {1, 3, 86800}, {2, 4, 88400}};
    struct nt_matrix *m;
    struct nt_map *map;
    struct nt_err err = {0};
    size_t named = 0;
    (void)state;
    assert_int_equal(nt_matrix_create(5, NT_MATRIX_BANDWIDTH_MBPS, &m, &err), 0);
    for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
        nt_matrix_set(m, pair[k].a, pair[k].b, pair[k].MBps);
        nt_matrix_set(m, pair[k].b, pair[k].a, pair[k].MBps);
    }
    struct nt_solve_input input = {.bandwidth = m, .host_name = names, .pattern = ""};
    assert_int_equal(nt_solve_measured(&input, &map, &err), 0);
    assert_true(warns(map, "every pair of host n1 has at most 49400 MB/s, those of other hosts "
                           "86800:"));
    for (size_t w = 0; w < map->warnings; w++)
        named += strstr(map->warning[w], "every pair of host") != NULL;
    assert_int_equal(named, 1);
    nt_map_destroy(map);
    nt_matrix_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_uplinks_show_groups),
        cmocka_unit_test(wide_uplinks_show_nothing),
        cmocka_unit_test(a_narrow_host_makes_groups_unsure),
        cmocka_unit_test(a_narrow_host_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
