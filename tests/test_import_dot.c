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
#include "export.h"
#include "import.h"
#include "known_tree.h"

typedef int reader(const char *, const char *, size_t, struct nt_map **, struct nt_err *);

static struct nt_map *read_by(reader *read, const char *text)
{
    struct nt_err err = {0};
    struct nt_map *map;
    if (read("f", text, strlen(text), &map, &err) != 0)
        fail_msg("%s", err.text);
    return map;
}

static const char *name_of(const struct nt_map *map, uint32_t v)
{
    size_t hosts = map->model->hosts;
    return v < hosts ? map->host_name[v] : map->switch_name[v - hosts];
}

static const struct nt_link *link_of(const struct nt_map *map, const char *a, const char *b)
{
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *l = &map->model->link[k];
        if ((strcmp(name_of(map, l->a), a) == 0 && strcmp(name_of(map, l->b), b) == 0) ||
            (strcmp(name_of(map, l->a), b) == 0 && strcmp(name_of(map, l->b), a) == 0))
            return l;
    }
    fail_msg("no link %s - %s", a, b);
    return NULL;
}

static void figures_are_read_in_every_form(void **state)
{
    (void)state;
    struct nt_map *map =
        read_by(nt_import_dot, "# first line\n"
                               "strict digraph \"a b\" { rankdir=LR; node [shape=box2, label=x]\n"
                               "subgraph cluster_1 { \"leaf-1\" -> {n1, n2; n3} [label=\"40\"] }\n"
                               "/* two\n directions */ n4 -> leaf2 [weight=32]\n"
                               "leaf2 -> n4 [label=16];\n"
                               "\"leaf-1\" -> core -> leaf2 [bandwidth_Gbps=100, "
                               "bandwidth_back_Gbps=\"50\"; latency_us=0.3] // end\n"
                               "}");
    assert_int_equal(map->model->hosts, 4);
    assert_int_equal(map->model->switches, 3);
    assert_int_equal(map->model->links, 6);
    assert_true(link_of(map, "n3", "leaf-1")->bandwidth_MBps == 5000);
    assert_true(isnan(link_of(map, "n3", "leaf-1")->latency_us));
    const struct nt_link *both = link_of(map, "n4", "leaf2");
    assert_true(both->bandwidth_MBps + both->bandwidth_back_MBps == 4000 + 2000);
    const struct nt_link *up = link_of(map, "leaf-1", "core");
    assert_above(up->latency_us, 0.29);
    assert_below(up->latency_us, 0.31);
    assert_true(up->bandwidth_MBps == 12500 && up->bandwidth_back_MBps == 6250);
    nt_map_destroy(map);
}

static void parallel_cables_add_up_and_a_ring_has_no_switches(void **state)
{
    (void)state;
    struct nt_map *map = read_by(nt_import_dot, "graph { a -- b -- c -- d -- a [label=8]\n"
                                                "a -- b [label=8] }");
    assert_int_equal(map->model->hosts, 4);
    assert_int_equal(map->model->links, 4);
    assert_true(link_of(map, "a", "b")->bandwidth_MBps == 2000);
    nt_map_destroy(map);
}

static void ours_are_read_back(void **state)
{
    (void)state;
    static const struct {
        int (*write)(const struct nt_map *, char **, size_t *, struct nt_err *);
        reader *read;
    } table[] = {{nt_export_topology_yaml, nt_import_topology_yaml}};
    char names[32][8];
    const char *each[32];
    for (size_t h = 0; h < 32; h++) {
        snprintf(names[h], sizeof names[h], "n%zu", h);
        each[h] = names[h];
    }
    struct nt_map *map;
    struct nt_err err = {0};
    assert_int_equal(nt_map_create(known_tree(2, 4, 4, true, true, 3), each, &map, &err), 0);
    char *text;
    size_t bytes;
    assert_int_equal(nt_export_dot(map, NULL, &text, &bytes, &err), 0);
    struct nt_map *back = read_by(nt_import_dot, text);
    free(text);
    assert_int_equal(back->model->hosts, map->model->hosts);
    assert_int_equal(back->model->links, map->model->links);
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *l = &map->model->link[k];
        const struct nt_link *b = link_of(back, name_of(map, l->a), name_of(map, l->b));
        assert_below(fabs(b->latency_us - l->latency_us), 1e-5 * l->latency_us);
        assert_below(fabs(b->bandwidth_MBps - l->bandwidth_MBps), 1e-5 * l->bandwidth_MBps);
    }
    nt_map_destroy(back);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        assert_int_equal(table[k].write(map, &text, &bytes, &err), 0);
        back = read_by(table[k].read, text);
        free(text);
        assert_int_equal(back->model->hosts, map->model->hosts);
        assert_int_equal(back->model->switches, map->model->switches);
        assert_int_equal(back->model->links, map->model->links);
        nt_map_destroy(back);
    }
    nt_map_destroy(map);
}

