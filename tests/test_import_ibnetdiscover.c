/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of InfiniBand fabrics as people have them: the forms of hosts' descriptions, hosts without
 * a name, parts of a scan, and the report of ports. */
#include "asserts.h"
#include "import.h"

static struct nt_map *scan(const char *text, const char *names)
{
    struct nt_name_file given = {0};
    struct nt_map *map = NULL;
    if ((names != NULL && nt_name_file_read("names", names, strlen(names), &given, &err) != 0) ||
        nt_import_ibnetdiscover("f", text, strlen(text), &given, &map, &err) != 0)
        fail_msg("%s", err.text);
    nt_name_file_fini(&given);
    return map;
}

/* "n1 n2 | leaf1 spine" with the names sorted, in a buffer of the caller. */
static const char *names_of(const struct nt_map *map, char text[512])
{
    size_t used = 0;
    for (size_t v = 0; v < map->model->hosts + map->model->switches; v++)
        used += (size_t)snprintf(text + used, 512 - used, "%s%s",
                                 v == map->model->hosts ? " | "
                                 : v > 0                ? " "
                                                        : "",
                                 nt_map_vertex_name(map, (uint32_t)v));
    return text;
}

static double rate_between(const struct nt_map *map, const char *a, const char *b)
{
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *l = &map->model->link[k];
        const char *x = nt_map_vertex_name(map, l->a), *y = nt_map_vertex_name(map, l->b);
        if ((strcmp(x, a) == 0 && strcmp(y, b) == 0) || (strcmp(x, b) == 0 && strcmp(y, a) == 0))
            return l->bandwidth_MBps;
    }
    fail_msg("no link of %s and %s", a, b);
    return 0;
}

#define LEAF                                                                                       \
    "Switch 40 \"S-00000000000000b1\"\t\t# \"MF0;leaf1:MQM8700/U1\" enhanced port 0 lid 1\n"

/* What an adapter calls itself, and the host that it is of; NULL: one called by its GUID. */
TEST(descriptions_name_hosts_in_all_their_forms)
{
    static const struct {
        const char *description, *host;
    } table[] = {{"n1", "n1"},
                 {"n1 HCA-1", "n1"},
                 {"n1 HCA-2 (Mellanox HCA)", "n1"},
                 {"n1 (Mellanox HCA)", "n1"},
                 {"n1 HCA", "n1"},
                 {"n1 mlx5_0", "n1"},
                 {"'n1 mlx5_0'", "n1"},
                 {"n1  MT4119 ConnectX5", "n1"},
                 {"n1 ConnectX-6", "n1"},
                 {"n1.cluster.example hfi1_0", "n1.cluster.example"},
                 {"r-ufm101 qib0", "r-ufm101"},
                 {"mt01 ib0", "mt01"},
                 {"MT4129 ConnectX7   Mellanox Technologies", NULL},
                 {"MT23108 InfiniHost Mellanox Technologies", NULL},
                 {"MT25408", NULL},
                 {"ConnectX-5", NULL},
                 {"Mellanox ConnectX5", NULL},
                 {"Intel Infiniband HCA n1", NULL},
                 {"localhost HCA-3", NULL},
                 {"localhost.localdomain mlx5_0", NULL},
                 {"(none) mlx5_0", NULL},
                 {"Product X by Y", NULL},
                 {"", NULL},
                 {" ", NULL}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 LEAF "[1] \"H-0000000000000a11\"[1](a12)\t\t# \"%s\" lid 2 4xHDR\n",
                 table[k].description);
        SCOPED(map) *map = scan(text, NULL);
        const char *host = table[k].host != NULL ? table[k].host : "H-0000000000000a11";
        if (strcmp(map->host_name[0], host) != 0)
            fail_msg("\"%s\": expected %s, found %s", table[k].description, host,
                     map->host_name[0]);
        assert_int_equal(map->warnings, table[k].host == NULL);
    }
}

