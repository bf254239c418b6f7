/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "compare.h"
#include "comparison_report.h"
#include "graph.h"
#include "import.h"
#include "infer.h"
#include "known_rates.h"
#include "known_tree.h"
#include "made_network.h"
#include "measure.h"
#include "network.h"
#include "reference_match.h"

/* ---- compare ---- */

static void assert_near(double is, double expected)
{
    if (!(fabs(is - expected) <= 1e-9 * (1 + fabs(expected))))
        fail_msg("%.10g, expected %.10g", is, expected);
}

/* ---- networks and maps ---- */

static struct nt_map *named(struct nt_model *model)
{
    struct nt_map *map;
    char text[64][8];
    const char *names[64];
    assert_in_range(model->hosts, 1, 64);
    for (size_t h = 0; h < model->hosts; h++) {
        snprintf(text[h], sizeof text[h], "n%zu", h + 1);
        names[h] = text[h];
    }
    must(nt_map_create(model, names, &map, &err));
    return map;
}

/* What the inference makes of one noisy sweep over m; without (or UINT32_MAX) did not answer. */
static struct nt_map *sweep(const struct nt_model *m, double sd, uint64_t seed, uint32_t without)
{
    struct nt_measure_noise noise = {.sd = sd, .seed = seed};
    struct nt_network *network;
    struct nt_matrix *latency;
    struct nt_model *found;
    must(nt_network_from_model(m, &network, &err));
    must(nt_measure_latencies(network, &noise, &latency, &err));
    for (size_t h = 0; h < m->hosts && without != UINT32_MAX; h++) {
        nt_matrix_set(latency, h, without, NAN);
        nt_matrix_set(latency, without, h, NAN);
    }
    must(nt_infer_latency(latency, NULL, 1, &found, &err));
    nt_matrix_destroy(latency);
    nt_network_destroy(network);
    return named(found);
}

static struct nt_map *read_dot(const char *text)
{
    struct nt_map *map;
    must(nt_import_dot("r.dot", text, strlen(text), &map, &err));
    return map;
}

static struct nt_reference_match *held(const struct nt_map *map, const struct nt_map *reference)
{
    struct nt_reference_match *a;
    must(nt_reference_match_create(map, reference, 0.25, &a, &err));
    return a;
}

static char *in_words(const struct nt_reference_match *a)
{
    char *text;
    size_t bytes;
    must(nt_comparison_report_text(a, &text, &bytes, &err));
    return text;
}

/* Every difference must be one of these lines, and each must be there. */
static void differ_by(const struct nt_map *map, const struct nt_map *reference,
                      const char *const *lines, size_t n)
{
    SCOPED(reference_match) *a = held(map, reference);
    char *text = in_words(a);
    size_t said = a->comparison->differences + a->findings + a->unknown + a->missing;
    said += a->parts > 1;
    bool alike =
        a->comparison->common_percent > 100 - 1e-9 && a->comparison->figures_percent > 100 - 1e-9;
    if (alike == nt_comparison_report_differs(a))
        fail_msg("the percentages and the differences contradict each other:\n%s", text);
    if (said != n)
        fail_msg("%zu differences, expected %zu:\n%s", said, n, text);
    for (size_t k = 0; k < n; k++)
        if (strstr(text, lines[k]) == NULL)
            fail_msg("no \"%s\" in:\n%s", lines[k], text);
    free(text);
}

static uint32_t link_of(const struct nt_model *m, uint32_t host)
{
    for (uint32_t k = 0; k < m->links; k++)
        if (m->link[k].a == host || m->link[k].b == host)
            return k;
    fail();
    return 0;
}

static uint32_t switch_of(const struct nt_model *m, uint32_t host)
{
    const struct nt_link *l = &m->link[link_of(m, host)];
    return l->a == host ? l->b : l->a;
}

static uint32_t uplink_of(const struct nt_model *m, uint32_t host)
{
    uint32_t leaf = switch_of(m, host);
    for (uint32_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts &&
            (m->link[k].a == leaf || m->link[k].b == leaf))
            return k;
    fail();
    return 0;
}

static void plug(struct nt_model *m, uint32_t link, uint32_t from, uint32_t to)
{
    struct nt_link *l = &m->link[link];
    if (l->a == from)
        l->a = to;
    else
        l->b = to;
}

/* Three groups of two leaves of three hosts: n1..n3, n4..n6 | n7..n9, n10..n12 | n13.. */
static const char PODS[] = "tree:3x2x3";

/* ---- what is found ---- */

TEST(a_host_on_another_leaf_is_named)
{
    SCOPED(model) *healthy = made_truth(PODS), *m = made_truth(PODS);
    plug(m, link_of(m, 1), switch_of(m, 1), switch_of(m, 9));
    SCOPED(map) *yesterday = sweep(healthy, 0.02, 1, UINT32_MAX), *today;
    today = sweep(m, 0.02, 2, UINT32_MAX);
    static const char *const lines[] = {
        "host-moved      n2: expected with n1 n3, found with n10 n11 n12"};
    differ_by(today, yesterday, lines, 1);
}

TEST(a_host_that_leaves_a_pair_is_the_only_one_named)
{
    struct nt_model *healthy = made_truth("tree:4x2"), *m = made_truth("tree:4x2");
    plug(m, link_of(m, 0), switch_of(m, 0), switch_of(m, 4));
    SCOPED(map) *was = named(healthy), *is = named(m);
    static const char *const lines[] = {"host-moved      n1: "};
    differ_by(is, was, lines, 1);
}