static void the_cluster_s_default_topology_is_the_one(void **state)
{
    (void)state;
    struct nt_map *map =
        read_by(nt_import_topology_yaml, "---\n- topology: a\n  tree:\n    switches:\n"
                                         "      - switch: s\n        nodes: n[1-9]\n"
                                         "- topology: b\n  cluster_default: true\n  block:\n"
                                         "    block_sizes: [2]\n    blocks:\n"
                                         "      - block: b1\n        nodes: n[1-2]\n"
                                         "      - block: b2\n        nodes: n[3-4]\n");
    assert_int_equal(map->model->hosts, 4);
    assert_int_equal(map->model->switches, 3);
    nt_map_destroy(map);
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    (void)state;
    static const struct {
        reader *read;
        const char *text, *says;
    } table[] = {
        {nt_import_dot, "", "f:1: expected graph or digraph, found 'the end'"},
        {nt_import_dot, "graph {\n a --\n}", "f:3: expected a vertex, found '}'"},
        {nt_import_dot, "graph {\n a -- b [label=\n", "f:3: expected a value, found 'the end'"},
        {nt_import_dot, "graph {\n a -- {b c\n", "f:3: expected a vertex or }"},
        {nt_import_dot, "graph {\n a -- {b -- c} }", "f:2: expected a vertex or }"},
        {nt_import_dot, "graph {\n a -- \"b", "f:2: a quoted word without its end"},
        {nt_import_dot, "graph { /* a", "f:1: a comment without its end"},
        {nt_import_dot, "graph {\n\n a -- b\n", "f:4: expected a vertex or }, found 'the end'"},
        {nt_import_dot, "graph {\n\"a b\" -- c }", "f:2: "},
        {nt_import_dot, "graph {\n<b>x</b> }", "f:2: unexpected byte 0x3c"},
        {nt_import_dot, "graph { } }", "f:1: expected the end"},
        {nt_import_dot, "graph { }", "f: no hosts"},
        {nt_import_topology_yaml, "- topology: a\n  tree: [\n", "f:3: no YAML"},
        {nt_import_topology_yaml, "a: b\n", "f:1: expected a list of topologies"},
        {nt_import_topology_yaml, "- topology: a\n", "f:1: expected a tree or a block"},
        {nt_import_topology_yaml, "- topology: a\n  tree:\n    switches:\n      - nodes: n1\n",
         "f:4: expected a switch with its name"},
        {nt_import_topology_yaml,
         "- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: n[1-\n",
         "f:5: "},
        {nt_import_topology_yaml,
         "- topology: a\n  tree:\n    switches:\n      - switch: s\n        children: s\n",
         "f:5: s is its own child"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *map = NULL;
        struct nt_err err = {0};
        if (table[k].read("f", table[k].text, strlen(table[k].text), &map, &err) != -1)
            fail_msg("row %zu was read", k);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_null(map);
        if (strncmp(err.text, table[k].says, strlen(table[k].says)) != 0)
            fail_msg("\"%s\" does not begin with \"%s\"", err.text, table[k].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_read_in_every_form),
        cmocka_unit_test(parallel_cables_add_up_and_a_ring_has_no_switches),
        cmocka_unit_test(ours_are_read_back),
        cmocka_unit_test(the_cluster_s_default_topology_is_the_one),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
