/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "memory.h"
#include "strbuf.h"

/* What Slurm's topology/tree has of a switch: its hosts or the switches below it. */
struct branch {
    uint32_t above; /* vertex, or NONE at the top */
    size_t hosts, switches;
};

#define NONE UINT32_MAX

static int refuse_network(const struct nt_map *map, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_INPUT,
                      "the map is no tree of switches (%s): Slurm's topology/tree cannot say it",
                      nt_family_name(map->model->family));
}

/* The root: the highest tier, the first of them. */
static uint32_t top_of(const struct nt_model *m)
{
    uint32_t top = (uint32_t)m->hosts;
    for (uint32_t s = 0; s < m->switches; s++)
        if (m->tier[s] > m->tier[top - m->hosts])
            top = (uint32_t)m->hosts + s;
    return top;
}

/* Of each vertex the one above it, level by level from the top. A link between two that already
 * have a parent closes a ring, a host with something below it is no leaf: no tree of switches. */
static int find_above(const struct nt_map *map, struct branch *at, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    if (m->switches == 0)
        return refuse_network(map, err);
    for (size_t v = 0; v < m->hosts + m->switches; v++)
        at[v] = (struct branch){.above = NONE};
    uint32_t top = top_of(m);
    at[top].above = top;
    size_t hung = 0;
    for (bool more = true; more;) {
        more = false;
        for (size_t k = 0; k < m->links; k++) {
            uint32_t a = m->link[k].a, b = m->link[k].b;
            uint32_t high = at[a].above != NONE ? a : b, low = high == a ? b : a;
            if (at[high].above == NONE || at[low].above != NONE)
                continue;
            if (high < m->hosts)
                return refuse_network(map, err);
            at[low].above = high;
            at[high].hosts += low < m->hosts;
            at[high].switches += low >= m->hosts;
            hung++;
            more = true;
        }
    }
    at[top].above = NONE;
    return hung == m->links ? 0 : refuse_network(map, err);
}

/* Hosts, or switches, right below a switch, with commas. */
static void put_below(struct nt_strbuf *d, const struct nt_map *map, const struct branch *at,
                      uint32_t above, bool hosts)
{
    const struct nt_model *m = map->model;
    uint32_t first = hosts ? 0 : (uint32_t)m->hosts;
    uint32_t last = (uint32_t)(hosts ? m->hosts : m->hosts + m->switches);
    bool comma = false;
    for (uint32_t v = first; v < last; v++) {
        if (at[v].above != above)
            continue;
        nt_strbuf_print(d, "%s%s", comma ? "," : "", nt_map_vertex_name(map, v));
        comma = true;
    }
}

struct words {
    const char *head, *name, *hosts, *switches, *end;
};

static int put_tree(const struct nt_map *map, const struct words *w, char **text, size_t *bytes,
                    struct nt_err *err)
{
    const struct nt_model *m = map->model;
    NT_SCOPED struct nt_arena memory = {0};
    struct branch *at = nt_arena_array(&memory, m->hosts + m->switches + 1, sizeof *at);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (find_above(map, at, err) != 0)
        return -1;
    struct nt_strbuf d = {0};
    nt_strbuf_puts(&d, w->head);
    for (uint32_t s = (uint32_t)m->hosts; s < m->hosts + m->switches; s++) {
        bool both = at[s].hosts > 0 && at[s].switches > 0;
        if (at[s].hosts > 0) { /* a leaf, or the leaf that holds a higher switch's own hosts */
            nt_strbuf_print(&d, "%s%s%s%s", w->name, nt_map_vertex_name(map, s),
                            both ? "-hosts" : "", w->hosts);
            put_below(&d, map, at, s, true);
            nt_strbuf_puts(&d, w->end);
        }
        if (at[s].switches > 0) {
            nt_strbuf_print(&d, "%s%s%s", w->name, nt_map_vertex_name(map, s), w->switches);
            put_below(&d, map, at, s, false);
            nt_strbuf_print(&d, "%s%s%s", both ? "," : "", both ? nt_map_vertex_name(map, s) : "",
                            both ? "-hosts" : "");
            nt_strbuf_puts(&d, w->end);
        }
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_export_topology_conf(const struct nt_map *map, char **text, size_t *bytes,
                            struct nt_err *err)
{
    static const struct words words = {"# topology/tree, found by nettopo\n",
                                       "SwitchName=", " Nodes=", " Switches=", "\n"};
    return put_tree(map, &words, text, bytes, err);
}

int nt_export_topology_yaml(const struct nt_map *map, char **text, size_t *bytes,
                            struct nt_err *err)
{
    static const struct words words = {
        "# topology/tree, found by nettopo\n- topology: nettopo\n  cluster_default: true\n"
        "  tree:\n    switches:\n",
        "      - switch: ", "\n        nodes: ", "\n        children: ", "\n"};
    return put_tree(map, &words, text, bytes, err);
}

static int put_blocks(const struct nt_map *map, const struct words *w, char **text, size_t *bytes,
                      struct nt_err *err)
{
    const struct nt_model *m = map->model;
    NT_SCOPED struct nt_arena memory = {0};
    struct branch *at = nt_arena_array(&memory, m->hosts + m->switches + 1, sizeof *at);
    bool any = false;
    if (nt_arena_check(&memory, err) != 0 || find_above(map, at, err) != 0)
        return -1;
    struct nt_strbuf d = {0};
    nt_strbuf_puts(&d, w->head);
    for (uint32_t s = (uint32_t)m->hosts; s < m->hosts + m->switches; s++) {
        if (at[s].hosts == 0)
            continue;
        any = true;
        nt_strbuf_print(&d, "%s%s%s", w->name, nt_map_vertex_name(map, s), w->hosts);
        put_below(&d, map, at, s, true);
        nt_strbuf_puts(&d, w->end);
    }
    int rc = nt_strbuf_finish(&d, text, bytes, err);
    if (rc == 0 && !any) {
        free(*text);
        rc = nt_err_set(err, NT_ERR_INPUT, "no switch has hosts");
    }
    return rc;
}

int nt_export_blocks_conf(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    static const struct words words = {"# topology/block, found by nettopo\n",
                                       "BlockName=", " Nodes=", "", "\n"};
    return put_blocks(map, &words, text, bytes, err);
}

int nt_export_blocks_yaml(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    static const struct words words = {
        "# topology/block, found by nettopo\n- topology: nettopo\n  cluster_default: true\n"
        "  block:\n    blocks:\n",
        "      - block: ", "\n        nodes: ", "", "\n"};
    return put_blocks(map, &words, text, bytes, err);
}