/* Three of a name that is none are three hosts, two ports of one card are one. */
TEST(hosts_without_a_name_are_told_apart_and_counted)
{
    static const char text[] =
        LEAF "[1] \"H-01\"[1](1) # \"localhost HCA-1\" lid 1 4xHDR\n"
             "[2] \"H-02\"[1](2) # \"localhost HCA-2\" lid 2 4xHDR\n"
             "[3] \"H-03\"[1](3) # \"localhost HCA-3\" lid 3 4xHDR\n"
             "[4] \"H-04\"[1](4) # \"n4 HCA-1\" lid 4 4xHDR\n"
             "[5] \"H-05\"[1](5) # \"MT4129 ConnectX7   Mellanox Technologies\" lid 5 4xHDR\n\n"
             "sysimgguid=0x1\ncaguid=0x1\nCa 1 \"H-01\" # \"localhost HCA-1\"\n"
             "sysimgguid=0x1\ncaguid=0x2\nCa 1 \"H-02\" # \"localhost HCA-2\"\n"
             "caguid=0x3\nCa 1 \"H-03\" # \"localhost HCA-3\"\n"
             "sysimgguid=0x5\ncaguid=0x5\nCa 1 \"H-05\" # \"MT4129 ConnectX7   Mellanox "
             "Technologies\"\n"
             "sysimgguid=0x5\ncaguid=0x4\nCa 1 \"H-04\" # \"n4 HCA-1\"\n";
    char names[512];
    struct nt_map *map = scan(text, NULL);
    assert_string_equal(names_of(map, names), "H-01 H-03 n4 | leaf1");
    assert_true(rate_between(map, "H-01", "leaf1") == 50000);
    assert_true(rate_between(map, "n4", "leaf1") == 50000);
    assert_int_equal(map->warnings, 1);
    if (strstr(map->warning[0], "2 of 3 hosts are named by their GUID, such as H-01.") == NULL)
        fail_msg("%s", map->warning[0]);
    nt_map_destroy(map);
    map = scan(text, "0x1 \"n1 HCA-1\"\n0x2 \"n1 HCA-2\"\n0x3 n3\n0xb1 \"sw1 (rack 3)\"\n");
    assert_string_equal(names_of(map, names), "n1 n3 n4 | sw1");
    assert_int_equal(map->warnings, 0);
    nt_map_destroy(map);
}

/* Made with a node name map: only the lines of switches have its names. */
TEST(a_name_wins_over_a_product)
{
    char names[512];
    struct nt_map *map = scan(
        "Ca 1 \"H-01\" # \"MT4119 ConnectX5   Mellanox Technologies\"\n"
        "[1](1) \"S-00000000000000b1\"[7] # lid 4 lmc 0 \"MF0;leaf1:MQM8700/U1\" lid 1 4xHDR\n" LEAF
        "[7] \"H-01\"[1](1) # \"n1  MT4119 ConnectX5\" lid 4 4xHDR\n",
        NULL);
    assert_string_equal(names_of(map, names), "n1 | leaf1");
    assert_true(rate_between(map, "n1", "leaf1") == 25000); /* one cable */
    assert_int_equal(map->warnings, 0);
    nt_map_destroy(map);
}

