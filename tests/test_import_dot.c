/* SPDX-License-Identifier: Apache-2.0 */
/* DOT as tools for cables write it: ports, records, labels of tags, and how hosts are marked. */
#include "asserts.h"
#include "import.h"

static struct nt_map *read_dot(const char *text)
{
    struct nt_map *map;
    must(nt_import_dot("f", text, strlen(text), &map, &err));
    return map;
}

/* "n1 n2 | leaf1 spine", in the order of the text. */
static void has_names(const struct nt_map *map, const char *expected)
{
    char text[512];
    size_t used = 0;
    for (size_t v = 0; v < map->model->hosts + map->model->switches; v++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 v == map->model->hosts ? " | "
                                 : v > 0                ? " "
                                                        : "",
                                 nt_map_vertex_name(map, (uint32_t)v));
    assert_string_equal(text, expected);
}

static const struct nt_link *link_of(const struct nt_map *map, const char *a, const char *b)
{
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *l = &map->model->link[k];
        if (strcmp(nt_map_vertex_name(map, l->a), a) == 0 &&
            strcmp(nt_map_vertex_name(map, l->b), b) == 0)
            return l;
    }
    fail_msg("no link from %s to %s", a, b);
    return NULL;
}

TEST(ports_are_no_vertices)
{
    struct nt_map *map = read_dot(
        "graph vx {\n"
        "  \"leaf01\":\"swp51\" -- \"spine01\":\"swp1\" [left_mac=\"00:03:00:11:11:01\"]\n"
        "  leaf02:swp51 -- spine01:swp2:ne\n  leaf01:p1:sw -- leaf02:p2:_ ; n3:e -- leaf02\n"
        "  \"server01\":\"eth1\" -- {\"leaf01\":\"swp1\" leaf02:swp1:c}\n}\n");
    has_names(map, "n3 server01 | leaf01 spine01 leaf02");
    assert_int_equal(map->model->links, 6);
    nt_map_destroy(map);
}

/* Both hosts have two links, and no vertex has one alone. */
TEST(functions_types_and_ports_tell_hosts_from_switches)
{
    static const char *const marks[] = {
        ("leaf1 [function=\"leaf\" os=\"vx\"] leaf2 [function=leaf]\nh1 [function=host] "
         "h2 [function=\"server\", memory=\"512\"]\n"),
        "leaf1 [type=Switch, desc=\"a b\"]; leaf2 [type=Switch]; h1 [type=Host]; h2 [type=Host];\n",
        "leaf1 [kind=switch]; leaf2 [shape=box]\n"};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "graph { %s leaf1 -- leaf2; h1 -- {leaf1 leaf2} h2 -- {leaf1; "
                 "leaf2} }",
                 marks[k]);
        SCOPED(map) *map = read_dot(text);
        has_names(map, "h1 h2 | leaf1 leaf2");
    }
    struct nt_map *map = read_dot("graph { leaf1:swp9 -- leaf2:swp9 h1:eth0 -- leaf1:swp1 "
                                  "h1:eth1 -- leaf2:swp1 h2:eth0 -- leaf1:swp2 }");
    has_names(map, "h1 h2 | leaf1 leaf2");
    nt_map_destroy(map);
}

/* ibnetdiscover's nodes: all are boxes, and two adapters are one host's. */
TEST(infiniband_ids_are_hosts_by_their_labels)
{
    struct nt_map *map = read_dot(
        "digraph IBtopo {\ngraph [rankdir=\"LR\" ; splines=\"ortho\"];\n"
        "\"S-00000000000000b1\" [shape=\"box\", label=<<TABLE><TR><TD COLSPAN=\"2\">leaf &amp; 1"
        "</TD></TR><TR><TD PORT=\"1\">01</TD></TR></TABLE>>];\n"
        "\"H-0000000000000a11\" [rank=\"2\", shape=\"box\", label=<<TABLE\n><TR><TD> n1 MT4119</TD>"
        "</TR><TR><TD PORT=\"1\">1</TD></TR></TABLE>>];\n"
        "\"H-0000000000000a12\" [shape=record, label=\"n1\\nMT25408|<1>1\", type=Host];\n"
        "\"H-0000000000000a13\" [label=\"MT4119 ConnectX5   Mellanox Technologies\"];\n"
        "{rank=\"min\" ;\n \"S-00000000000000b1\" ;\n};\n"
        "\"H-0000000000000a11\":1 -> \"S-00000000000000b1\":7 [weight=\"100\", arrowhead=none];\n"
        "\"S-00000000000000b1\":8 -> \"H-0000000000000a12\":1 [weight=\"100\"];\n"
        "\"S-00000000000000b1\":9 -> \"H-0000000000000a13\":1 [weight=\"40\"];\n}\n");
    has_names(map, "n1 H-0000000000000a13 | S-00000000000000b1");
    assert_int_equal(map->model->links, 2);
    const struct nt_link *l = link_of(map, "n1", "S-00000000000000b1");
    assert_true(l->bandwidth_MBps == 25000 && l->bandwidth_back_MBps == 25000);
    assert_true(link_of(map, "S-00000000000000b1", "H-0000000000000a13")->bandwidth_MBps == 5000);
    nt_map_destroy(map);
}