/* The cables of two leaves in the wrong groups: all their hosts are where they should not be. */
TEST(two_leaves_swapped_are_named)
{
    SCOPED(model) *healthy = made_truth(PODS), *m = made_truth(PODS);
    uint32_t one = uplink_of(m, 0), two = uplink_of(m, 6);
    uint32_t leaf[2] = {switch_of(m, 0), switch_of(m, 6)}, pod[2];
    pod[0] = m->link[one].a == leaf[0] ? m->link[one].b : m->link[one].a;
    pod[1] = m->link[two].a == leaf[1] ? m->link[two].b : m->link[two].a;
    plug(m, one, pod[0], pod[1]);
    plug(m, two, pod[1], pod[0]);
    SCOPED(map) *yesterday = sweep(healthy, 0.02, 3, UINT32_MAX), *today;
    today = sweep(m, 0.02, 4, UINT32_MAX);
    SCOPED(reference_match) *a = held(today, yesterday);
    bool moved[18] = {false};
    assert_int_equal(a->comparison->differences, 6);
    for (size_t k = 0; k < a->comparison->differences; k++) {
        assert_int_equal(a->comparison->difference[k].kind, NT_DIFFERENCE_HOST_MOVED);
        moved[a->comparison->difference[k].host] = true;
    }
    /* distinguished by the hosts that are together: those two leaves, or the two that they were
     * taken from */
    for (uint32_t h = 0; h < 3; h++)
        assert_true((moved[h] || moved[h + 3]) && (moved[h + 6] || moved[h + 9]));
    assert_below(a->comparison->similarity_percent, 100);
}

TEST(a_slow_link_is_named)
{
    for (int inner = 0; inner < 2; inner++) {
        SCOPED(model) *healthy = made_truth(PODS), *m = made_truth(PODS);
        uint32_t link = inner ? uplink_of(m, 3) : link_of(m, 4);
        m->link[link].latency_us *= 3;
        SCOPED(map) *yesterday = sweep(healthy, 0.02, 5, UINT32_MAX), *today;
        today = sweep(m, 0.02, 6, UINT32_MAX);
        const char *lines[] = {inner ? "link-slow       uplink of n4 n5 n6: expected 0."
                                     : "link-slow       link of n5: expected 0."};
        differ_by(today, yesterday, lines, 1);
    }
}

/* Each direction of a link has its own figure, and the reference may write it the other way. */
TEST(a_link_at_half_its_rate_is_named)
{
    for (int way = 0; way < 4; way++) {
        struct nt_model *m = made_truth(PODS), *r = made_truth(PODS);
        uint32_t link = way < 2 ? uplink_of(m, 3) : link_of(m, 4);
        double *rate = way % 2 ? &m->link[link].bandwidth_back_MBps : &m->link[link].bandwidth_MBps;
        *rate /= 2;
        struct nt_link *turned = &r->link[way < 2 ? uplink_of(r, 3) : link_of(r, 4)];
        uint32_t a = turned->a;
        turned->a = turned->b;
        turned->b = a;
        turned->bandwidth_back_MBps = turned->bandwidth_MBps * 1.01;
        SCOPED(map) *is = named(m), *was = named(r);
        char line[96];
        snprintf(line, sizeof line, "link-narrow     %s%s: expected ",
                 way < 2 ? "uplink of n4 n5 n6" : "link of n5", way % 2 ? ", back" : "");
        const char *lines[] = {line};
        differ_by(is, was, lines, 1);
        is->model->link[link].at_least = true; /* never seen at its limit: says nothing */
        differ_by(is, was, NULL, 0);
    }
}

TEST(a_host_without_an_answer_is_named_and_nothing_else)
{
    SCOPED(model) *healthy = made_truth("tree:4x2");
    SCOPED(map) *yesterday = sweep(healthy, 0.01, 7, UINT32_MAX);
    SCOPED(map) *today = sweep(healthy, 0.01, 8, 2);
    static const char *const lines[] = {"host-missing    n3: no answer"};
    differ_by(today, yesterday, lines, 1);
    differ_by(yesterday, today, NULL, 0); /* a host that came back */
}

