/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's topology.conf and topology.yaml by Slurm's rules. bats/slurm_topology.bats asks a real
 * slurmctld what it makes of the same forms. */
#include "asserts.h"
#include "import.h"
#include "slurm_topology.h"
#include "strbuf.h"

/* "a[n1 n2] t[a b]": each switch with what hangs below it, by name; then the warnings. */
static char *shape_of(const struct nt_map *map)
{
    const struct nt_model *m = map->model;
    struct nt_strbuf d = {0};
    for (uint32_t s = (uint32_t)m->hosts; s < m->hosts + m->switches; s++) {
        const char *before = "";
        nt_strbuf_print(&d, "%s%s[", s > m->hosts ? " " : "", nt_map_vertex_name(map, s));
        for (uint32_t v = 0; v < m->hosts + m->switches; v++)
            for (size_t k = 0; k < m->links; k++)
                if (m->link[k].a == v && m->link[k].b == s) {
                    nt_strbuf_print(&d, "%s%s", before, nt_map_vertex_name(map, v));
                    before = " ";
                }
        nt_strbuf_puts(&d, "]");
    }
    for (size_t k = 0; k < map->warnings; k++)
        nt_strbuf_print(&d, "; %s", map->warning[k]);
    return d.text;
}

struct row {
    const char *text, *is; /* its shape, or how the error begins */
    const char *name;      /* of the topology */
    bool refused;
};

static void check_rows(const struct row *row, size_t rows, bool yaml)
{
    for (size_t k = 0; k < rows; k++) {
        SCOPED(map) *map = NULL;
        size_t bytes = strlen(row[k].text);
        char *text = malloc(bytes + 1); /* as long as it is: the sanitizer sees one byte more */
        assert_non_null(text);
        memcpy(text, row[k].text, bytes);
        int rc = yaml ? nt_import_topology_named("f", text, bytes, row[k].name, &map, &err)
                      : nt_import_topology_conf("f", text, bytes, &map, &err);
        free(text);
        char *is = rc == 0 ? shape_of(map) : strndup(err.text, strlen(row[k].is));
        if ((rc != 0) != row[k].refused || strcmp(is, row[k].is) != 0)
            fail_msg("%s\nis \"%s\", expected \"%s\"", row[k].text, rc == 0 ? is : err.text,
                     row[k].is);
        free(is);
    }
}

#define CHECK_ROWS(table, yaml) check_rows(table, sizeof(table) / sizeof *(table), yaml)

#define TWO "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n"
#define TOP "SwitchName=t Switches=a,b\n"
#define TREE "a[n1 n2] b[n3 n4] t[a b]"

/* What slurmctld 22.05 made of each is the same, except for empty leaves (25.05 and newer). */
TEST(topology_conf_is_read_as_slurm_reads_it)
{
    static const struct row table[] = {
        {TWO TOP, TREE, NULL, false},
        {"SwitchName=a Nodes=n1,\\\nn2\nSwitchName=b Nodes=n3\\\n,n4\n" TOP, TREE, NULL, false},
        {"Switch\\\nName=a Nodes=n1,\\  \r\nn2\r\nSwitchName=b Nodes=n[3-4]\r\n" TOP, TREE, NULL,
         false},
        {"switchname = a nodes= n1,,n2,\nSWITCHNAME =b Nodes=\"n3, n4\"\nSwitchName=t "
         "Switches=\"a b\"\n",
         TREE, NULL, false},
        {"# c \\\n" TWO "SwitchName=t Switches=a,b # c \\\n#\n", TREE, NULL, false},
        {"  SwitchName=a Nodes+=n[1-2] LinkSpeed=9\n\tSwitchName=b Nodes=n9 Nodes=n[3-4]\n" TOP,
         TREE, NULL, false},
        {TOP TWO "SwitchName=c\n", "a[n1 n2] b[n3 n4] c[] t[a b]", NULL, false},
        {TWO "SwitchName=c Nodes=\"\"\nSwitchName=t Switches=a,b,c\n",
         "a[n1 n2] b[n3 n4] c[] t[a b c]", NULL, false},
        {TWO, "a[n1 n2] b[n3 n4]", NULL, false},
        {"SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[2-4]\n",
         "a[n1 n2 n3] b[n2 n3 n4]; nodes behind several leaf switches: n2 n3", NULL, false},
        {"SwitchName=a Nodes=n[01-11]\nSwitchName=b Nodes=n[01-10]\n",
         "a[n01 n02 n03 n04 n05 n06 n07 n08 n09 n10 n11] b[n01 n02 n03 n04 n05 n06 n07 n08 n09 "
         "n10]; nodes behind several leaf switches: n01 n02 n03 n04 n05 n06 n07 n08 and 2 more",
         NULL, false},
        {"SwitchName=a Nodes=n1,n1\nSwitchName=p Switches=a\nSwitchName=q Switches=a\n",
         "a[n1] p[a] q[a]", NULL, false},
        {"BlockName=b1 Nodes=n1\nBlockSizes=1,2\nBlockName=b2\nBlockName=b3 nodes=n2\n",
         "b1[n1] b2[] b3[n2] blocks[b1 b2 b3]", NULL, false},
        {"BlockName=b1 Nodes=n1\n", "b1[n1]", NULL, false},
    };
    CHECK_ROWS(table, false);
}

