/* SPDX-License-Identifier: Apache-2.0 */
/* Networks from descriptions of fabrics: ibnetdiscover and topology.conf. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import.h"

typedef int import_map(const char *file, const char *text, size_t bytes, struct nt_map **out,
                       struct nt_err *err);

static char *load(const char *name, size_t *bytes)
{
    char path[256], *text = malloc(65536);
    snprintf(path, sizeof path, "tests/data/import/%s", name);
    FILE *file = fopen(path, "r");
    if (file == NULL || text == NULL)
        fail_msg("%s: cannot be read (run from the top of the repository)", path);
    *bytes = fread(text, 1, 65536, file);
    fclose(file);
    return text;
}

static struct nt_map *import(import_map *reader, const char *name)
{
    size_t bytes;
    char *text = load(name, &bytes);
    struct nt_map *map = NULL;
    struct nt_err err = {0};
    if (reader(name, text, bytes, &map, &err) != 0)
        fail_msg("%s", err.text);
    free(text);
    return map;
}

static const char *name_of(const struct nt_map *map, uint32_t vertex)
{
    return vertex < map->model->hosts ? map->host_name[vertex]
                                      : map->switch_name[vertex - map->model->hosts];
}

static const struct nt_link *link_of(const struct nt_map *map, const char *a, const char *b)
{
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *link = &map->model->link[k];
        if (strcmp(name_of(map, link->a), a) == 0 && strcmp(name_of(map, link->b), b) == 0)
            return link;
    }
    fail_msg("no link from %s to %s", a, b);
    return NULL;
}

static void ibnetdiscover_gives_hosts_switches_and_cables(void **state)
{
    (void)state;
    struct nt_map *map = import(nt_import_ibnetdiscover, "ibnetdiscover.txt");
    const struct nt_model *m = map->model;
    assert_int_equal(m->hosts, 3); /* the aggregation node is none */
    assert_int_equal(m->switches, 3);
    assert_int_equal(m->links, 6);
    assert_string_equal(map->host_name[0], "n1");
    assert_string_equal(map->switch_name[2], "spine1");
    assert_int_equal(m->tier[0], 1);
    assert_int_equal(m->tier[2], 2);
    assert_int_equal(m->tiers, 2);
    /* n2 has two adapters; two HDR cables to the spine are one link of the double rate */
    assert_true(link_of(map, "n1", "leaf1")->bandwidth_MBps == 25000);
    assert_true(link_of(map, "n2", "leaf1")->bandwidth_MBps == 25000);
    assert_true(link_of(map, "n2", "leaf2")->bandwidth_MBps == 12500);
    assert_true(link_of(map, "n3", "leaf2")->bandwidth_back_MBps == 12500);
    assert_true(link_of(map, "leaf1", "spine1")->bandwidth_MBps == 50000);
    assert_true(link_of(map, "leaf2", "spine1")->bandwidth_MBps == 25000);
    assert_true(isnan(m->link[0].latency_us));
    nt_import_assume_latency(map, 0.5, 0.2);
    assert_true(link_of(map, "n1", "leaf1")->latency_us == 0.5);
    assert_true(link_of(map, "leaf1", "spine1")->latency_us == 0.2);
    nt_map_destroy(map);
}