TEST(hosts_of_another_machine_are_an_error)
{
    SCOPED(map) *map = named(made_truth("star:3"));
    struct nt_map *r = read_dot("graph { x -- s; y -- s; z -- s }");
    struct nt_reference_match *a = NULL;
    assert_int_equal(nt_reference_match_create(map, r, 0.25, &a, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_non_null(strstr(err.text, "no host in common"));
    assert_null(a);
    nt_map_destroy(r);
    r = read_dot("graph { n1 -- s; n2 -- s; z -- s }");
    static const char *const lines[] = {"host-missing    n3: not in the reference"};
    differ_by(map, r, lines, 1);
    nt_map_destroy(r);
}

/* A job sees a part of the machine: parts that it cannot distinguish are no difference. */
TEST(a_part_of_a_bigger_machine_is_the_same)
{
    static const char conf[] = "SwitchName=l1 Nodes=n[1-3,21-30]\nSwitchName=l2 Nodes=n[4-6]\n"
                               "SwitchName=l3 Nodes=n[7-9]\nSwitchName=l4 Nodes=n[10-12]\n"
                               "SwitchName=l5 Nodes=n[13-15]\nSwitchName=l6 Nodes=n[16-18]\n"
                               "SwitchName=l7 Nodes=m[1-9]\n"
                               "SwitchName=p1 Switches=l[1-2]\nSwitchName=p2 Switches=l[3-4]\n"
                               "SwitchName=p3 Switches=l[5-6]\nSwitchName=p4 Switches=l7\n"
                               "SwitchName=top Switches=p[1-4]\n";
    SCOPED(model) *m = made_truth(PODS);
    SCOPED(map) *map = sweep(m, 0.02, 9, UINT32_MAX), *r;
    must(nt_import_topology_conf("t", conf, strlen(conf), &r, &err));
    differ_by(map, r, NULL, 0);
    SCOPED(reference_match) *a = held(map, r);
    assert_near(a->comparison->common_percent, 100);
}

/* Slurm's files cannot express that a switch has both hosts and switches: the text written for it
 * is read as intended. A declared leaf of another name is one. */
TEST(a_leaf_that_slurm_wants_is_none)
{
    static const char *const conf[] = {
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=top-hosts "
        "Nodes=n[5-6]\nSwitchName=top Switches=a,b,top-hosts\n",
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=c "
        "Nodes=n[5-6]\nSwitchName=top Switches=a,b,c\n"};
    static const char *const lines[] = {"switch-missing  switch over n5 n6: expected there"};
    struct nt_map *found =
        read_dot("graph { n1--a; n2--a; n3--b; n4--b; n5--t; n6--t; a--t; b--t }");
    for (size_t k = 0; k < 2; k++) {
        SCOPED(map) *r;
        must(nt_import_topology_conf("t", conf[k], strlen(conf[k]), &r, &err));
        differ_by(found, r, lines, k);
    }
    nt_map_destroy(found);
}

/* What was slow yesterday is not news; without a figure that decides, the map's finding is reported
 * as it is: its kind, values and unit. */
TEST(a_finding_is_reported_where_no_figure_decides)
{
    static const char bare[] = "graph { a [shape=box]; b [shape=box]; c [shape=box]\n"
                               "n1--a; n2--a; n3--a; n4--b; n5--b; n6--b; n7--c; n8--c; n9--c\n"
                               "a--top; b--top; c--top }";
    static const struct {
        enum nt_fault_kind kind;
        bool host;
        const char *line;
    } table[] = {
        {NT_FAULT_LINK_SLOW, false,
         "link-slow       link n2 - s2: expected 0.5 us, found 1.5 us (0.97)"},
        {NT_FAULT_LINK_NARROW, false,
         "link-narrow     link n2 - s2, up: expected 0.5 MB/s, found 1.5 MB/s (0.97)"},
        {NT_FAULT_LINK_LOSSY, false,
         "link-lossy      link n2 - s2: expected 0.5 %, found 1.5 % (0.97)"},
        {NT_FAULT_HOST_SLOW, true, "host-slow       host n2: expected 0.5 us, found 1.5 us (0.97)"},
    };
    SCOPED(map) *r = read_dot(bare);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(map) *map = named(made_truth("tree:3x3"));
        map->fault = calloc(1, sizeof *map->fault);
        assert_non_null(map->fault);
        map->faults = 1;
        *map->fault = (struct nt_fault){
            .part = {table[k].kind, 1, table[k].host ? 1 : switch_of(map->model, 1)},
            .found = 1.5,
            .expected = 0.5,
            .way = table[k].kind == NT_FAULT_LINK_NARROW ? NT_FAULT_UP : NT_FAULT_BOTH,
            .confidence = 0.97};
        differ_by(map, map, NULL, 0);
        differ_by(map, r, &table[k].line, 1);
        /* an older map has figures of links, and not what is lost or a host's */
        SCOPED(map) *older = named(made_truth("tree:3x3"));
        bool decided = table[k].kind == NT_FAULT_LINK_SLOW || table[k].kind == NT_FAULT_LINK_NARROW;
        differ_by(map, older, &table[k].line, decided ? 0 : 1);
    }
}

/* The shape alone is no likeness: figures count, both ways of being off. */
TEST(figures_that_differ_are_less_alike)
{
    static const struct {
        double rate, us; /* times what was expected */
        double similarity;
    } table[] = {{1, 1, 100}, {1.1, 0.9, 100}, {0.25, 1, 25},
                 {4, 1, 25},  {1, 2, 50},      {0.25, 2, 25}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(map) *was = named(made_truth("tree:3x3")), *is = named(made_truth("tree:3x3"));
        for (size_t l = 0; l < is->model->links; l++) {
            is->model->link[l].latency_us *= table[k].us;
            is->model->link[l].bandwidth_MBps *= table[k].rate;
            is->model->link[l].bandwidth_back_MBps *= table[k].rate;
        }
        SCOPED(reference_match) *a = held(is, was);
        assert_near(a->comparison->common_percent, 100);
        assert_near(a->comparison->figures_percent, table[k].similarity);
        assert_near(a->comparison->similarity_percent, table[k].similarity);
    }
}

/* Where one of the two has cycles between its switches, hosts still have neighbours. */
TEST(cycles_of_switches_are_compared_by_neighbours)
{
    SCOPED(map) *was = named(made_truth("dragonfly:3x3x2"));
    struct nt_map *is = named(made_truth("dragonfly:3x3x2"));
    differ_by(is, was, NULL, 0);
    struct nt_reference_match *a = held(is, was);
    assert_near(a->comparison->similarity_percent, 100);
    nt_reference_match_destroy(a);
    plug(is->model, link_of(is->model, 0), switch_of(is->model, 0), switch_of(is->model, 9));
    static const char *const lines[] = {"host-moved      n1: expected with n2, found with n9 n10"};
    differ_by(is, was, lines, 1);
    nt_map_destroy(is);
    is = named(made_truth("torus:3x6"));
    static const char *const kinds[] = {"switch-missing  switches: expected 9, found 0"};
    differ_by(is, was, kinds, 1);
    nt_map_destroy(is);
}

/* Every host on another switch than before: hardly anything is in common, and no host is named, for
 * none explains it. */
TEST(regrouped_hosts_have_little_in_common)
{
    SCOPED(map) *was = named(made_truth("tree:4x4")), *is = named(made_truth("tree:4x4"));
    uint32_t leaf[4];
    for (uint32_t k = 0; k < 4; k++)
        leaf[k] = switch_of(was->model, 4 * k);
    for (uint32_t h = 0; h < 16; h++)
        plug(is->model, link_of(is->model, h), leaf[h / 4], leaf[h % 4]);
    SCOPED(reference_match) *a = held(is, was);
    assert_near(a->comparison->common_percent, 100 * (16 / 7.0) / 24);
    assert_at_most(a->comparison->similarity_percent, a->comparison->common_percent);
    assert_int_equal(a->comparison->differences, 8);
    for (size_t k = 0; k < 8; k++)
        assert_int_equal(a->comparison->difference[k].kind, NT_DIFFERENCE_SWITCH_MISSING);
}

/* Hosts at the core: one that moves there, away from there or past it is the only one named, as
 * are two that move together. */
TEST(a_moved_host_is_one_line_beside_hosts_at_the_core)
{
    static const char healthy[] = "graph { n1--l1; n4--l1; n6--l1; n2--l2; n5--l2; n7--l2; n3--t; "
                                  "n8--t; l1--t; l2--t }";
    static const struct {
        const char *found;
        size_t lines;
        const char *line[2];
    } table[] = {
        {"graph { n1--l1; n4--l1; n6--l1; n2--l2; n5--l2; n7--t; n3--t; n8--t; l1--t; l2--t }",
         1,
         {"host-moved      n7: expected with n2 n5, found with n3 n8"}},
        {"graph { n1--l1; n4--l1; n6--l1; n7--l1; n2--l2; n5--l2; n3--t; n8--t; l1--t; l2--t }",
         1,
         {"host-moved      n7: expected with n2 n5, found with n1 n4 n6"}},
        {"graph { n1--l1; n4--l1; n6--l1; n2--l2; n5--l2; n7--l2; n8--l2; n3--t; l1--t; l2--t }",
         1,
         {"host-moved      n8: expected with n3, found with n2 n5 n7"}},
        {"graph { n1--l1; n4--l1; n2--l2; n5--l2; n7--l3; n6--l3; n3--t; n8--t; l1--t; l2--t; "
         "l3--t "
         "}",
         2,
         {"host-moved      n6: expected with n1 n4, found with n7",
          "host-moved      n7: expected with n2 n5, found with n6"}},
    };
    SCOPED(map) *r = read_dot(healthy);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(map) *map = read_dot(table[k].found);
        differ_by(map, r, table[k].line, table[k].lines);
    }
}