TEST(parts_of_a_scan_are_read_as_far_as_they_go)
{
    char names[512];
    /* it begins within a record, and ends within a line */
    struct nt_map *map = scan("[3] \"H-09\"[1](9) # \"n9 HCA-1\" lid 9 4xHDR\n"
                              "[4] \"H-08\"[1](9) # \"n8 HCA-1\" lid 9 4xHDR\n\n" LEAF
                              "[1] \"H-01\"[1](1) # \"n1 HCA-1\" lid 1 4xHDR\n"
                              "[40] \"S-c1\"[1] # \"spine\" lid 4 4xHDR\n"
                              "[2] \"H-02\"[1](2) # \"n2 HCA-1\" lid 1 4xHDR\n"
                              "[3] \"H-00000",
                              NULL);
    assert_string_equal(names_of(map, names), "n1 n2 | leaf1 spine");
    assert_int_equal(map->warnings, 1);
    if (strstr(map->warning[0], "incomplete scan: 3 lines ignored, the last is line 8") == NULL)
        fail_msg("%s", map->warning[0]);
    nt_map_destroy(map);
    /* hosts alone: the switch is known from their ports */
    map = scan("Ca 1 \"H-01\" # \"n1 HCA-1\"\n[1](1) \"S-b1\"[1] # lid 1 lmc 0 \"leaf1\" lid 2 "
               "4xHDR\nCa 1 \"H-02\" # \"n2 HCA-1\"\n[1](2) \"S-b1\"[2] # lid 2 lmc 0 \"leaf1\" "
               "lid 2 4xHDR",
               NULL);
    assert_string_equal(names_of(map, names), "n1 n2 | leaf1");
    nt_map_destroy(map);
    /* the same record twice, as in grouped scans and in two scans one behind the other */
    map = scan(LEAF "[1] \"H-01\"[1](1) # \"n1 HCA-1\" lid 1 4xHDR\n" LEAF
                    "[1] \"H-01\"[1](1) # \"n1 HCA-1\" lid 1 4xHDR\n",
               NULL);
    assert_true(rate_between(map, "n1", "leaf1") == 25000);
    nt_map_destroy(map);
}

TEST(the_report_of_ports_gives_the_same)
{
    char names[512];
    struct nt_map *map = scan(
        "SW   101  2 0x00000000000000b1 4x HDR - CA     2  1 0x0000000000000a22 ( "
        "'MF0;leaf1:MQM8700/U1' - 'n2 mlx5_0' )\n"
        "SW   101  1 0x00000000000000b1 4x HDR - CA     1  1 0x0000000000000a12 ( "
        "'MF0;leaf1:MQM8700/U1' - 'MT4129 ConnectX7   Mellanox Technologies' )\n"
        "SW   101 40 0x00000000000000b1 4x SDR                                    "
        "'MF0;leaf1:MQM8700/U1'\n"
        "CA     1  1 0x0000000000000a12 4x HDR - SW   101  1 0x00000000000000b1 ( "
        "'MT4129 ConnectX7   Mellanox Technologies' - 'MF0;leaf1:MQM8700/U1' )\n"
        "CA     2  1 0x0000000000000a22 4x HDR - SW   101  2 0x00000000000000b1 ( 'n2 mlx5_0' - "
        "'MF0;leaf1:MQM8700/U1' )\n",
        "0xa12 n1\n");
    assert_string_equal(names_of(map, names), "n1 n2 | leaf1");
    assert_int_equal(map->model->links, 2);
    assert_true(rate_between(map, "n1", "leaf1") == 25000);
    nt_map_destroy(map);
}

TEST(a_scan_is_recognised_by_any_of_its_records)
{
    static const char *const scans[] = {
        LEAF,
        "\n   Non-Chassis Nodes\n\n   Ca  2 \"H-0a\"  # \"n1 HCA-1\"\n",
        "#\n\nvendid=0x2c9\n",
        "[1] \"H-01\"[1](1)\n\nRt 2 \"R-01\"\n",
        "DR path slid 0\n\nvendid=0x2c9\n",
        "SW   101  1 0x00000000000000b1 4x HDR 'x'\n",
        "CA: n1 mlx5_0:\n 0x0a 1 1[ ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 2 1[ ] \"x\" ( )\n"};
    static const char *const others[] = {"SwitchName=s1 Nodes=n[1-2]\n", "- topology: a\n", "",
                                         "Switch 4 of five\n", "graph { \"S-1\" -- a }\n"};
    for (size_t k = 0; k < sizeof scans / sizeof *scans; k++)
        assert_true(nt_is_ibnetdiscover(scans[k]));
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        assert_false(nt_is_ibnetdiscover(others[k]));
}

RUN_TESTS
