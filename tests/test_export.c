/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "export.h"
#include "import.h"
#include "inside.h"
#include "known_tree.h"

/* a and b under s1, c under s2, s1 and s2 joined, d missing */
static struct nt_map *small_map(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct nt_model *m;
    struct nt_map *map;
    static const uint32_t ends[][2] = {{0, 4}, {1, 4}, {2, 5}, {4, 5}};
    must(nt_model_create(4, 2, 4, &m, &err));
    for (size_t k = 0; k < 4; k++) {
        m->link[k].a = ends[k][0];
        m->link[k].b = ends[k][1];
        m->link[k].latency_us = 1.5 + (double)k;
    }
    m->link[0].bandwidth_MBps = 1000;
    m->link[0].bandwidth_back_MBps = 500;
    m->link[3].suspect = true;
    m->missing[3] = true;
    m->tier[1] = 2;
    must(nt_map_create(m, names, &map, &err));
    return map;
}

TEST(tgf_is_as_published)
{
    SCOPED(map) *map = small_map();
    char *text;
    must(nt_export_tgf(map, &text, NULL, &err));
    assert_string_equal(text, "1 a\n2 b\n3 c\n4 d\n5 s1\n6 s2\n#\n"
                              "1 5 l: 1.5 t: 1000\n5 1 l: 1.5 t: 500\n"
                              "2 5 l: 2.5\n5 2 l: 2.5\n3 6 l: 3.5\n6 3 l: 3.5\n"
                              "5 6 l: 4.5\n6 5 l: 4.5\n");
    free(text);
}

static size_t times(const char *text, const char *what)
{
    size_t n = 0;
    for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what))
        n++;
    return n;
}

/* a to s1 was seen in this direction only. */
TEST(one_way_links_keep_their_direction)
{
    struct nt_map *map = small_map(), *back = NULL;
    char *text;
    size_t bytes;
    map->model->link[0].simplex = true;
    must(nt_export_tgf(map, &text, &bytes, &err));
    assert_int_equal(times(text, "\n1 5 "), 1);
    assert_int_equal(times(text, "\n5 1 "), 0);
    must(nt_import_tgf("f", text, bytes, &back, &err));
    free(text);
    for (int other = 0; other < 2; other++) {
        size_t one_way = 0;
        for (size_t k = 0; k < back->model->links; k++) {
            const struct nt_link *l = &back->model->link[k];
            one_way += l->simplex;
            if (l->simplex)
                assert_string_equal(nt_map_vertex_name(back, l->a), "a");
        }
        assert_int_equal(one_way, 1);
        nt_map_destroy(back);
        back = NULL;
        must(nt_export_dot(map, NULL, &text, &bytes, &err));
        assert_int_equal(times(text, "dir=forward"), 1);
        must(nt_import_dot("f", text, bytes, &back, &err));
        free(text);
    }
    nt_map_destroy(back);
    must(nt_export_graphml(map, &text, NULL, &err));
    assert_int_equal(times(text, "<edge source=\"a\" target=\"s1\" directed=\"true\">"), 1);
    assert_int_equal(times(text, "directed="), 1);
    free(text);
    nt_map_destroy(map);
}

/* Two hosts, each direction once: nothing shows that a link is one-way. */
TEST(tgf_of_single_lines_is_no_one_way_network)
{
    static const char text[] = "1 a\n2\n3 s\n#\n1 3 l: 1 t: 500\n2 3 cable\n";
    SCOPED(map) *map = NULL;
    must(nt_import_tgf("f", text, sizeof text - 1, &map, &err));
    assert_true(map->model->hosts == 2 && map->model->switches == 1);
    assert_string_equal(map->host_name[1], "2");
    assert_false(map->model->link[0].simplex);
    assert_true(map->model->link[0].latency_us == 1 && map->model->link[0].bandwidth_MBps == 500);
}

TEST(wrong_tgf_names_its_line)
{
    static const char *const table[][2] = {
        {"1 a\n2 b\n", "f:3: expected a line \"#\""},
        {"1 a\n1 b\n#\n", "f:2: vertex 1 appears twice"},
        {"1 a\n2 a\n#\n", "f:2: name a appears twice"},
        {"1 a b\n#\n", "f:1: expected a name without spaces after 1"},
        {"1 a/b\n#\n", "f:1: "},
        {"1 a\n2 b\n#\n1 3\n",
         "f:4: expected two vertices that were named before \"#\", found \"3\""},
        {"1 a\n2 b\n#\n1\n", "f:4: expected two vertices"},
        {"1 a\n2 b\n#\n1 2 l: x\n", "f:4: expected a latency in us, found \"x\""},
        {"#\n", "f: expected hosts, found none"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *map = NULL;
        assert_int_equal(nt_import_tgf("f", table[k][0], strlen(table[k][0]), &map, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k][1]) == NULL)
            fail_msg("%zu: %s", k, err.text);
    }
}