/* A reference whose parts nothing joins is compared part by part, and is not the map's network. */
TEST(parts_of_a_reference_are_compared_each)
{
    static const char *const lines[] = {
        "switch-missing  parts without a link between them: expected 2, found 1 (1)",
        "host-moved      n4: expected with n5 n6 n7, found with n1 n2 n3"};
    struct nt_map *map =
        read_dot("graph { n1--a; n2--a; n3--a; n4--a; n5--b; n6--b; n7--b; a--t; b--t }");
    SCOPED(map) *same = read_dot("graph { n1--x; n2--x; n3--x; n4--x; n5--y; n6--y; n7--y }");
    SCOPED(map) *other = read_dot("graph { n1--x; n2--x; n3--x; n4--y; n5--y; n6--y; n7--y }");
    differ_by(map, same, lines, 1);
    differ_by(map, other, lines, 2);
    nt_map_destroy(map);
}

/* A map that misses the cycle is another network, and the links that it lacks are named. */
static struct nt_comparison *compared(const struct nt_model *found,
                                      const struct nt_model *reference)
{
    struct nt_comparison *c;
    must(nt_compare(found, reference, 0.25, &c, &err));
    return c;
}

/* Bufe 2014, section 3.3.3. Each pair of the star has two links of 0.5 us. */
TEST(a_switch_and_a_full_mesh_are_the_same_if_no_pair_differs)
{
    SCOPED(model) *star = made_truth("star:6"), *mesh = made_truth("fullmesh:6");
    for (size_t h = 0; h < 6; h++)
        mesh->overhead_us[h] = 0;
    for (size_t k = 0; k < mesh->links; k++)
        mesh->link[k].latency_us = 1;
    star->link[0].probability = 0.4;
    struct nt_comparison *c = compared(star, mesh);
    assert_int_equal(c->differences, 0);
    assert_near(c->similarity_percent, 90);
    nt_comparison_destroy(c);
    c = compared(mesh, star);
    assert_int_equal(c->differences, 0);
    assert_near(c->similarity_percent, 100);
    nt_comparison_destroy(c);
    mesh->link[4].latency_us = 2; /* one pair is farther: no switch does that */
    c = compared(star, mesh);
    assert_above(c->differences, 0);
    assert_below(c->common_percent, 100);
    nt_comparison_destroy(c);
    mesh->link[4].latency_us = NAN;
    c = compared(star, mesh);
    assert_int_equal(c->differences, 0);
    nt_comparison_destroy(c);
    for (size_t k = 0; k < star->links; k++)
        star->link[k].bandwidth_MBps = star->link[k].bandwidth_back_MBps = 1000;
    for (size_t k = 0; k < mesh->links; k++)
        mesh->link[k].bandwidth_MBps = mesh->link[k].bandwidth_back_MBps = k == 2 ? 500 : 1000;
    for (int bound = 0; bound < 2; bound++) { /* a lower bound may be as wide as the others */
        mesh->link[2].forth_at_least = bound;
        for (int turned = 0; turned < 2; turned++) {
            c = turned ? compared(mesh, star) : compared(star, mesh);
            assert_holds(c->differences > 0 || c->common_percent < 100 ? !bound : bound,
                         "%zu differences, %g %% in common", c->differences, c->common_percent);
            nt_comparison_destroy(c);
        }
    }
    mesh->links--; /* a link is missing */
    c = compared(star, mesh);
    assert_above(c->differences, 0);
    nt_comparison_destroy(c);
}

