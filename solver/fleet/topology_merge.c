/* SPDX-License-Identifier: Apache-2.0 */
#include "topology_merge.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_match.h"
#include "memory.h"
#include "names.h"
#include "rooted_tree.h"
#include "stats.h"

enum { NONE = UINT32_MAX, NAME_BYTES = 256 };

struct side {
    const struct nt_map *map;
    struct nt_rooted_tree *tree;
};

struct merge {
    struct nt_arena memory;
    struct side measured, current; /* current.map NULL: there is no current topology */
    uint32_t *same;                /* by measured vertex (hosts too): the current one, or NONE */
    uint32_t *here;                /* by current host: the measured one, or NONE */
    char (*name)[NAME_BYTES];      /* measured switches, then current ones that stay */
    bool *stays;                   /* current vertices that the measured tree does not replace */
};

static int open_side(struct side *s, const struct nt_map *map, struct nt_err *err)
{
    s->map = map;
    if (nt_rooted_tree_create(map->model, &s->tree, err) != 0)
        return -1;
    if (!s->tree->tree)
        return nt_err_set(err, NT_ERR_INPUT,
                          "the network (%s) is not a tree of switches, as Slurm's topology must be",
                          nt_family_name(map->model->family));
    return 0;
}

static size_t vertices_of(const struct side *s)
{
    return s->map == NULL ? 0 : s->map->model->hosts + s->map->model->switches;
}

static bool is_placed(const struct side *s, uint32_t host)
{
    return host != NONE && s->tree->parent[host] != NT_NO_VERTEX;
}

static int match_hosts(struct merge *m, struct nt_err *err)
{
    const struct nt_map *map = m->measured.map, *current = m->current.map;
    memset(m->same, 0xff, vertices_of(&m->measured) * sizeof *m->same);
    memset(m->here, 0xff, (vertices_of(&m->current) + 1) * sizeof *m->here);
    if (current == NULL)
        return 0;
    if (nt_host_match((const char *const *)map->host_name, map->model->hosts,
                      (const char *const *)current->host_name, current->model->hosts, m->same,
                      err) != 0)
        return -1;
    for (uint32_t h = 0; h < map->model->hosts; h++)
        if (m->same[h] != NONE)
            m->here[m->same[h]] = h;
    return 0;
}

/* Returns Slurm's name of a measured host, or the measured name if Slurm does not know the host. */
static const char *name_of_host(const struct merge *m, uint32_t host)
{
    return m->same[host] != NONE ? m->current.map->host_name[m->same[host]]
                                 : m->measured.map->host_name[host];
}

/* Returns whether a leaf is "s1-hosts" below s1: in a tree of Slurm it contains the hosts of s1,
 * which has switches as well (nt_export_topology_conf). */
static bool is_hosts_leaf(const struct side *s, uint32_t leaf)
{
    uint32_t above = s->tree->parent[leaf];
    if (above == NT_NO_VERTEX)
        return false;
    const char *name = nt_map_vertex_name(s->map, leaf), *up = nt_map_vertex_name(s->map, above);
    size_t n = strlen(up);
    return strncmp(name, up, n) == 0 && strcmp(name + n, "-hosts") == 0;
}

static uint32_t switch_of(const struct side *s, uint32_t host)
{
    uint32_t leaf = s->tree->parent[host];
    uint32_t above = leaf != NT_NO_VERTEX ? s->tree->parent[leaf] : NT_NO_VERTEX;
    if (above == NT_NO_VERTEX)
        return leaf;
    return is_hosts_leaf(s, leaf) ? above : leaf;
}

/* ---- which switch is which ---- */

/* Iterates over the current switches above the measured switch's k-th host, starting from v
 * NONE. */
static uint32_t next_above(const struct merge *m, uint32_t k, uint32_t v)
{
    uint32_t host = m->same[m->measured.tree->host[k]], up = NT_NO_VERTEX;
    if (v != NONE)
        up = m->current.tree->parent[v];
    else if (host != NONE)
        up = switch_of(&m->current, host);
    return up != NT_NO_VERTEX ? up : NONE;
}