TEST(what_slurm_refuses_in_topology_conf_is_refused)
{
    static const struct row table[] = {
        {"SwitchName=a Nodes=n1,\\\n  n2\n", "f:1: expected KEY=VALUE, found \"n2\"", NULL, true},
        {"SwitchName=a Nodes=n1,\\\n\nn2\n", "f:3: expected KEY=VALUE, found \"n2\"", NULL, true},
        {"SwitchName=a Nodes=n1 \\# n2\n", "f:1: expected KEY=VALUE, found \"#\"", NULL, true},
        {"SwitchName=a Nodes= LinkSpeed=4\n", "f:1: host name \"LinkSpeed=4\"", NULL, true},
        {"SwitchName=a Nodes=\n", "f:1: Nodes: missing value", NULL, true},
        {"SwitchName=a \"Nodes=n1\"\n", "f:1: expected KEY=VALUE", NULL, true},
        {"SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2\n",
         "f:1: switch a: expected Nodes or Switches, found both", NULL, true},
        {TWO "SwitchName=t Switches=ALL\n", "f:3: no line describes switch ALL", NULL, true},
        {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n" TWO, "f:3: a is described twice",
         NULL, true},
        {TWO "SwitchName=x Switches=y,a\n\nSwitchName=y Switches=x,b\n",
         "f:5: switch y: expected a tree of at most 64 levels, found a loop", NULL, true},
        {"SwitchName=a\nSwitchName=b\n", "f:3: expected nodes, found none", NULL, true},
        {"\xef\xbb\xbf" TWO, "f:1: expected text, found a byte order mark", NULL, true},
        {"RingName=r Nodes=n[1-4]\n",
         "f:1: expected SwitchName= or BlockName=, found RingName: topology/ring", NULL, true},
        {"TorusName=t Dims=2x2x1 Nodes=n[1-4]\n",
         "f:1: expected SwitchName= or BlockName=, found TorusName: topology/torus3d", NULL, true},
    };
    CHECK_ROWS(table, false);
}

/* From slurmctld 22.05.8 and 26.05.3: what has no nodes has "Nodes=", or nothing. */
TEST(what_scontrol_prints_is_read)
{
    static const struct row table[] = {
        {"SwitchName=a Level=0 LinkSpeed=1 Nodes=n1,,n2,\nSwitchName=b Level=0 LinkSpeed=1 "
         "Nodes=n3, n4\nSwitchName=t Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=a b\n",
         TREE, NULL, false},
        {"SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=b Level=0 LinkSpeed=1 Nodes=\n"
         "SwitchName=t Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=a,b\n"
         "SwitchName=u Level=1 LinkSpeed=1 Nodes= Switches=b\n",
         "a[n1 n2] b[] t[a b] u[b]", NULL, false},
        {"BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
         "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
         "BlockName=b3 BlockIndex=2 Nodes= BlockSize=2\n"
         "BlockName=b4 BlockIndex=3 BlockSize=2\n"
         "AggregatedBlock=b[1-2] BlockIndex=4 Nodes=n[1-4] BlockSize=4\n",
         "b1[n1 n2] b2[n3 n4] b3[] b4[] blocks[b1 b2 b3 b4]", NULL, false},
    };
    CHECK_ROWS(table, false);
}

#define YAML_TREE                                                                                  \
    "  tree:\n    switches:\n    - switch: a\n      nodes: n[1-2]\n    - switch: b\n"              \
    "      nodes: n[3-4]\n    - switch: t\n      children: a,b\n"