TEST(a_cycle_that_was_not_found_is_a_difference)
{
    struct nt_map *r = read_dot("graph { n1--a; n2--a; n3--b; n4--b; n5--c; n6--c; n7--d; n8--d; "
                                "a--b; b--c; c--d; d--a }");
    struct nt_map *map = read_dot("graph { n1--a; n2--a; n3--b; n4--b; n5--c; n6--c; n7--d; n8--d; "
                                  "a--b; b--c; c--d }");
    static const char *const lines[] = {
        "link-missing    link from switch over n1 n2 to switch over "
        "n7 n8: expected there, found none"};
    differ_by(r, r, NULL, 0);
    differ_by(map, r, lines, 1);
    nt_map_destroy(map);
    nt_map_destroy(r);
}

/* A link on a cycle has no hosts below it: its two ends name it. */
TEST(a_slow_link_on_a_cycle_is_named_by_its_ends)
{
    SCOPED(map) *was = named(made_truth("ring:5,hosts=3"));
    SCOPED(map) *is = named(made_truth("ring:5,hosts=3"));
    uint32_t a = switch_of(is->model, 0), b = switch_of(is->model, 3);
    for (size_t k = 0; k < is->model->links; k++) {
        struct nt_link *l = &is->model->link[k];
        if ((l->a == a && l->b == b) || (l->a == b && l->b == a))
            l->latency_us *= 3;
    }
    static const char *const lines[] = {"link-slow       link from switch over n1 n2 n3 to switch "
                                        "over n4 n5 n6: expected 0.25 us, found 0.75 us"};
    differ_by(is, was, lines, 1);
}

/* Where a switch was not found, the links beside it are longer: no cable is. */
TEST(a_missing_switch_makes_no_link_slow)
{
    static const char *const lines[] = {
        "switch-missing  switch over n1 n2 n3 n4 n5 n6: expected there, found none"};
    SCOPED(map) *was = named(made_truth(PODS)), *is = named(made_truth(PODS));
    uint32_t pod = switch_of(was->model, 0), top = 0;
    struct nt_link *up = &was->model->link[uplink_of(was->model, 0)];
    pod = up->a == pod ? up->b : up->a;
    for (size_t k = 0; k < was->model->links; k++) {
        const struct nt_link *l = &was->model->link[k];
        uint32_t other = l->a == pod ? l->b : l->a;
        if ((l->a == pod || l->b == pod) && was->model->tier[other - 18] == 3)
            top = other;
    }
    for (size_t k = 0; k < is->model->links; k++) {
        struct nt_link *l = &is->model->link[k];
        bool of_pod = l->a == pod || l->b == pod;
        if (of_pod && l->a != top && l->b != top) {
            plug(is->model, (uint32_t)k, pod, top);
            l->latency_us *= 2;
        }
    }
    differ_by(is, was, lines, 1);
}

/* ---- the published measures ---- */

/* Section d: a square of which three sides were found, with probabilities 1, 0.5 and 0.8, and a
 * diagonal that is none of its links: (1 + 0.5 + 0.8 + 0) / 4. */
TEST(similarity_of_a_regular_network)
{
    static const uint32_t ends[][2] = {{0, 1}, {1, 2}, {2, 3}, {0, 2}};
    static const double p[] = {1, 0.5, 0.8, 1};
    struct nt_model *m;
    must(nt_model_create(4, 0, 4, &m, &err));
    for (size_t k = 0; k < 4; k++) {
        m->link[k].a = ends[k][0];
        m->link[k].b = ends[k][1];
        m->link[k].latency_us = 1;
        m->link[k].probability = p[k];
    }
    SCOPED(map) *map = named(m);
    SCOPED(map) *r = read_dot("graph g { n1 -- n2 -- n3 -- n4 -- n1 [label=\"8\"]; }");
    assert_int_equal(r->model->switches, 0);
    SCOPED(reference_match) *a = held(map, r);
    assert_near(a->comparison->similarity_percent, 57.5);
    assert_near(a->comparison->common_percent, 60); /* 3 of 5 */
}