/* Counts the placed hosts below each current switch. */
static void count_placed(const struct merge *m, uint32_t *there)
{
    const struct side *c = &m->current;
    for (uint32_t h = 0; c->map != NULL && h < c->map->model->hosts; h++)
        if (is_placed(c, h) && is_placed(&m->measured, m->here[h]))
            for (uint32_t v = switch_of(c, h); v != NT_NO_VERTEX; v = c->tree->parent[v])
                there[v]++;
}

/* A measured and a current switch that may be the same. share: number of hosts below both divided
 * by the number below at least one (Jaccard index). */
struct candidate {
    double share;
    uint32_t measured, current;
    uint32_t rank; /* children before parents, on both sides */
};

struct candidates {
    size_t count, room;
    struct candidate *at;
};

static int by_share(const void *x, const void *y)
{
    const struct candidate *p = x, *q = y;
    return NT_ORDER(q->share, p->share, NT_ORDER(p->rank, q->rank, 0));
}

/* Lists the current switches that have more than half of a measured switch's hosts and vice versa.
 * Of the hosts of a current switch, only the placed ones count: hosts that were not measured do not
 * make it a different switch. count: zeros before and after. */
static int list_candidates(struct merge *m, uint32_t v, const uint32_t *placed, uint32_t *count,
                           struct candidates *found, struct nt_err *err)
{
    const struct nt_rooted_tree *t = m->measured.tree;
    uint32_t here = nt_rooted_tree_count(t, v);
    for (uint32_t k = t->head[v]; k < t->tail[v]; k++)
        for (uint32_t w = NONE; (w = next_above(m, k, w)) != NONE;)
            count[w]++;
    for (uint32_t k = t->head[v]; k < t->tail[v]; k++)
        for (uint32_t w = NONE; (w = next_above(m, k, w)) != NONE;) {
            uint32_t both = count[w], there = placed[w];
            count[w] = 0;
            if (both * 2 <= here || both * 2 <= there)
                continue;
            found->at = nt_arena_grow(&m->memory, found->at, &found->room, found->count + 1,
                                      sizeof *found->at);
            if (found->at == NULL)
                return nt_arena_check(&m->memory, err);
            found->at[found->count] =
                (struct candidate){.share = (double)both / (here + there - both),
                                   .measured = v,
                                   .current = w,
                                   .rank = (uint32_t)found->count};
            found->count++;
        }
    return 0;
}

/* Matches the most similar pair first. If hosts have moved, a pod can be more similar to the whole
 * tree than to its former state, but the whole tree is more similar to itself. */
static int match_switches(struct merge *m, struct nt_err *err)
{
    const struct nt_model *model = m->measured.map->model;
    uint32_t *count = nt_arena_array(&m->memory, vertices_of(&m->current) + 1, sizeof *count);
    bool *taken = nt_arena_array(&m->memory, vertices_of(&m->current) + 1, sizeof *taken);
    uint32_t *placed = nt_arena_array(&m->memory, vertices_of(&m->current) + 1, sizeof *placed);
    struct candidates found = {0};
    if (nt_arena_check(&m->memory, err) != 0)
        return -1;
    count_placed(m, placed);
    for (size_t k = m->measured.tree->reached; m->current.map != NULL && k-- > 0;) {
        uint32_t v = m->measured.tree->order[k];
        if (v >= model->hosts && list_candidates(m, v, placed, count, &found, err) != 0)
            return -1;
    }
    if (found.count > 0)
        qsort(found.at, found.count, sizeof *found.at, by_share);
    for (size_t k = 0; k < found.count; k++) {
        const struct candidate *x = &found.at[k];
        if (m->same[x->measured] != NONE || taken[x->current])
            continue;
        m->same[x->measured] = x->current;
        taken[x->current] = true;
    }
    return 0;
}

/* Returns whether a switch is a leaf or block without nodes, kept for future nodes. */
static bool is_empty(const struct side *s, uint32_t v)
{
    return v >= s->map->model->hosts && s->tree->first[v] == s->tree->first[v + 1];
}

/* Marks what stays: hosts that were not placed, empty leaves, and the switches above them below the
 * first measured switch. */