#define YAML_BLOCK "  block:\n    blocks:\n    - {block: b1, nodes: n1}\n"

TEST(topology_yaml_is_read_as_slurm_reads_it)
{
    static const struct row table[] = {
        {"- topology: x\n" YAML_TREE, TREE, NULL, false},
        {"\xef\xbb\xbf---\n- topology: x\n" YAML_TREE, TREE, NULL, false},
        {"topology: x\ntree: {switches: {switch: a, nodes: 'n1, n2'}}\n", "a[n1 n2]", NULL, false},
        {"- topology: x\n" YAML_TREE "- topology: y\n  cluster_default: Yes\n" YAML_BLOCK, "b1[n1]",
         NULL, false},
        {"- topology: x\n  cluster_default: OFF\n" YAML_TREE
         "- topology: y\n  cluster_default: \"t\"\n" YAML_BLOCK,
         "b1[n1]", NULL, false},
        {"- topology: x\n  cluster_default: f\n" YAML_TREE "- topology: y\n" YAML_BLOCK, TREE, NULL,
         false},
        {"- topology: x\n  cluster_default: y\n  flat: true\n- topology: y\n" YAML_TREE, TREE, "y",
         false},
        {"- topology: x\n  flat: {alpha_step_rank: n}\n- topology: y\n" YAML_BLOCK, "b1[n1]", "y",
         false},
        {"- topology: x\n" YAML_TREE "- topology: y\n  cluster_default: 2.5\n" YAML_BLOCK, "b1[n1]",
         NULL, false},
        {"- topology: x\n" YAML_TREE "- topology: y\n  cluster_default: maybe\n" YAML_BLOCK,
         "b1[n1]", NULL, false},
        {"- topology: x\n" YAML_TREE "- topology: y\n  cluster_default: 0\n" YAML_BLOCK, TREE, NULL,
         false},
        {"- topology: x\n" YAML_TREE "- topology: y\n  cluster_default: ~\n" YAML_BLOCK, TREE, NULL,
         false},
        {"- topology: x\n  tree:\n    switches:\n    - switch: a\n      nodes: null\n", "a[null]",
         NULL, false},
        /* an empty list of nodes hides the children, but not in what scontrol show topoconf prints
         */
        {"- topology: x\n  tree:\n    switches:\n    - switch: a\n      children:\n"
         "      nodes: n1\n    - switch: b\n      children: a\n      nodes:\n",
         "a[n1] b[]; children of switches that have nodes are ignored, as in Slurm: b", NULL,
         false},
        {"%YAML 1.1\n---\n- topology: x\n  cluster_default: true\n  block: {}\n  flat: {}\n"
         "  ring: {}\n  torus3d: {}\n  tree:\n    switches:\n    - switch: a\n      children:\n"
         "      nodes: n1\n    - switch: b\n      children: a\n      nodes:\n...\n",
         "a[n1] b[a]", NULL, false},
        {"- topology: x\n  block:\n    block_sizes: [1]\n    blocks:\n    - block: b1\n"
         "      nodes: ''\n    - block: b2\n    - block: b3\n      nodes:\n    - block: b4\n"
         "      nodes: n4\n",
         "b1[] b2[] b3[] b4[n4] blocks[b1 b2 b3 b4]", NULL, false},
        {"- topology: x\n  tree:\n    switches:\n    - switch: a\n      nodes: n1\n"
         "    - switch: b\n      nodes: n2\n      children: a\n",
         "a[n1] b[n2]; children of switches that have nodes are ignored, as in Slurm: b", NULL,
         false},
    };
    CHECK_ROWS(table, true);
}