/* Nine links, of which the six to hosts and one uplink (probability 0.9) were found; four hosts
 * have half of those on their switch that they should have. */
TEST(similarity_of_a_hierarchical_network)
{
    struct nt_model *m;
    must(nt_model_create(6, 2, 7, &m, &err));
    for (uint32_t k = 0; k < 6; k++) {
        m->link[k].a = k;
        m->link[k].b = k < 2 ? 6 : 7;
        m->link[k].latency_us = 1;
    }
    m->link[6] = m->link[5];
    m->link[6].a = 6;
    m->link[6].b = 7;
    m->link[6].probability = 0.9;
    SCOPED(map) *map = named(m);
    struct nt_map *r = read_dot("graph { n1--a; n2--a; n3--b; n4--b; n5--c; n6--c; a--t; b--t; "
                                "c--t }");
    SCOPED(reference_match) *a = held(map, r);
    assert_near(a->comparison->similarity_percent, 100 * (2 + 4 * 0.5 + 0.9) / 9);
    assert_near(a->comparison->common_percent, 100.0 * (2 + 4 * 0.5 + 1) / 9);
    assert_int_equal(a->comparison->differences, 2); /* b and c */
    nt_map_destroy(r);
}

/* On the link of a host, or on the one between the switches (host NULL). */
static double laid_on(const struct nt_map *r, const double *us, const char *host)
{
    const struct nt_model *m = r->model;
    for (size_t k = 0; k < m->links; k++) {
        const char *name[2];
        for (int s = 0; s < 2; s++) {
            uint32_t v = s ? m->link[k].b : m->link[k].a;
            name[s] = v < m->hosts ? r->host_name[v] : NULL;
        }
        bool between = name[0] == NULL && name[1] == NULL;
        if (host == NULL ? between : !between && strcmp(name[name[0] == NULL], host) == 0)
            return us[k];
    }
    fail();
    return 0;
}

/* Equations 3 and 4 by hand. Links: n1 8, n2 4, n3 8 Gbit/s, between the switches 2; times 3, 4
 * and 5 us. n1-n2 lays 1 and 2; n1-n3, shares 1:4:1, lays 2/3, 8/3, 2/3; n2-n3, shares 2:4:1, lays
 * 10/7, 20/7, 5/7. A fourth host is on no path. */
TEST(redistribution_by_hand)
{
    struct nt_model *m;
    must(nt_model_create(3, 1, 3, &m, &err));
    for (uint32_t k = 0; k < 3; k++) {
        m->link[k].a = k;
        m->link[k].b = 3;
        m->link[k].latency_us = k + 1;
    }
    SCOPED(map) *map = named(m);
    struct nt_map *r = read_dot("graph { n1 -- s1 [label=8]; n2 -- s1 [label=4];\n"
                                "n3 -- s2 [label=8]; s1 -- s2 [label=2]; n9 -- s2 [label=8] }");
    struct nt_reference_match *a = held(map, r);
    double laid[8], ideal[8], least[8];
    must(nt_reference_match_redistribute(a, 1000, laid, ideal, least, &err));
    assert_near(laid_on(r, laid, "n1"), (1 + 2.0 / 3) / 2);
    assert_near(laid_on(r, laid, "n2"), (2 + 10.0 / 7) / 2);
    assert_near(laid_on(r, laid, "n3"), (2.0 / 3 + 5.0 / 7) / 2);
    assert_near(laid_on(r, laid, NULL), (8.0 / 3 + 20.0 / 7) / 2);
    assert_true(isnan(laid_on(r, laid, "n9")));
    assert_near(laid_on(r, ideal, "n1"), 1);
    assert_near(laid_on(r, ideal, "n2"), 2);
    assert_near(laid_on(r, ideal, NULL), 4);
    /* the map's own rates: 1000 bytes over 500 MB/s take 2 us more, wherever n3 is not in it */
    for (uint32_t k = 0; k < 3; k++)
        map->model->link[k].bandwidth_MBps = map->model->link[k].bandwidth_back_MBps = 500;
    nt_reference_match_destroy(a);
    a = held(map, r);
    must(nt_reference_match_redistribute(a, 1000, laid, ideal, least, &err));
    assert_near(laid_on(r, laid, "n1"), (5.0 / 3 + 1) / 2);
    char *text;
    size_t bytes;
    must(nt_comparison_report_dot(a, 1000, &text, &bytes, &err));
    assert_non_null(strstr(text, "\"n9\" -- \"s2\" [label=\"1000 MB/s\", bandwidth_Gbps=\"8\", "
                                 "bandwidth_back_Gbps=\"8\", probability=\"1\"];"));
    assert_non_null(strstr(text, "color=\"#808080")); /* within a tenth of the ideal */
    assert_non_null(strstr(text, "color=\"#ff"));     /* over it: red */
    assert_null(strstr(text, "ff\""));
    free(text);
    nt_reference_match_destroy(a);
    nt_map_destroy(r);
}

/* ---- noise ---- */