static int find_staying(struct merge *m, struct nt_err *err)
{
    const struct side *c = &m->current;
    bool *measured = nt_arena_array(&m->memory, vertices_of(c) + 1, sizeof *measured);
    if (measured == NULL)
        return nt_arena_check(&m->memory, err);
    for (size_t v = m->measured.map->model->hosts; v < vertices_of(&m->measured); v++)
        if (m->same[v] != NONE)
            measured[m->same[v]] = true;
    for (uint32_t v = 0; v < vertices_of(c); v++) {
        bool host = v < c->map->model->hosts;
        if (host ? is_placed(&m->measured, m->here[v]) || !is_placed(c, v) : !is_empty(c, v))
            continue;
        m->stays[v] = true;
        for (uint32_t up = host ? switch_of(c, v) : c->tree->parent[v];
             up != NT_NO_VERTEX && !m->stays[up] && !measured[up]; up = c->tree->parent[up])
            m->stays[up] = true;
    }
    return 0;
}

static bool name_is_free(const struct nt_names *used, const char *name)
{
    return nt_names_find(used, name, strlen(name)) == NT_NAMES_NONE;
}

/* Names the measured switches. A switch that Slurm knows keeps its name; the others do not use
 * Slurm's names. */
static int name_switches(struct merge *m, struct nt_err *err)
{
    const struct nt_map *map = m->measured.map;
    struct nt_names used = {0};
    uint32_t index, next = 1;
    int rc = 0;
    for (size_t s = 0; rc >= 0 && m->current.map != NULL && s < m->current.map->model->switches;
         s++)
        rc = nt_names_add(&used, m->current.map->switch_name[s], &index, err);
    for (size_t s = 0; rc >= 0 && s < map->model->switches; s++) {
        uint32_t same = m->same[map->model->hosts + s];
        char *name = m->name[s];
        if (same != NONE) {
            snprintf(name, NAME_BYTES, "%s", nt_map_vertex_name(m->current.map, same));
            continue;
        }
        snprintf(name, NAME_BYTES, "%s", map->switch_name[s]);
        while (!name_is_free(&used, name))
            snprintf(name, NAME_BYTES, "s%u", next++);
        rc = nt_names_add_copy(&used, name, strlen(name), &index, err);
    }
    nt_names_fini(&used);
    return rc < 0 ? -1 : 0;
}

/* ---- the tree ---- */

struct building {
    struct nt_model *model;
    const char **host_name;
    size_t hosts, links;
    uint32_t *of_current; /* by current vertex that stays: the new vertex, or NONE */
};

static void add_link(struct building *b, uint32_t low, uint32_t high)
{
    struct nt_link *l = &b->model->link[b->links++];
    l->a = low;
    l->b = high;
}

/* Returns the new vertex of a current switch: its own, or the vertex of the measured switch that is
 * the same. */
static uint32_t place_of(const struct merge *m, const struct building *b, uint32_t current)
{
    if (b->of_current[current] != NONE)
        return b->of_current[current];
    size_t hosts = m->measured.map->model->hosts;
    for (size_t v = hosts; v < vertices_of(&m->measured); v++)
        if (m->same[v] == current)
            return (uint32_t)(b->hosts + v - hosts);
    return NONE;
}

static void add_measured(const struct merge *m, struct building *b, const uint32_t *of_host)
{
    const struct nt_rooted_tree *t = m->measured.tree;
    size_t hosts = m->measured.map->model->hosts;
    for (size_t k = 0; k < t->reached; k++) {
        uint32_t v = t->order[k], up = t->parent[v];
        if (up == NT_NO_VERTEX)
            continue;
        uint32_t low = v < hosts ? of_host[v] : (uint32_t)(b->hosts + v - hosts);
        add_link(b, low, (uint32_t)(b->hosts + up - hosts));
    }
}

/* Links each part that stays to its former parent, or to the top of the measured tree if the parent
 * is gone. */
static void add_staying(const struct merge *m, struct building *b)
{
    const struct side *c = &m->current;
    uint32_t top = (uint32_t)(b->hosts + m->measured.tree->root - m->measured.map->model->hosts);
    for (size_t v = 0; v < vertices_of(c); v++) {
        if (b->of_current[v] == NONE)
            continue;
        bool host = v < c->map->model->hosts;
        uint32_t up = host ? switch_of(c, (uint32_t)v) : c->tree->parent[v];
        uint32_t place = up != NT_NO_VERTEX ? place_of(m, b, up) : NONE;
        add_link(b, b->of_current[v], place != NONE ? place : top);
    }
}