/* Descriptions that name products, a switch that is called as another, a lone adapter. */
static void ibnetdiscover_falls_back_on_numbers(void **state)
{
    (void)state;
    static const char text[] = "Switch 2 \"S-01\" # \"Product X by Y\" base port 0\n"
                               "[1][ext 7]\t\"S-02\"[3][ext 1]\t# \"same\" lid 1 2xXDR s=1 w=2\n"
                               "Switch 2 \"S-02\" # \"same\" base port 0\n"
                               "Switch 2 \"S-03\" # \"same\" base port 0\n"
                               "[1] \"H-01\"[1](1) # \"MT23108 InfiniHost Mellanox\" lid 3 4xNEW\n"
                               "Ca 1 \"H-01\" # \"MT23108 InfiniHost Mellanox\"\n"
                               "Ca 1 \"H-02\" # \"n7 hfi1_0\"\n";
    struct nt_map *map = NULL;
    struct nt_err err = {0};
    if (nt_import_ibnetdiscover("f", text, sizeof text - 1, &map, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(map->host_name[0], "H-01");
    assert_string_equal(map->host_name[1], "n7");
    assert_true(map->model->missing[1] && !map->model->missing[0]);
    assert_true(isnan(link_of(map, "H-01", "S-03")->bandwidth_MBps));
    assert_true(link_of(map, "S-01", "S-02")->bandwidth_MBps == 50000);
    nt_map_destroy(map);
}

static void topology_conf_gives_a_tree(void **state)
{
    (void)state;
    struct nt_map *map = import(nt_import_topology_conf, "topology.conf");
    const struct nt_model *m = map->model;
    assert_int_equal(m->hosts, 6);
    assert_int_equal(m->switches, 3);
    assert_int_equal(m->links, 8);
    link_of(map, "n1", "leaf1");
    link_of(map, "n05", "leaf2");
    link_of(map, "m1", "leaf2");
    link_of(map, "leaf1", "top");
    for (size_t s = 0; s < 3; s++)
        assert_int_equal(m->tier[s], strcmp(map->switch_name[s], "top") == 0 ? 2 : 1);
    nt_map_destroy(map);
}

static void topology_conf_gives_blocks(void **state)
{
    (void)state;
    struct nt_map *map = import(nt_import_topology_conf, "topology-block.conf");
    assert_int_equal(map->model->hosts, 12);
    assert_int_equal(map->model->switches, 4);
    assert_int_equal(map->model->links, 15);
    link_of(map, "n10", "block3");
    link_of(map, "block2", "blocks");
    nt_map_destroy(map);
}

static struct nt_map *import_text(const char *text)
{
    struct nt_map *map;
    struct nt_err err = {0};
    if (nt_import_topology_conf("f", text, strlen(text), &map, &err) != 0)
        fail_msg("%s", err.text);
    return map;
}

static void what_scontrol_prints_gives_the_same(void **state)
{
    (void)state;
    struct nt_map *map =
        import_text("SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=a,b\n"
                    "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
                    "SwitchName=b Level=0 LinkSpeed=1 Nodes=n[3-4]\n");
    assert_int_equal(map->model->links, 6);
    link_of(map, "n3", "b");
    link_of(map, "a", "top");
    nt_map_destroy(map);
    map = import_text("BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
                      "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
                      "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n");
    assert_int_equal(map->model->links, 6);
    link_of(map, "n3", "b2");
    nt_map_destroy(map);
}

#define SW "Switch 2 \"S-1\" # \"a b\"\n"

static void wrong_texts_name_their_line(void **state)
{
    (void)state;
    static const struct {
        import_map *reader;
        const char *text, *says;
    } table[] = {
        {nt_import_ibnetdiscover, "", "f:1: no switch"},
        {nt_import_ibnetdiscover, "hello\n", "f:2: no switch"},
        {nt_import_ibnetdiscover, "[1] \"S-1\"[1]\n", "f:1: a port before"},
        {nt_import_ibnetdiscover, "Switch 2 S-1\n", "f:1: expected a node"},
        {nt_import_ibnetdiscover, SW SW, "f:2: node S-1 is described twice"},
        {nt_import_ibnetdiscover, SW "[1] \"S-2\"[1]\n", "f:2: no line describes node S-2"},
        {nt_import_ibnetdiscover, SW "[x] \"S-1\"[1]\n", "f:2: expected [PORT]"},
        {nt_import_ibnetdiscover, SW "[999] \"S-1\"[1]\n", "f:2: expected [PORT]"},
        {nt_import_ibnetdiscover, SW "[1] \"S-1\"\n", "f:2: expected [PORT]"},
        {nt_import_ibnetdiscover, "Switch 2 \"S/1\" # \"a b\"\n", "f:1: host name \"S/1\""},
        {nt_import_topology_conf, "", "f:1: no nodes"},
        {nt_import_topology_conf, "# nothing\n\n", "no nodes"},
        {nt_import_topology_conf, "Nodes=n1\n", "f:1: expected SwitchName= or BlockName="},
        {nt_import_topology_conf, "hello\n", "f:1: expected KEY=VALUE"},
        {nt_import_topology_conf, "SwitchName=\n", "f:1: SwitchName has no value"},
        {nt_import_topology_conf, "SwitchName=s1\n", "f:1: a switch without nodes"},
        {nt_import_topology_conf, "SwitchName=s1\fNods=a\n", "f:1: unknown key Nods"},
        {nt_import_topology_conf, "SwitchName=s1 #a\\\nNodes=a\n", "f:1: a switch without nodes"},
        {nt_import_topology_conf, "SwitchName=s1 Node=n1\n", "f:1: unknown key Node"},
        {nt_import_topology_conf, "SwitchName=s/1 Nodes=n1\n", "f:1: switch or block: host name"},
        {nt_import_topology_conf, "\nSwitchName=s1 Nodes=n[1-\n", "f:2: host list"},
        {nt_import_topology_conf, "SwitchName=s1 Nodes=n[0-999999999]\n", "f:1: host list"},
        {nt_import_topology_conf, "SwitchName=s1 Switches=s1\n", "f:1: s1 is its own child"},
        {nt_import_topology_conf, "SwitchName=s1 Nodes=n1\nSwitchName=s2 Switches=s[1,3]\n",
         "f:2: no line describes switch s3"},
        {nt_import_topology_conf, "SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2\n",
         "f:2: s1 is described twice"},
        {nt_import_topology_conf, "BlockName=b1 Nodes=n1\nSwitchName=s1 Nodes=n2\n",
         "f:2: switches and blocks"},
        {nt_import_topology_conf, "BlockName=b1 Switches=n1\n", "f:1: unknown key Switches"},
        {nt_import_topology_conf, "Include other.conf\n", "f:1: include is not followed"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *map = NULL;
        struct nt_err err = {0};
        assert_int_equal(table[k].reader("f", table[k].text, strlen(table[k].text), &map, &err),
                         -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_null(map);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%zu: %s", k, err.text);
    }
}

/* Every shorter piece of a sample is an error or a smaller network, never a crash. */
static void cut_texts_do_no_harm(void **state)
{
    (void)state;
    static const struct {
        import_map *reader;
        const char *name;
    } table[] = {{nt_import_ibnetdiscover, "ibnetdiscover.txt"},
                 {nt_import_topology_conf, "topology.conf"},
                 {nt_import_topology_conf, "topology-block.conf"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        size_t bytes;
        char *text = load(table[k].name, &bytes);
        for (size_t cut = 0; cut < bytes; cut++) {
            char *piece = malloc(cut + 1);
            struct nt_map *map = NULL;
            struct nt_err err = {0};
            assert_non_null(piece);
            memcpy(piece, text, cut);
            int rc = table[k].reader("f", piece, cut, &map, &err);
            assert_int_equal(rc, map != NULL ? 0 : -1);
            nt_map_destroy(map);
            free(piece);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ibnetdiscover_gives_hosts_switches_and_cables),
        cmocka_unit_test(ibnetdiscover_falls_back_on_numbers),
        cmocka_unit_test(topology_conf_gives_a_tree),
        cmocka_unit_test(topology_conf_gives_blocks),
        cmocka_unit_test(what_scontrol_prints_gives_the_same),
        cmocka_unit_test(wrong_texts_name_their_line),
        cmocka_unit_test(cut_texts_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