TEST(two_sweeps_of_one_network_are_the_same)
{
    static const char *const specs[] = {"star:8",      "tree:4x4", "tree:3x2x3", "tree:2x2x4",
                                        "fattree:4,3", "tree:5x6", "chain:3x4",  "tree:6x3"};
    enum { SPECS = sizeof specs / sizeof *specs };
    size_t differ = 0, pairs = draws(40, 200);
    for (uint64_t k = 0; k < pairs; k++) {
        SCOPED(model) *m = made_truth(specs[k % SPECS]);
        double sd = 0.01 + 0.04 * (double)(k / SPECS) / (double)(pairs / SPECS - 1);
        SCOPED(map) *first = sweep(m, sd, 1000 + 2 * k, UINT32_MAX);
        SCOPED(map) *second = sweep(m, sd, 1001 + 2 * k, UINT32_MAX);
        SCOPED(reference_match) *a = held(second, first);
        if (nt_comparison_report_differs(a)) {
            char *text = in_words(a);
            print_message("%s, noise %.3f, pair %d: %s", specs[k % SPECS], sd, (int)k, text);
            free(text);
            differ++;
        }
    }
    assert_int_equal(differ, 0);
}

/* ---- rates ---- */

/* Bandwidths compared with an older map's: whole sweeps of flows with noise, of known networks. */

static const struct rates_tree healthy[] = {
    {1, {8}, {0}, false, 100, 0, 0, false, 0},
    {2, {3, 4}, {2}, false, 100, 0, 0, false, 0},
    {2, {4, 4}, {2}, false, 12500, 0, 0, false, 0.5},
    {3, {2, 3, 4}, {2, 1.5}, false, 100, 0, 0, false, 0},
};

enum { TREES = sizeof healthy / sizeof *healthy };

static struct nt_comparison *rates_held(const struct nt_model *is, const struct nt_model *was,
                                        double tolerance)
{
    struct nt_comparison *c;
    must(nt_compare(is, was, tolerance, &c, &err));
    return c;
}

/* Even where a tolerance of 2 % asks for more than the noise gives. */
TEST(rates_two_sweeps_of_one_network_are_the_same)
{
    enum { PAIRS = 200 };
    size_t differ[2] = {0, 0};
    for (uint64_t k = 0; k < PAIRS; k++) {
        double sd = 0.005 + 0.045 * (double)k / PAIRS;
        SCOPED(network) *net = rates_network(&healthy[k % TREES], k);
        struct rates_run one = rates_sweep(net, NULL, sd, 1000 + 2 * k);
        struct rates_run two = rates_sweep(net, NULL, sd, 1001 + 2 * k);
        for (int t = 0; t < 2; t++) {
            struct nt_comparison *c = rates_held(two.found, one.found, t == 0 ? 0.25 : 0.02);
            differ[t] += c->differences > 0;
            nt_comparison_destroy(c);
        }
        rates_run_fini(&one);
        rates_run_fini(&two);
    }
    assert_int_equal(differ[0], 0);
    assert_in_range(differ[1], 0, 2); /* 0.1 % a pair is the claim */
}