TEST(what_slurm_refuses_in_topology_yaml_is_refused)
{
    static const struct row table[] = {
        {"- topology: x\n  flat: yes\n- topology: y\n" YAML_TREE,
         "f:1: expected a topology of switches or blocks, found x (flat), y (tree): choose one",
         NULL, true},
        {"- topology: x\n" YAML_TREE "- topology: y\n" YAML_BLOCK,
         "f:1: expected a topology z of switches or blocks, found x (tree), y (block): choose one",
         "z", true},
        {"- topology: x\n  ring: {rings: [{ring: r, nodes: n1}]}\n",
         "f:1: expected a topology of switches or blocks, found x (ring)", NULL, true},
        {"- topology: x\n" YAML_TREE "- topology: y\n  torus3d: {toruses: [{name: t}]}\n",
         "f:10: expected a topology y of switches or blocks, found x (tree), y (torus3d)", "y",
         true},
        {"[]\n", "f:1: expected a topology of switches or blocks, found none", NULL, true},
        {"x\n", "f:1: expected a list of topologies", NULL, true},
        {"- topology: x\n  cluster_default: [1]\n" YAML_TREE, "f:2: expected true or false", NULL,
         true},
        {"- topology: x\n  tree:\n    switches:\n    - switch: a\n      nodes: [n1, n2]\n",
         "f:5: expected names in one text", NULL, true},
        {"- topology: x\n  tree:\n    switches:\n    - switch: a\n      nodes: n1\n"
         "    - switch: a\n      nodes: n2\n",
         "f:6: a is described twice", NULL, true},
        {"- topology: x\n  tree:\n    switches:\n    - switch: a\n      children: b\n"
         "    - switch: c\n      nodes: n1\n",
         "f:5: no line describes switch b", NULL, true},
        {"- topology: &x x\n  cluster_default: *x\n", "f:2: expected no alias, which Slurm rejects",
         NULL, true},
        {"- topology: x\n  block: {blocks: [{block: b}]}\n", "f:2: expected nodes, found none",
         NULL, true},
    };
    CHECK_ROWS(table, true);
}

/* For fleet sync: a text may have none, and a file of Slurm's a flat one. */
TEST(a_new_topology_takes_the_place_of_all_lines_of_the_old_one)
{
    static const struct {
        const char *old, *left;
    } table[] = {
        {"", ""},
        {"# mine\n\nSwitchName=a Nodes=n1\n", "# mine\n\n"},
        {"SwitchName=a \\\n  Nodes=n1,\\\nn2\n# mine", "# mine\n"},
        {"\tswitchname = a \\\nNodes=n1 # of it\n \n  # mine  \n  BlockName=b \\\n\nBlockSizes=4",
         " \n  # mine  \n\nBlockSizes=4\n"},
        {"# topology/tree, found by nettopo\nSwitchName=\nLinkSpeed=1 # SwitchName=a\n",
         "LinkSpeed=1 # SwitchName=a\n"},
        {"# SwitchName=a \\\nSwitchName=b Nodes=n1\r\n# \\\nSwitchName=c",
         "# SwitchName=a \\\n# \\\n"},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_strbuf d = {0};
        struct nt_topology_text old = {"f", table[k].old, strlen(table[k].old), false};
        must(nt_topology_put_conf(&d, &old, "NEW\n", &err));
        size_t left = strlen(table[k].left);
        if (strncmp(d.text, table[k].left, left) != 0 || strcmp(d.text + left, "NEW\n") != 0)
            fail_msg("%zu: %s", k, d.text);
        free(d.text);
    }
    struct nt_strbuf d = {0};
    struct nt_topology_text zero = {"f", "# a\n\0", 5, false};
    assert_int_equal(nt_topology_put_conf(&d, &zero, "NEW\n", &err), -1);
    assert_string_equal(err.text, "f:2: expected text, found a zero byte");
    free(d.text);
}

TEST(a_topology_that_is_not_there_is_no_error)
{
    static const struct {
        const char *text, *name;
        bool yaml, there, block;
    } table[] = {
        {"", NULL, false, false, false},
        {"# nothing\n", NULL, false, false, false},
        {TWO TOP, NULL, false, true, false},
        {"BlockName=b1 Nodes=n1\n", NULL, false, true, true},
        {"BlockName=b1\n", NULL, false, false, true},
        {"", "x", true, false, false},
        {"- topology: x\n" YAML_BLOCK, "y", true, false, false},
        {"- topology: x\n" YAML_BLOCK, "x", true, true, true},
        {"- topology: x\n  flat: on\n", NULL, true, false, false},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_topology_text from = {"f", table[k].text, strlen(table[k].text), table[k].yaml};
        SCOPED(map) *map = NULL;
        bool block = false;
        if (nt_topology_read(&from, table[k].name, &map, &block, &err) != 0)
            fail_msg("%zu: %s", k, err.text);
        if ((map != NULL) != table[k].there || block != table[k].block)
            fail_msg("%zu: there %d, block %d", k, map != NULL, block);
    }
    struct nt_topology_text ring = {"f", "- topology: x\n  ring: {a: 1}\n", 30, true};
    struct nt_map *map = NULL;
    bool block = false;
    assert_int_equal(nt_topology_read(&ring, NULL, &map, &block, &err), -1);
}

RUN_TESTS
