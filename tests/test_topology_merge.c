/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "export.h"
#include "import.h"
#include "rng.h"
#include "topology_merge.h"

static struct nt_map *read_conf(const char *text)
{
    struct nt_map *map = NULL;
    if (text != NULL && nt_import_topology_conf("t", text, strlen(text), &map, &err) != 0)
        fail_msg("%s", err.text);
    return map;
}

/* The file that comes of both, without its first line; the changes must be those. */
static char *merged(const char *measured, const char *current, const char *changes)
{
    struct nt_map *m = read_conf(measured), *c = read_conf(current), *out;
    struct nt_strbuf d = {0};
    char *text;
    size_t bytes;
    must(nt_topology_merge(m, c, &out, &d, NULL, &err));
    assert_string_equal(d.used > 0 ? d.text : "", changes);
    must(nt_export_topology_conf(out, &text, &bytes, &err));
    free(d.text);
    nt_map_destroy(m);
    nt_map_destroy(c);
    nt_map_destroy(out);
    char *first = strchr(text, '\n');
    memmove(text, first + 1, strlen(first));
    return text;
}

static void expects(const char *measured, const char *current, const char *changes,
                    const char *expected)
{
    char *text = merged(measured, current, changes);
    assert_string_equal(text, expected);
    /* what was written is what is wanted: nothing changes any more */
    free(merged(measured, text, ""));
    free(text);
}

static const char two[] = "SwitchName=s1 Nodes=n[1-3]\nSwitchName=s2 Nodes=n[4-6]\n"
                          "SwitchName=s3 Switches=s1,s2\n";

TEST(without_a_topology_all_is_new)
{
    expects(two, NULL,
            "host n1: on s1\nhost n2: on s1\nhost n3: on s1\nhost n4: on s2\nhost n5: on s2\n"
            "host n6: on s2\nswitch s1: new, below s3\nswitch s2: new, below s3\nswitch s3: new\n",
            "SwitchName=s1 Nodes=n1,n2,n3\nSwitchName=s2 Nodes=n4,n5,n6\n"
            "SwitchName=s3 Switches=s1,s2\n");
}

TEST(names_stay_with_what_they_name)
{
    /* s1 is the name of Slurm's for what was measured as s2 */
    expects(two,
            "SwitchName=s1 Nodes=n[4-6]\nSwitchName=b Nodes=n[1-3]\nSwitchName=top Switches=s1,b\n",
            "",
            "SwitchName=b Nodes=n1,n2,n3\nSwitchName=s1 Nodes=n4,n5,n6\n"
            "SwitchName=top Switches=b,s1\n");
}

TEST(what_was_not_measured_stays)
{
    expects(two,
            "SwitchName=a Nodes=n[1-2],m1\nSwitchName=b Nodes=n[3-6]\nSwitchName=c Nodes=m[2-3]\n"
            "SwitchName=t Switches=a,b,c\n",
            "host n3: from b to a\n",
            "SwitchName=a Nodes=n1,n2,n3,m1\nSwitchName=b Nodes=n4,n5,n6\n"
            "SwitchName=t Switches=a,b,c\nSwitchName=c Nodes=m2,m3\n");
}

TEST(hosts_keep_the_names_of_slurm)
{
    expects(two,
            "SwitchName=a Nodes=n[1-2].c,m1\nSwitchName=b Nodes=n[3-6].c\n"
            "SwitchName=t Switches=a,b\n",
            "host n3.c: from b to a\n",
            "SwitchName=a Nodes=n1.c,n2.c,n3.c,m1\nSwitchName=b Nodes=n4.c,n5.c,n6.c\n"
            "SwitchName=t Switches=a,b\n");
}