/* Two packages of a memory node and two cores each; only a is known inside. */
TEST(hosts_are_opened_up)
{
    SCOPED(map) *map = small_map(), *whole;
    char *text;
    map->machines = 1;
    map->machine = calloc(1, sizeof *map->machine);
    map->machine_of = malloc(4 * sizeof *map->machine_of);
    *map->machine = (struct nt_machine){.packages = 2, .numas = 2, .cores = 4, .threads = 8};
    map->machine->between[NT_BETWEEN_NUMA] = (struct nt_core_latency){1, 0.04, 0.04, 0.04};
    map->machine->between[NT_BETWEEN_PACKAGE] = (struct nt_core_latency){1, 0.06, 0.06, 0.06};
    map->machine->between[NT_BETWEEN_MACHINE] = (struct nt_core_latency){1, 0.2, 0.2, 0.2};
    for (size_t h = 0; h < 4; h++)
        map->machine_of[h] = h == 0 ? 0 : NT_MAP_NO_MACHINE;
    must(nt_inside_create(map, &whole, &err));
    assert_int_equal(whole->model->switches, 2 + 2 + 2 + 4);
    must(nt_export_graphml(whole, &text, NULL, &err));
    assert_int_equal(times(text, "<data key=\"kind\">part</data>"), 8);
    assert_non_null(strstr(text, "<edge source=\"a.numa1\" target=\"a.core2\">"
                                 "<data key=\"latency_us\">0.02</data>"));
    free(text);
    must(nt_export_tgf(whole, &text, NULL, &err));
    assert_non_null(strstr(text, "\n14 a.core3\n#\n"));
    free(text);
    /* core to core: what was measured */
    double way = 0;
    for (size_t k = 0; k < whole->model->links; k++) {
        const char *b = nt_map_vertex_name(whole, whole->model->link[k].b);
        if (strcmp(b, "a.core0") == 0 || strcmp(b, "a.numa0") == 0 || strcmp(b, "a.package0") == 0)
            way += whole->model->link[k].latency_us;
    }
    assert_close(2 * way, 0.2, 1e-9);
}

TEST(slurm_gets_hosts_or_switches_but_not_both)
{
    SCOPED(map) *map = small_map();
    char *text;
    must(nt_export_topology_conf(map, &text, NULL, &err));
    assert_string_equal(text, "# topology/tree, found by nettopo\n"
                              "SwitchName=s1 Nodes=a,b\n"
                              "SwitchName=s2-hosts Nodes=c\n"
                              "SwitchName=s2 Switches=s1,s2-hosts\n");
    free(text);
    must(nt_export_topology_yaml(map, &text, NULL, &err));
    assert_non_null(strstr(text, "      - switch: s2\n        children: s1,s2-hosts\n"));
    free(text);
}

/* Both ends of the only link between switches divide the hosts in the same way. */
TEST(what_is_not_sure_is_pale)
{
    static const struct {
        double sure;
        const char *title, *colour;
    } table[] = {{1, NULL, NULL},
                 {0.9, NULL, NULL},
                 {0.89, "\"probability 89 %\"", "#4b4b4b"},
                 {0.6, "\"probability 60 %\"", "#8c8c8c"},
                 {0.5, "\"probability 50 %\"", "#8c8c8c"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(map) *map = small_map();
        char *text;
        for (size_t l = 0; l < map->model->links; l++)
            if (map->model->link[l].a >= map->model->hosts)
                map->model->link[l].probability = table[k].sure;
        bool pale = table[k].title != NULL;
        must(nt_export_dot(map, NULL, &text, NULL, &err));
        assert_int_equal(times(text, " support=\""), 2);
        assert_int_equal(times(text, "tooltip="), pale ? 2 : 0);
        assert_int_equal(times(text, " color="), pale ? 3 : 1); /* the link is suspect */
        assert_int_equal(times(text, "pale:"), pale);
        assert_true(!pale ||
                    (times(text, table[k].title) == 2 && times(text, table[k].colour) == 4));
        free(text);
        must(nt_export_graphml(map, &text, NULL, &err));
        assert_int_equal(times(text, "<data key=\"support\">"), 2);
        free(text);
    }
}

TEST(what_is_no_tree_is_refused)
{
    SCOPED(map) *map = small_map();
    char *text = NULL;
    map->model->link[2].b = 0; /* c hangs on host a */
    assert_int_equal(nt_export_topology_conf(map, &text, NULL, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    map->model->link[2].a = 4; /* and now a link stands twice */
    assert_int_equal(nt_export_topology_conf(map, &text, NULL, &err), -1);
    assert_null(text);
}

/* A tree is laid out as one, and what is worse is red; other networks by distances. */
TEST(dot_has_a_layout_for_trees_and_red_for_worse)
{
    SCOPED(map) *map = small_map();
    char *text;
    map->model->link[0].suspect = map->model->link[0].at_least = true;
    must(nt_export_dot(map, NULL, &text, NULL, &err));
    assert_int_equal(times(text, "layout=dot; rankdir=RL"), 1);
    assert_int_equal(times(text, " color=\"#c4122f\", fontcolor=\"#c4122f\""), 2);
    assert_int_equal(times(text, ", \xe2\x89\xa5"
                                 "500 MB/s"),
                     1);
    free(text);
    map->model->link[2].a = 0; /* hosts a and b of a switch are linked, too */
    map->model->link[2].b = 1;
    must(nt_export_dot(map, NULL, &text, NULL, &err));
    assert_int_equal(times(text, "layout=neato"), 1);
    free(text);
}

TEST(absent_is_not_zero)
{
    SCOPED(map) *map = small_map();
    char *text;
    must(nt_export_dot(map, NULL, &text, NULL, &err));
    assert_non_null(strstr(text,
                           "\"a\" -- \"s1\" [label=\"1.50 us, 500 MB/s\", latency_us=\"1.5\", "
                           "bandwidth_Gbps=\"8\", bandwidth_back_Gbps=\"4\""));
    assert_non_null(strstr(text, "\"b\" -- \"s1\" [label=\"2.50 us\", latency_us=\"2.5\", prob"));
    assert_non_null(strstr(text, "status=missing"));
    free(text);
    must(nt_export_graphml(map, &text, NULL, &err));
    assert_null(strstr(text, "nan"));
    assert_non_null(strstr(text, "<data key=\"bandwidth_back_MBps\">500</data>"));
    free(text);
}

RUN_TESTS