static int build(struct merge *m, struct nt_map **out, struct nt_err *err)
{
    const struct nt_model *measured = m->measured.map->model;
    struct building b = {0};
    size_t switches = measured->switches, extra = 0;
    uint32_t *of_host = nt_arena_array(&m->memory, measured->hosts + 1, sizeof *of_host);
    b.of_current = nt_arena_array(&m->memory, vertices_of(&m->current) + 1, sizeof *b.of_current);
    b.host_name = nt_arena_array(&m->memory, measured->hosts + vertices_of(&m->current) + 1,
                                 sizeof *b.host_name);
    if (nt_arena_check(&m->memory, err) != 0)
        return -1;
    for (uint32_t h = 0; h < measured->hosts; h++)
        if (is_placed(&m->measured, h)) {
            of_host[h] = (uint32_t)b.hosts;
            b.host_name[b.hosts++] = name_of_host(m, h);
        }
    for (size_t v = 0; v < vertices_of(&m->current); v++) {
        bool host = v < m->current.map->model->hosts;
        b.of_current[v] = NONE;
        if (m->stays[v] && host) {
            b.of_current[v] = (uint32_t)b.hosts;
            b.host_name[b.hosts++] = m->current.map->host_name[v];
        }
        extra += m->stays[v];
    }
    for (size_t v = 0; v < vertices_of(&m->current); v++)
        if (m->stays[v] && v >= m->current.map->model->hosts) {
            snprintf(m->name[switches], NAME_BYTES, "%s",
                     nt_map_vertex_name(m->current.map, (uint32_t)v));
            b.of_current[v] = (uint32_t)(b.hosts + switches++);
        }
    if (nt_model_create(b.hosts, switches, m->measured.tree->reached - 1 + extra, &b.model, err) !=
        0)
        return -1;
    add_measured(m, &b, of_host);
    add_staying(m, &b);
    for (size_t s = 0; s < measured->switches; s++)
        b.model->tier[s] = measured->tier[s];
    b.model->family = NT_FAMILY_TREE;
    if (nt_map_create(b.model, b.host_name, out, err) != 0) {
        nt_model_destroy(b.model);
        return -1;
    }
    int rc = 0;
    for (size_t s = 0; rc == 0 && s < switches; s++)
        rc = nt_map_set_text(&(*out)->switch_name[s], m->name[s], err);
    return rc;
}

/* ---- what changes ---- */

enum change { HOST_NEW, HOST_MOVED, SWITCH_NEW, SWITCH_MOVED, SWITCH_GONE };

struct outlet {
    struct nt_strbuf *text;
    struct nt_json_writer *json; /* may be NULL */
};

/* Writes a change. from, to: switches; NULL: none. */
static void put_change(const struct outlet *o, enum change kind, const char *name, const char *from,
                       const char *to)
{
    static const struct {
        const char *kind, *part, *before_from, *before_to;
    } words[] = {[HOST_NEW] = {"host-new", "host", ": on ", ""},
                 [HOST_MOVED] = {"host-moved", "host", ": from ", " to "},
                 [SWITCH_NEW] = {"switch-new", "switch", ": new", ", below "},
                 [SWITCH_MOVED] = {"switch-moved", "switch", ": now below ", ""},
                 [SWITCH_GONE] = {"switch-gone", "switch", ": gone", ""}};
    nt_strbuf_print(o->text, "%s %s%s%s%s%s\n", words[kind].part, name, words[kind].before_from,
                    from != NULL ? from : "", to != NULL ? words[kind].before_to : "",
                    to != NULL ? to : "");
    if (o->json == NULL)
        return;
    nt_json_begin(o->json, NULL, '{', false);
    nt_json_put_text(o->json, "kind", words[kind].kind);
    nt_json_put_text(o->json, "name", name);
    if (from != NULL)
        nt_json_put_text(o->json, "from", from);
    if (to != NULL)
        nt_json_put_text(o->json, "to", to);
    nt_json_end(o->json, '}');
}