/* With two hosts of the other pod, one pod is more like the whole than like itself. */
TEST(moved_hosts_move_no_switch)
{
    expects("SwitchName=s1 Nodes=n3\nSwitchName=s2 Nodes=n4\nSwitchName=s3 Nodes=n[1,5-6]\n"
            "SwitchName=s4 Nodes=n[2,7-8]\nSwitchName=s5 Switches=s1,s2\n"
            "SwitchName=s6 Switches=s3,s4\nSwitchName=s7 Switches=s5,s6\n",
            "SwitchName=a Nodes=n[1,3]\nSwitchName=b Nodes=n[2,4]\nSwitchName=c Nodes=n[5-6]\n"
            "SwitchName=d Nodes=n[7-8]\nSwitchName=p Switches=a,b\nSwitchName=q Switches=c,d\n"
            "SwitchName=top Switches=p,q\n",
            "host n1: from a to c\nhost n2: from b to d\nhost n3: from a to s1\n"
            "host n4: from b to s2\nswitch s1: new, below s5\nswitch s2: new, below s5\n"
            "switch s5: new, below top\nswitch a: gone\nswitch b: gone\nswitch p: gone\n",
            "SwitchName=s1 Nodes=n3\nSwitchName=s2 Nodes=n4\nSwitchName=c Nodes=n1,n5,n6\n"
            "SwitchName=d Nodes=n2,n7,n8\nSwitchName=s5 Switches=s1,s2\nSwitchName=q Switches=c,d\n"
            "SwitchName=top Switches=s5,q\n");
}

TEST(flat_becomes_a_tree)
{
    expects(two, "SwitchName=all Nodes=n[1-6]\n",
            "host n1: from all to s1\nhost n2: from all to s1\nhost n3: from all to s1\n"
            "host n4: from all to s2\nhost n5: from all to s2\nhost n6: from all to s2\n"
            "switch s1: new, below all\nswitch s2: new, below all\n",
            "SwitchName=s1 Nodes=n1,n2,n3\nSwitchName=s2 Nodes=n4,n5,n6\n"
            "SwitchName=all Switches=s1,s2\n");
}

/* A host stays if it is alone on its leaf, or if no other host of its leaf was measured: its link
 * leads to the core or to the only other leaf and is longer. A host was moved if its link is as
 * long as those of others, or if Slurm has it beside others. */
TEST(a_host_alone_on_its_switch_stays)
{
    static const char core[] = "graph { s1--s3; s2--s3; n1--s1; n2--s1; n3--s1; n4--s2; n5--s2; "
                               "n6--s2; n7--s3 }";
    static const char one[] = "graph { n1--s1; n2--s1; n3--s1; n4--s1; n7--s1 }";
    static const char leaf[] = "graph { s1--s3; s2--s3; n1--s1; n2--s1; n3--s1; n4--s2; n5--s2; "
                               "n6--s2; n7--s1 }";
    static const char three[] = "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-6]\n"
                                "SwitchName=c Nodes=n7\nSwitchName=t Switches=a,b,c\n";
    static const struct {
        const char *measured, *current, *changes;
        double link_us; /* of n7; the others 0.5 */
    } table[] = {
        {core, three, "", 0.75},
        {one, "SwitchName=a Nodes=n[1-4]\nSwitchName=c Nodes=n7\nSwitchName=t Switches=a,c\n", "",
         1},
        {core, /* n8 was not measured */
         "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-6]\nSwitchName=c Nodes=n[7-8]\n"
         "SwitchName=t Switches=a,b,c\n",
         "", 0.75},
        {leaf, three, "host n7: from c to a\nswitch c: gone\n", 0.5},
        {core, "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-7]\nSwitchName=t Switches=a,b\n",
         "host n7: from b to t\n", 0.75}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *m, *c = read_conf(table[k].current), *out;
        const char *text = table[k].measured;
        struct nt_strbuf d = {0};
        assert_int_equal(nt_import_dot("t", text, strlen(text), &m, &err), 0);
        m->model->resolution_us = 0.02;
        for (size_t w = 0; w < m->model->switches; w++)
            m->model->tier[w] = strcmp(m->switch_name[w], "s3") == 0 ? 2 : 1;
        for (size_t l = 0; l < m->model->links; l++)
            m->model->link[l].latency_us =
                strcmp(nt_map_vertex_name(m, m->model->link[l].a), "n7") == 0 ? table[k].link_us
                                                                              : 0.5;
        assert_int_equal(nt_topology_keep_alone(m, c, &err), 0);
        if (nt_topology_merge(m, c, &out, &d, NULL, &err) != 0)
            fail_msg("row %zu: %s", k, err.text);
        if (strcmp(d.used > 0 ? d.text : "", table[k].changes) != 0)
            fail_msg("row %zu: %s", k, d.text);
        free(d.text);
        nt_map_destroy(m);
        nt_map_destroy(c);
        nt_map_destroy(out);
    }
}