TEST(ports_tell_parallel_cables_from_directions)
{
    static const struct {
        const char *text;
        double forth_Gbps, back_Gbps;
    } table[] = {
        /* without ports two arcs are two directions */
        {"digraph { a -> b [label=10] b -> a [label=20] }", 10, 20},
        {"digraph { a -> b [label=10] a -> b [label=10] b -> a [label=20] }", 20, 20},
        /* with them, those of one cable, or of two */
        {"digraph { a:1 -> b:7 [label=10] b:7 -> a:1 [label=20] }", 10, 20},
        {"digraph { a:1 -> b:7 [label=10] b:8 -> a:2 [label=10] }", 20, 20},
        {"digraph { a:1 -> b:7 [label=10] b:7 -> a:1 [label=20] b:8 -> a:2 [label=5] }", 15, 25},
        /* each end lists the cable */
        {"graph { a:1 -- b:7 [label=10] b:7 -- a:1 [label=10] }", 10, 10},
        {"graph { a:1 -- b:7 [label=10] a:2 -- b:8 [label=10] }", 20, 20},
        {"graph { a -- b [label=10] b -- a [label=10] }", 20, 20},
        /* a point of the compass is no port */
        {"graph { a:e -- b:w [label=10] a:e -- b:w [label=10] }", 20, 20}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(map) *map = read_dot(table[k].text);
        assert_int_equal(map->model->links, 1);
        const struct nt_link *l = link_of(map, "a", "b");
        if (l->bandwidth_MBps != table[k].forth_Gbps * 125 ||
            l->bandwidth_back_MBps != table[k].back_Gbps * 125)
            fail_msg("%s: %g %g", table[k].text, l->bandwidth_MBps, l->bandwidth_back_MBps);
    }
}

TEST(a_label_is_a_rate_only_if_a_number_stands_for_itself)
{
    static const struct {
        const char *label;
        bool rate;
    } table[] = {{"40", true},         {"100G", true},    {"25.78 Gbit/s", true},
                 {"10\\n2 m", true},   {"1/0/24", false}, {"1:swp1", false},
                 {"10.0.3.4", false},  {"2 -> 7", false}, {"eth0", false},
                 {"0.5 us 40", false}, {"", false}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char text[128];
        snprintf(text, sizeof text, "graph { a -- b [label=\"%s\"] }", table[k].label);
        SCOPED(map) *map = read_dot(text);
        if (isfinite(map->model->link[0].bandwidth_MBps) != table[k].rate)
            fail_msg("\"%s\"", table[k].label);
    }
}

/* A record of 48 ports is longer than any name; graphviz breaks long lines. */
TEST(long_labels_are_passed_over)
{
    char text[2048] = "graph { s1 [shape=record, label=\"{s1|{";
    for (int port = 1; port <= 48; port++)
        snprintf(text + strlen(text), 32, "<p%d> port %d|", port, port);
    snprintf(text + strlen(text), 128,
             "}}\"]\n\"le\\\naf\":p1 -- s1:p2 \"leaf\":p2 -- n1 leaf -- n2 }");
    struct nt_map *map = read_dot(text);
    has_names(map, "s1 n1 n2 | leaf");
    nt_map_destroy(map);
    static const struct {
        const char *text, *says;
    } table[] = {{"graph { a:", "f:1: expected a port, found 'the end'"},
                 {"graph { a:{", "f:1: expected a port, found '{'"},
                 {"graph { a:1:n:2 -- b }", "f:1: expected a vertex or }, found ':'"},
                 {"graph {\na [label=<<b>\nx</b>", "f:2: a label in <> is not closed"},
                 {"graph { a -- <b> }", "f:1: expected a name, found tags in <>"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *none = NULL;
        assert_int_equal(nt_import_dot("f", table[k].text, strlen(table[k].text), &none, &err), -1);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%zu: %s", k, err.text);
    }
    memset(text, 'a', 300);
    memcpy(text, "graph { ", 8);
    snprintf(text + 300, 16, " -- b }");
    struct nt_map *none = NULL;
    assert_int_equal(nt_import_dot("f", text, strlen(text), &none, &err), -1);
    assert_string_equal(err.text, "f:1: expected a name of at most 255 bytes");
}

RUN_TESTS
