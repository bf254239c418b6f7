/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_sync_nodes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "names.h"
#include "rooted_tree.h"
#include "slurm_control.h"
#include "strbuf.h"

enum { NAMES_MAX = 512 }; /* of one command */

struct sync {
    const char *topology;
    const struct nt_map *current, *merged;
    struct nt_rooted_tree *is, *was;
    struct nt_names hosts, switches; /* of current */
    struct nt_names shown;           /* nodes that scontrol shows, */
    const char **line;               /* and the line of each, */
    char *nodes;                     /* in what it shows */
    bool tell;
    struct nt_json_writer *json; /* may be NULL */
};

static uint32_t find(const struct nt_names *names, const char *name)
{
    return nt_names_find(names, name, strlen(name));
}

/* A switch with switches has its own hosts on a leaf of its own, as in the exported files. */
static void put_switch_name(struct nt_strbuf *d, const struct sync *s, uint32_t v, bool hosts)
{
    const struct nt_rooted_tree *t = s->is;
    uint32_t last = t->first[v + 1] > t->first[v] ? t->child[t->first[v + 1] - 1] : 0;
    nt_strbuf_puts(d, nt_map_vertex_name(s->merged, v));
    if (hosts && last >= s->merged->model->hosts)
        nt_strbuf_puts(d, "-hosts");
}

static char *switch_name(const struct sync *s, uint32_t v, bool hosts, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    char *text;
    size_t bytes;
    put_switch_name(&d, s, v, hosts);
    nt_strbuf_puts(&d, "");
    return nt_strbuf_finish(&d, &text, &bytes, err) == 0 ? text : NULL;
}

/* "TOPOLOGY:SWITCH", or of a switch that is new ":ABOVE:...:SWITCH" from one that Slurm has. */
static int put_place(struct nt_strbuf *d, const struct sync *s, uint32_t v, struct nt_err *err)
{
    uint32_t path[64];
    size_t n = 0;
    bool known = false;
    char *leaf = switch_name(s, v, true, err);
    if (leaf == NULL)
        return -1;
    bool own = strcmp(leaf, nt_map_vertex_name(s->merged, v)) != 0;
    known = find(&s->switches, leaf) != NT_NAMES_NONE;
    uint32_t up = own ? v : s->is->parent[v];
    for (; !known && up != NT_NO_VERTEX && n < 64; up = s->is->parent[up]) {
        path[n++] = up;
        known = find(&s->switches, nt_map_vertex_name(s->merged, up)) != NT_NAMES_NONE;
    }
    if (!known) {
        nt_err_set(err, NT_ERR_INPUT,
                   "switch %.64s: expected one above it that Slurm has, found none: write its file "
                   "first (--format topology.conf or topology.yaml)",
                   leaf);
        free(leaf);
        return -1;
    }
    nt_strbuf_puts(d, s->topology);
    while (n > 0) {
        nt_strbuf_puts(d, ":");
        put_switch_name(d, s, path[--n], false);
    }
    nt_strbuf_puts(d, ":");
    nt_strbuf_puts(d, leaf);
    free(leaf);
    return 0;
}

static int index_nodes(struct sync *s, struct nt_arena *memory, struct nt_err *err)
{
    static const char key[] = "NodeName=";
    size_t lines = 1;
    for (const char *at = s->nodes; *at != '\0'; at++)
        lines += *at == '\n';
    s->line = nt_arena_array(memory, lines, sizeof *s->line);
    int rc = nt_arena_check(memory, err);
    for (const char *at = s->nodes; rc >= 0 && *at != '\0';) {
        size_t n = strcspn(at, "\n"), name = strcspn(at, " \n");
        uint32_t index;
        if (name > sizeof key - 1 && memcmp(at, key, sizeof key - 1) == 0) {
            rc = nt_names_add_copy(&s->shown, at + sizeof key - 1, name - (sizeof key - 1), &index,
                                   err);
            if (rc >= 0)
                s->line[index] = at;
        }
        at += n + (at[n] == '\n');
    }
    return rc < 0 ? -1 : 0;
}

/* Where Slurm has the host in other topologies, "NAME:UNIT,", as scontrol shows it. */
static void put_others(struct nt_strbuf *d, const struct sync *s, const char *host)
{
    static const char key[] = " Topology=";
    uint32_t node = find(&s->shown, host);
    size_t own = strlen(s->topology);
    if (node == NT_NAMES_NONE)
        return;
    const char *line = s->line[node], *end = line + strcspn(line, "\n");
    const char *at = memmem(line, (size_t)(end - line), key, sizeof key - 1);
    for (at = at != NULL ? at + sizeof key - 1 : end; at < end && *at != ' ';) {
        size_t one = strcspn(at, ", \n");
        if (one <= own || memcmp(at, s->topology, own) != 0 || at[own] != ':') {
            nt_strbuf_put(d, at, one);
            nt_strbuf_puts(d, ",");
        }
        at += one + (at[one] == ',');
    }
}

static bool is_there(const struct sync *s, uint32_t host, const char *leaf)
{
    uint32_t was = s->current != NULL ? find(&s->hosts, s->merged->host_name[host]) : NT_NAMES_NONE;
    uint32_t on = was != NT_NAMES_NONE ? s->was->parent[was] : NT_NO_VERTEX;
    return on != NT_NO_VERTEX && strcmp(nt_map_vertex_name(s->current, on), leaf) == 0;
}