TEST(what_is_no_tree_is_refused)
{
    struct nt_map *map = read_conf(two), *out;
    struct nt_strbuf d = {0};
    map->model->switches = 0;
    assert_int_equal(nt_topology_merge(map, NULL, &out, &d, NULL, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    map->model->switches = 3;
    nt_map_destroy(map);
}

/* A tree of up to seven switches over hosts of which some are on none; NULL: a switch is empty. */
static struct nt_map *random_tree(struct nt_rng *rng, const char *prefix, uint32_t hosts, bool gaps)
{
    uint32_t s = 1 + (uint32_t)nt_rng_below(rng, 7), up[8], at[16], below[8] = {0};
    char text[16][16];
    const char *name[16];
    struct nt_model *m;
    struct nt_map *map;
    size_t links = 0;
    for (uint32_t h = 0; h < hosts; h++) {
        snprintf(text[h], sizeof text[h], "n%u", h + 1);
        name[h] = text[h];
        at[h] = gaps && nt_rng_below(rng, 6) == 0 ? s : (uint32_t)nt_rng_below(rng, s);
        below[at[h]]++;
    }
    for (uint32_t k = s; k-- > 1;) {
        if (below[k] == 0)
            return NULL;
        up[k] = (uint32_t)nt_rng_below(rng, k);
        below[up[k]]++;
    }
    if (below[0] == 0 || nt_model_create(hosts, s, hosts + s, &m, &err) != 0)
        return NULL;
    for (uint32_t h = 0; h < hosts; h++)
        if (at[h] < s)
            m->link[links++] = (struct nt_link){.a = h, .b = hosts + at[h]};
    for (uint32_t k = s; k-- > 1;) {
        m->link[links++] = (struct nt_link){.a = hosts + k, .b = hosts + up[k]};
        m->tier[up[k]] = m->tier[up[k]] > m->tier[k] ? m->tier[up[k]] : m->tier[k] + 1;
    }
    m->links = links;
    m->family = NT_FAMILY_TREE;
    must(nt_map_create(m, name, &map, &err));
    for (uint32_t k = 0; k < s; k++)
        map->switch_name[k][0] = prefix[0]; /* "s1", or another letter */
    return map;
}

static char *conf_of(struct nt_map *map)
{
    char *text;
    size_t bytes;
    must(nt_export_topology_conf(map, &text, &bytes, &err));
    nt_map_destroy(map);
    return text;
}

/* Whatever was measured and whatever Slurm has: what is written then is what is wanted. */
TEST(nothing_changes_the_second_time)
{
    size_t merges = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        uint32_t hosts = 3 + (uint32_t)nt_rng_below(&rng, 10);
        struct nt_map *m = random_tree(&rng, "s", hosts, true), *out;
        struct nt_map *c =
            random_tree(&rng, nt_rng_below(&rng, 2) > 0 ? "s" : "c", hosts + 2, false);
        struct nt_strbuf first = {0}, second = {0};
        char *text = c != NULL ? conf_of(c) : NULL;
        if (m != NULL) {
            c = read_conf(text);
            must(nt_topology_merge(m, c, &out, &first, NULL, &err));
            nt_map_destroy(c);
            free(text);
            text = conf_of(out);
            c = read_conf(text);
            must(nt_topology_merge(m, c, &out, &second, NULL, &err));
            if (second.used > 0)
                fail_msg("seed %u: %s", (unsigned)seed, second.text);
            nt_map_destroy(out);
            nt_map_destroy(c);
            nt_map_destroy(m);
            merges++;
        }
        free(text);
        free(first.text);
        free(second.text);
    }
    assert_above(merges, 1000);
}

/* Leaves are blocks, whatever is above them, and come back as such. */
TEST(leaves_are_blocks)
{
    static const char tree[] = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\n"
                               "SwitchName=c Switches=a,b\nSwitchName=d Nodes=n4\n"
                               "SwitchName=e Switches=c,d\n";
    SCOPED(map) *map = read_conf(tree), *blocks, *again, *merged;
    struct nt_strbuf changes = {0};
    char *text;
    size_t bytes;
    assert_int_equal(nt_topology_blocks(map, &blocks, NULL), 0);
    assert_int_equal(nt_export_blocks_conf(blocks, &text, &bytes, NULL), 0);
    assert_string_equal(strchr(text, '\n'),
                        "\nBlockName=a Nodes=n1,n2\nBlockName=b Nodes=n3\nBlockName=d Nodes=n4\n");
    again = read_conf(text);
    assert_int_equal(nt_topology_merge(blocks, again, &merged, &changes, NULL, NULL), 0);
    assert_int_equal(changes.used, 0);
    free(text);
}

RUN_TESTS