/* Every link of each tree in its turn, each way; where flows could reach its limit. */
TEST(a_link_at_half_its_rate_is_found_and_nothing_else)
{
    size_t tried = 0, found = 0, other = 0;
    for (size_t k = 0; k < TREES; k++) {
        SCOPED(network) *net = rates_network(&healthy[k], k);
        struct rates_run was = rates_sweep(net, NULL, 0.02, 5);
        for (size_t arc = 0; arc < 2 * was.truth->links; arc += 5) {
            net->arc[arc].rate_MBps /= 2;
            struct rates_run is = rates_sweep(net, NULL, 0.02, 100 + arc);
            struct nt_comparison *c = rates_held(is.found, was.found, 0.25);
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
    }
    assert_in_range(tried, 30, 1000);
    assert_int_equal(other, 0);
    assert_int_equal(found, tried);
}

/* Two links, by hand: the margin is what both figures' errors leave, and the confidence says it,
 * times the link's own probability. */
TEST(the_margin_is_tested)
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
            struct nt_comparison *c = rates_held(m[0], m[1], 0.25);
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

/* ---- support ---- */

static struct nt_map *support_read_dot(const char *text)
{
    struct nt_map *map;
    must(nt_import_dot("r.dot", text, strlen(text), &map, &err));
    return map;
}

/* The confidence of each difference is the support of its switch, whatever the confidence of the
 * map. */
TEST(a_difference_is_as_sure_as_its_switch)
{
    static const char found[] = "graph { n1--a; n2--a; n3--a; n4--a; n5--b; n6--b; n7--b; n8--b; "
                                "a--b }";
    static const char wide[] = "graph { n1--a; n2--a; n3--a; n4--a; n5--a; n6--a; n7--a; n8--b; "
                               "n9--b; n10--b; n11--b; n12--b; n13--b; n14--b; a--b }";
    static const char hidden[] = "graph { n1--c; n2--c; n3--a; n4--a; n5--a; n6--a; n7--a; n8--b; "
                                 "n9--b; n10--b; n11--b; n12--b; n13--b; n14--b; c--a; a--b }";
    static const struct {
        const char *found, *reference;
        enum nt_difference_kind kind;
        double probability, confidence, expected;
    } table[] = {
        {found, "graph { n1--t; n2--t; n3--t; n4--t; n5--t; n6--t; n7--t; n8--t }",
         NT_DIFFERENCE_SWITCH_MISSING, 0.7, 0.3, 0.7}, /* found, and not expected */
        {found, "graph { n1--a; n2--a; n3--a; n5--a; n4--b; n6--b; n7--b; n8--b; a--b }",
         NT_DIFFERENCE_HOST_MOVED, 0.7, 0.3, 0.7},
        {found, "graph { n1--a; n5--a; n2--t; n3--t; n4--t; n6--t; n7--t; n8--t; a--t }",
         NT_DIFFERENCE_SWITCH_MISSING, 0.8, 0.3, 0.8}, /* what was found contradicts it */
        {wide, hidden, NT_DIFFERENCE_SWITCH_MISSING, 0.8, 0.3,
         0.3}, /* nothing does: it may have been missed */
        {wide, hidden, NT_DIFFERENCE_SWITCH_MISSING, 0.8, NAN, 1},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *map = support_read_dot(table[k].found),
                      *r = support_read_dot(table[k].reference);
        SCOPED(reference_match) *a;
        map->model->confidence = table[k].confidence;
        for (size_t e = 0; e < map->model->links; e++)
            if (map->model->link[e].a >= map->model->hosts)
                map->model->link[e].probability = table[k].probability;
        must(nt_reference_match_create(map, r, 0.25, &a, &err));
        const struct nt_comparison *c = a->comparison;
        assert_in_range(c->differences, 1, 2);
        assert_int_equal(c->difference[0].kind, table[k].kind);
        assert_close(c->difference[0].confidence, table[k].expected, 1e-9);
        nt_map_destroy(map);
        nt_map_destroy(r);
    }
}

/* ---- remarks ---- */

/* Where a picture marks a difference: at its host, its link or its switch, in both networks. */

/* Three groups of two leaves of three hosts; link k < 18 is of host k, 18 + j of leaf j. */
static struct nt_map *pods(void)
{
    struct nt_map *map;
    char text[18][8];
    const char *names[18];
    for (size_t h = 0; h < 18; h++) {
        snprintf(text[h], sizeof text[h], "n%zu", h + 1);
        names[h] = text[h];
    }
    must(nt_map_create(known_tree(3, 2, 3, false, true, 1), names, &map, &err));
    return map;
}

static void remarks_of(const struct nt_map *is, const struct nt_map *was, struct nt_remarks *out)
{
    SCOPED(reference_match) *match;
    must(nt_reference_match_create(is, was, 0.25, &match, &err));
    must(nt_remarks_create(match, is, was, out, &err));
}

static const struct nt_remark *begins_with(const struct nt_remarks *all, const char *words)
{
    for (size_t k = 0; k < all->count; k++)
        if (strncmp(all->remark[k].text, words, strlen(words)) == 0)
            return &all->remark[k];
    fail_msg("no \"%s\"", words);
    return NULL;
}

static void at_link(const uint32_t at[2], const struct nt_link *l)
{
    assert_true((at[0] == l->a && at[1] == l->b) || (at[0] == l->b && at[1] == l->a));
}

TEST(hosts_links_and_uplinks)
{
    SCOPED(map) *was = pods(), *is = pods();
    struct nt_link *link = is->model->link;
    link[18 + 1].latency_us *= 3; /* of n4 n5 n6 */
    link[16].latency_us *= 3;
    link[1].b = link[9].b; /* n2 stands with n10 */
    struct nt_remarks all;
    remarks_of(is, was, &all);
    assert_int_equal(all.count, 3);
    const struct nt_remark *moved = begins_with(&all, "n2: expected with n1 n3, found with n");
    assert_true(moved->in_map[0] == 1 && moved->in_map[1] == 1);
    assert_true(moved->in_reference[0] == 1 && moved->in_reference[1] == 1);
    const struct nt_remark *uplink = begins_with(&all, "uplink of n4 n5 n6: ");
    at_link(uplink->in_map, &link[18 + 1]);
    at_link(uplink->in_reference, &was->model->link[18 + 1]);
    const struct nt_remark *cable = begins_with(&all, "link of n17: ");
    at_link(cable->in_map, &link[16]);
    at_link(cable->in_reference, &was->model->link[16]);
    nt_remarks_fini(&all);
}

/* Where one of the two has nothing like it there is no place. */
TEST(switches_and_missing_hosts)
{
    SCOPED(map) *was = pods(), *is = pods();
    struct nt_model *m = is->model;
    for (size_t k = 3; k < 6; k++)
        m->link[k].b = m->link[0].b; /* n4 n5 n6 on the leaf of n1 n2 n3 */
    m->missing[12] = true;
    m->link[12] = m->link[--m->links];
    m->link[18 + 1] = m->link[--m->links];
    struct nt_remarks all;
    remarks_of(is, was, &all);
    const struct nt_remark *gone = begins_with(&all, "n13: no answer");
    assert_true(gone->in_map[0] == 12 && gone->in_reference[0] == 12);
    for (size_t k = 0; k < all.count; k++)
        if (strncmp(all.remark[k].text, "switch over ", 12) == 0) {
            assert_int_equal(all.remark[k].in_reference[0], all.remark[k].in_reference[1]);
            assert_true(all.remark[k].in_map[0] == NT_NO_VERTEX ||
                        all.remark[k].in_map[0] >= m->hosts);
        }
    nt_remarks_fini(&all);
}

RUN_TESTS