static void put_changes(const struct merge *m, const struct outlet *o)
{
    const struct nt_map *map = m->measured.map;
    for (uint32_t h = 0; h < map->model->hosts; h++) {
        if (!is_placed(&m->measured, h))
            continue;
        uint32_t leaf = m->measured.tree->parent[h], was = m->same[h];
        const char *to = m->name[leaf - map->model->hosts];
        was = is_placed(&m->current, was) ? switch_of(&m->current, was) : NONE;
        const char *from = was != NONE ? nt_map_vertex_name(m->current.map, was) : NULL;
        if (from == NULL || m->same[leaf] != was)
            put_change(o, from == NULL ? HOST_NEW : HOST_MOVED, name_of_host(m, h), from, to);
    }
    for (size_t s = 0; s < map->model->switches; s++) {
        uint32_t v = (uint32_t)(map->model->hosts + s), up = m->measured.tree->parent[v];
        const char *above = up != NT_NO_VERTEX ? m->name[up - map->model->hosts] : NULL;
        uint32_t was = m->same[v], was_up = was != NONE ? m->current.tree->parent[was] : NONE;
        if (was == NONE)
            put_change(o, SWITCH_NEW, m->name[s], NULL, above);
        else if (above != NULL && m->same[up] != was_up)
            put_change(o, SWITCH_MOVED, m->name[s], NULL, above);
    }
    for (size_t v = 0; v < vertices_of(&m->current); v++) {
        bool gone = v >= m->current.map->model->hosts && !m->stays[v] &&
                    !is_hosts_leaf(&m->current, (uint32_t)v);
        for (size_t w = map->model->hosts; gone && w < vertices_of(&m->measured); w++)
            gone = m->same[w] != v;
        if (gone)
            put_change(o, SWITCH_GONE, nt_map_vertex_name(m->current.map, (uint32_t)v), NULL, NULL);
    }
}

int nt_topology_merge(const struct nt_map *measured, const struct nt_map *current,
                      struct nt_map **out, struct nt_strbuf *changes, struct nt_json_writer *json,
                      struct nt_err *err)
{
    struct merge m = {0};
    size_t vertices = measured->model->hosts + measured->model->switches;
    size_t old = current != NULL ? current->model->hosts + current->model->switches : 0;
    *out = NULL;
    if (measured->model->switches == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "the network (%s) is not a tree of switches, as Slurm's topology must be",
                          nt_family_name(measured->model->family));
    m.same = nt_arena_array(&m.memory, vertices, sizeof *m.same);
    m.here = nt_arena_array(&m.memory, old + 1, sizeof *m.here);
    m.name = nt_arena_array(&m.memory, vertices + old, sizeof *m.name);
    m.stays = nt_arena_array(&m.memory, old + 1, sizeof *m.stays);
    bool done = open_side(&m.measured, measured, err) == 0 &&
                (current == NULL || current->model->switches == 0 ||
                 open_side(&m.current, current, err) == 0) &&
                nt_arena_check(&m.memory, err) == 0 && match_hosts(&m, err) == 0 &&
                match_switches(&m, err) == 0 && find_staying(&m, err) == 0 &&
                name_switches(&m, err) == 0 && build(&m, out, err) == 0;
    if (done) {
        put_changes(&m, &(struct outlet){changes, json});
    } else {
        nt_map_destroy(*out);
        *out = NULL;
    }
    nt_rooted_tree_destroy(m.measured.tree);
    nt_rooted_tree_destroy(m.current.tree);
    nt_arena_fini(&m.memory);
    return done ? 0 : -1;
}

/* ---- hosts alone on their switch ---- */

/* Counts the hosts with a link on each current switch. Hosts that were not measured do not count:
 * the measured tree has a switch only if two of its hosts were measured. */
static void count_hosts(const struct nt_model *m, const uint32_t *same, const struct side *current,
                        uint32_t *hosts)
{
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a;
        if (a < m->hosts && is_placed(current, same[a]))
            hosts[current->tree->parent[same[a]]]++;
    }
}

/* Returns the longest link of a host that is on the same switch as others: the median plus
 * the resolution, which is less than a link between switches. */
static double longest_own(const struct nt_model *m, float *scratch)
{
    size_t n = 0;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a < m->hosts)
            scratch[n++] = (float)m->link[k].latency_us;
    return n > 0 ? (double)nt_stats_median(scratch, n) + m->resolution_us : NAN;
}