static int tell(const struct sync *s, const char *names, const char *place, struct nt_err *err)
{
    struct nt_strbuf node = {0}, topology = {0};
    char *what, *where;
    size_t bytes;
    nt_strbuf_print(&node, "NodeName=%s", names);
    nt_strbuf_print(&topology, "Topology=%s", place);
    if (s->json != NULL) {
        nt_json_begin(s->json, NULL, '{', false);
        nt_json_put_text(s->json, "NodeName", names);
        nt_json_put_text(s->json, "Topology", place);
        nt_json_end(s->json, '}');
    } else {
        printf("scontrol update NodeName=%s Topology=%s\n", names, place);
    }
    if (nt_strbuf_finish(&node, &what, &bytes, err) != 0) {
        free(topology.text);
        return -1;
    }
    if (nt_strbuf_finish(&topology, &where, &bytes, err) != 0) {
        free(what);
        return -1;
    }
    const char *const arguments[] = {"update", what, where, NULL};
    fflush(stdout);
    int rc = s->tell ? nt_slurm_tell(arguments, err) : 0;
    free(what);
    free(where);
    return rc;
}

/* One command so far: nodes that go to the same place. */
struct command {
    char *place;
    struct nt_strbuf names;
    size_t count;
};

static int flush(const struct sync *s, struct command *c, bool run, struct nt_err *err)
{
    int rc = c->names.failed ? nt_err_memory(err) : 0;
    if (rc == 0 && c->count > 0 && run)
        rc = tell(s, c->names.text, c->place, err);
    free(c->place);
    free(c->names.text);
    *c = (struct command){0};
    return rc;
}

static int add_node(const struct sync *s, struct command *c, uint32_t host, uint32_t v, bool run,
                    struct nt_err *err)
{
    struct nt_strbuf d = {0};
    char *place;
    size_t bytes;
    put_others(&d, s, s->merged->host_name[host]);
    if (put_place(&d, s, v, err) != 0) {
        free(d.text);
        return -1;
    }
    if (nt_strbuf_finish(&d, &place, &bytes, err) != 0)
        return -1;
    if (c->count > 0 && (strcmp(c->place, place) != 0 || c->count == NAMES_MAX) &&
        flush(s, c, run, err) != 0) {
        free(place);
        return -1;
    }
    free(c->place);
    c->place = place;
    nt_strbuf_print(&c->names, "%s%s", c->count++ > 0 ? "," : "", s->merged->host_name[host]);
    return 0;
}

/* run: else only whether all can be said. */
static int each_switch(const struct sync *s, bool run, struct nt_err *err)
{
    const struct nt_rooted_tree *t = s->is;
    struct command c = {0};
    int rc = 0;
    for (uint32_t v = (uint32_t)t->hosts; rc == 0 && v < t->vertices; v++) {
        char *leaf = switch_name(s, v, true, err);
        rc = leaf == NULL ? -1 : 0;
        for (uint32_t k = t->first[v]; rc == 0 && k < t->first[v + 1]; k++)
            if (t->child[k] < t->hosts && !is_there(s, t->child[k], leaf))
                rc = add_node(s, &c, t->child[k], v, run, err);
        free(leaf);
    }
    struct nt_err unused;
    return flush(s, &c, run && rc == 0, rc == 0 ? err : &unused) != 0 ? -1 : rc;
}

static int list_names(struct sync *s, struct nt_err *err)
{
    uint32_t index;
    for (size_t k = 0; s->current != NULL && k < s->current->model->hosts; k++)
        if (nt_names_add(&s->hosts, s->current->host_name[k], &index, err) < 0)
            return -1;
    for (size_t k = 0; s->current != NULL && k < s->current->model->switches; k++)
        if (nt_names_add(&s->switches, s->current->switch_name[k], &index, err) < 0)
            return -1;
    return 0;
}

int nt_fleet_sync_nodes(const char *topology, const struct nt_map *current,
                        const struct nt_map *merged, bool tell_slurm, struct nt_json_writer *json,
                        struct nt_err *err)
{
    static const char *const ask[] = {"-o", "show", "node", NULL};
    struct sync s = {.topology = topology,
                     .current = current,
                     .merged = merged,
                     .tell = tell_slurm,
                     .json = json};
    NT_SCOPED struct nt_arena memory = {0};
    int rc = nt_rooted_tree_create(merged->model, &s.is, err);
    if (rc == 0 && current != NULL)
        rc = nt_rooted_tree_create(current->model, &s.was, err);
    if (rc == 0)
        rc = list_names(&s, err);
    if (rc == 0)
        rc = nt_slurm_ask(ask, &s.nodes, err);
    if (rc == 0)
        rc = index_nodes(&s, &memory, err);
    if (rc == 0)
        rc = each_switch(&s, false, err);
    if (rc == 0)
        rc = each_switch(&s, true, err);
    free(s.nodes);
    nt_names_fini(&s.shown);
    nt_names_fini(&s.hosts);
    nt_names_fini(&s.switches);
    nt_rooted_tree_destroy(s.is);
    nt_rooted_tree_destroy(s.was);
    return rc;
}