static int drop_alone(struct nt_model *m, const uint32_t *same, const struct side *current,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t vertices = m->hosts + m->switches, kept = 0;
    uint32_t *hosts = nt_arena_array(&memory, vertices_of(current) + 1, sizeof *hosts);
    uint32_t *others = nt_arena_array(&memory, vertices + 1, sizeof *others);
    float *scratch = nt_arena_array(&memory, m->links + 1, sizeof *scratch);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    count_hosts(m, same, current, hosts);
    double longest = longest_own(m, scratch);
    for (size_t k = 0; k < m->links; k++)
        others[m->link[k].b] += m->link[k].a >= m->hosts || m->link[k].latency_us <= longest;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        bool on = l->a < m->hosts && is_placed(current, same[l->a]);
        uint32_t leaf = on ? current->tree->parent[same[l->a]] : NONE;
        if (!on || hosts[leaf] > 1 || is_hosts_leaf(current, leaf) ||
            !(l->latency_us > longest && others[l->b] > 0))
            m->link[kept++] = *l;
    }
    m->links = kept;
    return 0;
}

int nt_topology_keep_alone(struct nt_map *measured, const struct nt_map *current,
                           struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct side side = {0};
    struct nt_model *m = measured->model;
    if (current == NULL || current->model->switches == 0)
        return 0;
    uint32_t *same = nt_arena_array(&memory, m->hosts + 1, sizeof *same);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memset(same, 0xff, m->hosts * sizeof *same);
    int rc =
        nt_host_match((const char *const *)measured->host_name, m->hosts,
                      (const char *const *)current->host_name, current->model->hosts, same, err);
    if (rc == 0)
        rc = open_side(&side, current, err);
    if (rc == 0)
        rc = drop_alone(m, same, &side, err);
    nt_rooted_tree_destroy(side.tree);
    return rc;
}

/* ---- blocks ---- */

/* Numbers the blocks. on[host]: its switch, or NONE; block[switch]: its number, or NONE. */
static size_t number_blocks(const struct nt_model *m, uint32_t *on, uint32_t *block, size_t *links)
{
    size_t blocks = 0;
    memset(on, 0xff, (m->hosts + 1) * sizeof *on);
    memset(block, 0xff, (m->switches + 1) * sizeof *block);
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        uint32_t host = a < b ? a : b, sw = a < b ? b : a;
        if (host >= m->hosts || sw < m->hosts || on[host] != NONE)
            continue;
        on[host] = sw - (uint32_t)m->hosts;
        block[on[host]] = 0;
        ++*links;
    }
    for (size_t s = 0; s < m->switches; s++)
        if (block[s] != NONE)
            block[s] = (uint32_t)blocks++;
    return blocks;
}

int nt_topology_blocks(const struct nt_map *tree, struct nt_map **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_model *m = tree->model;
    uint32_t *on = nt_arena_array(&memory, m->hosts + 1, sizeof *on);
    uint32_t *block = nt_arena_array(&memory, m->switches + 1, sizeof *block);
    struct nt_model *flat;
    size_t links = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    size_t blocks = number_blocks(m, on, block, &links);
    if (blocks == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no switch has hosts");
    if (nt_model_create(m->hosts, blocks + 1, links + blocks, &flat, err) != 0)
        return -1;
    uint32_t top = (uint32_t)(m->hosts + blocks);
    struct nt_link *link = flat->link;
    for (uint32_t h = 0; h < m->hosts; h++)
        if (on[h] != NONE) {
            link->a = h;
            link++->b = (uint32_t)m->hosts + block[on[h]];
        }
    for (uint32_t b = 0; b < blocks; b++) {
        link->a = (uint32_t)m->hosts + b;
        link++->b = top;
    }
    flat->tier[blocks] = 2;
    flat->family = NT_FAMILY_TREE;
    if (nt_map_create(flat, (const char *const *)tree->host_name, out, err) != 0) {
        nt_model_destroy(flat);
        return -1;
    }
    int rc = nt_map_set_text(&(*out)->switch_name[blocks], NT_TOPOLOGY_BLOCKS_TOP, err);
    for (size_t s = 0; rc == 0 && s < m->switches; s++)
        if (block[s] != NONE)
            rc = nt_map_set_text(&(*out)->switch_name[block[s]], tree->switch_name[s], err);
    if (rc != 0)
        nt_map_destroy(*out);
    return rc;
}
