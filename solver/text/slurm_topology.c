/* SPDX-License-Identifier: Apache-2.0 */
#include "slurm_topology.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "export.h"
#include "hostlist.h"
#include "import.h"
#include "import_network.h"
#include "lines.h"
#include "memory.h"
#include "number.h"

/* The rules of both formats are those of Slurm 22.05 to 26.05: src/common/parse_config.c and
 * hostlist.c, src/plugins/serializer/yaml, data_parser and topology. Where a release refuses what
 * a later one takes (leaves and blocks without nodes, from 25.05 on), the later one is followed. */

/* ---- a network by names --------------------------------------------------------------------- */

enum { LEVELS_MAX = 64, NAMES_SHOWN = 8 };

/* Lines of the text: 0: none. */
struct place {
    size_t described, named; /* line of the switch, and a line that names it as a child */
};

struct edge {
    uint32_t child, parent; /* switches */
};

enum kind { KIND_NONE, KIND_TREE, KIND_BLOCK };

struct topology {
    const char *file;
    struct import_network net;
    enum kind kind;
    uint32_t parent;     /* the current switch */
    size_t line;         /* and its line */
    struct place *place; /* by switch */
    struct edge *edge;   /* edges between switches */
    size_t places_room, edges, edges_room;
    struct nt_strbuf ignored; /* switches whose children Slurm ignores */
};

static void topology_fini(struct topology *t)
{
    import_network_fini(&t->net);
    free(t->ignored.text);
}

static int fail_at(const struct topology *t, size_t line, struct nt_err *err)
{
    return nt_err_prefix(err, "%s:%zu", t->file, line);
}

/* Adds a switch, which may have been named before. */
static int add_switch(struct topology *t, const char *name, size_t bytes, uint32_t *index,
                      struct nt_err *err)
{
    int rc = nt_names_add_copy(&t->net.switches, name, bytes, index, err);
    if (rc < 0)
        return -1;
    if (*index >= NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d switches", (int)NT_HOSTS_MAX);
    t->place = nt_arena_grow(&t->net.memory, t->place, &t->places_room, *index + (size_t)1,
                             sizeof *t->place);
    if (nt_arena_check(&t->net.memory, err) != 0)
        return -1;
    if (rc == 0)
        t->place[*index] = (struct place){0};
    return 0;
}

/* Starts the switch or block described in this line; it becomes the parent of the following
 * parts. */
static int open_switch(struct topology *t, const char *name, size_t bytes, size_t line,
                       struct nt_err *err)
{
    t->line = line;
    if (add_switch(t, name, bytes, &t->parent, err) != 0)
        return fail_at(t, line, err);
    if (t->place[t->parent].described > 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %.*s is described twice", t->file, line,
                          nt_line_shown(bytes), name);
    t->place[t->parent].described = line;
    return 0;
}

static int add_host(void *context, const char *name, struct nt_err *err)
{
    struct topology *t = context;
    return import_network_add_host_below(&t->net, t->parent, name, err);
}

static int add_child_switch(void *context, const char *name, struct nt_err *err)
{
    struct topology *t = context;
    uint32_t child;
    if (add_switch(t, name, strlen(name), &child, err) != 0 ||
        import_network_add_switch_below(&t->net, t->parent, name, child, err) != 0)
        return -1;
    t->place[child].named = t->line;
    t->edge = nt_arena_grow(&t->net.memory, t->edge, &t->edges_room, t->edges + 1, sizeof *t->edge);
    if (nt_arena_check(&t->net.memory, err) != 0)
        return -1;
    t->edge[t->edges++] = (struct edge){child, t->parent};
    return 0;
}

static bool separates(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n';
}

/* Adds the names of a list in the form of Slurm's hostlist: separated by any number of commas and
 * spaces. */
static int add_list(struct topology *t, const char *at, size_t bytes, nt_hostlist_each *each,
                    struct nt_err *err)
{
    if (bytes == 0) /* there may be no text */
        return 0;
    for (const char *end = at + bytes; at < end;) {
        const char *name = at;
        for (bool inside = false; at < end && (inside || !separates(*at)); at++)
            inside = *at == '[' || (inside && *at != ']');
        if (at > name && nt_hostlist_visit(name, (size_t)(at - name), each, t, err) != 0)
            return fail_at(t, t->line, err);
        at += at < end;
    }
    return 0;
}

/* The switch above all blocks. */
static const char TOP_OF_BLOCKS[] = "blocks";

static int join_blocks(struct topology *t, struct nt_err *err)
{
    size_t blocks = t->net.switches.count;
    if (t->kind != KIND_BLOCK || blocks < 2)
        return 0;
    if (open_switch(t, TOP_OF_BLOCKS, strlen(TOP_OF_BLOCKS), t->line, err) != 0)
        return -1;
    for (uint32_t k = 0; k < blocks; k++)
        if (import_network_add_switch_below(&t->net, t->parent, t->net.switches.name[k], k, err) !=
            0)
            return -1;
    return 0;
}

/* Checks that each child is a switch of the text, and none is above itself. */
static int check_children(const struct topology *t, struct nt_err *err)
{
    const struct nt_names *names = &t->net.switches;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *level = nt_arena_array(&memory, names->count + 1, sizeof *level);
    const struct edge *still = t->edge;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < names->count; k++)
        if (t->place[k].described == 0)
            return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: no line describes switch %s", t->file,
                              t->place[k].named, names->name[k]);
    for (size_t turn = 0; still != NULL && turn < LEVELS_MAX; turn++) {
        still = NULL;
        for (const struct edge *e = t->edge; e < t->edge + t->edges; e++)
            if (level[e->parent] <= level[e->child]) {
                level[e->parent] = level[e->child] + 1;
                still = e;
            }
    }
    if (still != NULL)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:%zu: switch %s: expected a tree of at most %d levels, found a loop "
                          "or more",
                          t->file, t->place[still->parent].described, names->name[still->parent],
                          (int)LEVELS_MAX);
    return 0;
}

/* Lists nodes on several leaf switches, which Slurm accepts with a warning. */
static int list_shared(const struct topology *t, struct nt_strbuf *d, struct nt_err *err)
{
    const struct nt_names *host = &t->net.host;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *leaf = nt_arena_array(&memory, host->count + 1, sizeof *leaf);
    bool *shared = nt_arena_array(&memory, host->count + 1, sizeof *shared);
    size_t found = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < t->net.cables; k++) {
        uint32_t h = t->net.cable[k].a, s = t->net.cable[k].b;
        if ((h & IMPORT_SWITCH) != 0)
            continue;
        if (leaf[h] != 0 && leaf[h] != s && !shared[h]) {
            shared[h] = true;
            if (found++ < NAMES_SHOWN)
                nt_strbuf_print(d, " %s", host->name[h]);
        }
        leaf[h] = s;
    }
    if (found > NAMES_SHOWN)
        nt_strbuf_print(d, " and %zu more", found - NAMES_SHOWN);
    nt_strbuf_puts(d, "");
    return d->failed ? nt_err_memory(err) : 0;
}

static int warn_of(const struct topology *t, const struct nt_strbuf *shared, struct nt_map *map,
                   struct nt_err *err)
{
    if (shared->used > 0 &&
        nt_map_warn(map, err, "nodes behind several leaf switches:%s", shared->text) != 0)
        return -1;
    return t->ignored.used == 0
               ? 0
               : nt_map_warn(map, err,
                             "children of switches that have nodes are ignored, as in Slurm:%s",
                             t->ignored.text);
}

static int topology_map(struct topology *t, struct nt_map **out, struct nt_err *err)
{
    struct nt_strbuf shared = {0};
    struct nt_map *map = NULL;
    if (t->ignored.failed)
        return nt_err_memory(err);
    if (check_children(t, err) != 0 || join_blocks(t, err) != 0)
        return -1;
    int rc = list_shared(t, &shared, err);
    if (rc == 0 && import_network_map(&t->net, &map, err) != 0)
        rc = nt_err_prefix(err, "%s", t->file);
    if (rc == 0)
        rc = warn_of(t, &shared, map, err);
    free(shared.text);
    if (rc == 0)
        *out = map;
    else
        nt_map_destroy(map);
    return rc;
}

/* ---- reading topology.conf ------------------------------------------------------------------ */

/* A switch or a block per line, KEY=VALUE pairs with keys in any case. The same with what scontrol
 * show topology adds: of each switch its level and all hosts below it, of each block its number
 * and size, and blocks put together. */

enum { LINE_MAX_BYTES = 1 << 20 };

struct conf {
    struct nt_text text;
    struct nt_strbuf
        joined; /* the current line, with continued lines joined and without comments */
    struct topology *net;
    struct nt_text_line line; /* the rest of it */
    const char *begin;        /* its start in the text, in which it ends at text.at */
};

/* Returns the end of a line without its comment; an escaped "#" starts none. */
static const char *line_end(const struct nt_text_line *line)
{
    size_t slashes = 0;
    for (const char *at = line->at; at < line->end; at++) {
        if (*at == '#' && slashes % 2 == 0)
            return at;
        slashes = *at == '\\' ? slashes + 1 : 0;
    }
    return line->end;
}

/* Appends a part of a line without escapes. *go_on: an odd number of "\" at its end continues
 * it. */
static int append_part(struct conf *r, const struct nt_text_line *part, bool *go_on,
                       struct nt_err *err)
{
    const char *end = line_end(part), *slash = end;
    while (slash > part->at && slash[-1] == '\\')
        slash--;
    *go_on = (end - slash) % 2 == 1;
    end -= *go_on;
    if ((size_t)(end - part->at) > LINE_MAX_BYTES - r->joined.used)
        return nt_line_fail(&r->line, err, "the line is longer than %d bytes", (int)LINE_MAX_BYTES);
    for (const char *at = part->at; at < end; at++) {
        at += *at == '\\';
        nt_strbuf_put(&r->joined, at, 1);
    }
    return r->joined.failed ? nt_err_memory(err) : 0;
}

/* Returns 1 with the next line; continued lines are joined without a space. 0: the end; -1:
 * error. */
static int next_joined(struct conf *r, struct nt_err *err)
{
    struct nt_text_line part;
    bool any = false, go_on = true;
    r->joined.used = 0;
    while (go_on) {
        struct nt_text before = r->text;
        if (!nt_text_next_line(&r->text, &part))
            break;
        if (any && part.number != before.line + 1) { /* an empty line ends the current one */
            r->text = before;
            break;
        }
        if (!any) {
            r->line = part;
            r->begin = part.at;
        }
        any = true;
        if (append_part(r, &part, &go_on, err) != 0)
            return -1;
    }
    if (!any)
        return 0;
    nt_strbuf_puts(&r->joined, "");
    if (r->joined.failed)
        return nt_err_memory(err);
    r->line.at = r->joined.text;
    r->line.end = r->joined.text + r->joined.used;
    return 1;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && !isspace((unsigned char)*at))
        at++;
    return at;
}

struct pair {
    struct nt_word key, value;
};

static bool is_key(const struct pair *p, const char *key)
{
    return p->key.bytes == strlen(key) && strncasecmp(p->key.at, key, p->key.bytes) == 0;
}

/* Returns the end of a value printed by scontrol, which may be missing or contain spaces: it ends
 * before the next word with "=". */
static const char *shown_end(const char *at, const char *end)
{
    const char *stop = skip_word(at, end);
    for (const char *word; (word = skip_blanks(stop, end)) < end;) {
        const char *next = skip_word(word, end);
        if (memchr(word, '=', (size_t)(next - word)) != NULL)
            break;
        stop = next;
    }
    return stop;
}

/* Reads a value of a file: the next word, also after spaces; in double quotes it may contain
 * spaces. */
static const char *take_value(struct pair *p, const char *at, const char *end)
{
    at = skip_blanks(at, end);
    const char *quote = at < end && *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
    if (quote != NULL && (quote + 1 == end || isspace((unsigned char)quote[1]))) {
        p->value = (struct nt_word){at + 1, (size_t)(quote - at - 1)};
        return quote + 1;
    }
    const char *stop = skip_word(at, end);
    p->value = (struct nt_word){at, (size_t)(stop - at)};
    return stop > at ? stop : NULL;
}

/* Finds the next key of the line and returns the text after its "=", before which there may be
 * spaces and a sign that Slurm does not use here. NULL: there is none. */
static const char *find_key(const struct conf *r, struct pair *p)
{
    const char *end = r->line.end, *key = skip_blanks(r->line.at, end), *at = key;
    while (at < end && (isalnum((unsigned char)*at) || *at == '_' || *at == '.'))
        at++;
    const char *equals = skip_blanks(at, end);
    equals += end - equals > 1 && equals[1] == '=' && memchr("-*+/", *equals, 4) != NULL;
    p->key = (struct nt_word){key, (size_t)(at - key)};
    return at == key || equals == end || *equals != '=' ? NULL : equals + 1;
}

/* Reads the next KEY=VALUE of the line. Returns 1, or 0 if there is none. */
static int next_pair(struct conf *r, struct pair *p, bool shown, struct nt_err *err)
{
    const char *end = r->line.end, *value = find_key(r, p), *key = p->key.at;
    if (key == end)
        return 0;
    if (value == NULL)
        return nt_line_fail(&r->line, err, "expected KEY=VALUE, found \"%.*s\"",
                            nt_line_shown((size_t)(skip_word(key, end) - key)), key);
    if (shown) {
        r->line.at = shown_end(value, end);
        p->value = (struct nt_word){value, (size_t)(r->line.at - value)};
        return 1;
    }
    r->line.at = take_value(p, value, end);
    return r->line.at != NULL ? 1
                              : nt_line_fail(&r->line, err, "%.*s: missing value",
                                             nt_line_shown(p->key.bytes), key);
}

/* The values of a switch or block in a line; at NULL: absent. */
struct entry {
    bool block, shown; /* shown: printed by scontrol */
    struct nt_word name, nodes, switches;
    bool above; /* scontrol: its nodes are the nodes of its switches */
};

/* Slurm uses the last value of a key. */
static int take_pair(struct conf *r, const struct pair *p, struct entry *e, struct nt_err *err)
{
    if (is_key(p, "Nodes"))
        e->nodes = p->value;
    else if (!e->block && is_key(p, "Switches"))
        e->switches = p->value;
    else if (e->block ? is_key(p, "BlockIndex") : is_key(p, "Level"))
        e->shown = true;
    else if (e->block ? !is_key(p, "BlockSize") : !is_key(p, "LinkSpeed"))
        return nt_line_fail(&r->line, err, "unknown key %.*s", nt_line_shown(p->key.bytes),
                            p->key.at);
    if (is_key(p, "Level"))
        e->above = !nt_word_is(p->value, "0");
    return 0;
}

/* Reads the pairs after the name, which is first, as Slurm requires. */
static int take_entry(struct conf *r, struct entry *e, struct nt_err *err)
{
    struct pair p;
    int rc;
    while ((rc = next_pair(r, &p, e->shown, err)) > 0)
        if (take_pair(r, &p, e, err) != 0)
            return -1;
    if (e->above)
        e->nodes.bytes = 0;
    if (rc == 0 && !e->shown && e->nodes.at != NULL && e->switches.at != NULL)
        return nt_line_fail(&r->line, err,
                            "switch %.*s: expected Nodes or Switches, found both, which Slurm "
                            "rejects. Give the nodes a switch of their own.",
                            nt_line_shown(e->name.bytes), e->name.at);
    return rc;
}

static int check_name(struct conf *r, struct nt_word name, struct nt_err *err)
{
    char text[257] = "";
    struct nt_err why = {0};
    memcpy(text, name.at, name.bytes < sizeof text ? name.bytes : sizeof text - 1);
    return nt_host_name_check(text, &why) == 0
               ? 0
               : nt_line_fail(&r->line, err, "switch or block: %s", why.text);
}

static int add_entry(struct conf *r, const struct entry *e, struct nt_err *err)
{
    struct topology *t = r->net;
    enum kind kind = e->block ? KIND_BLOCK : KIND_TREE;
    if (t->kind != KIND_NONE && t->kind != kind)
        return nt_line_fail(&r->line, err, "expected switches or blocks, found both");
    t->kind = kind;
    if (check_name(r, e->name, err) != 0 ||
        open_switch(t, e->name.at, e->name.bytes, r->line.number, err) != 0)
        return -1;
    return add_list(t, e->nodes.at, e->nodes.bytes, add_host, err) != 0
               ? -1
               : add_list(t, e->switches.at, e->switches.bytes, add_child_switch, err);
}

static int refuse_key(const struct conf *r, const struct pair *p, struct nt_err *err)
{
    bool ring = is_key(p, "RingName");
    if (ring || is_key(p, "TorusName"))
        return nt_line_fail(&r->line, err,
                            "expected SwitchName= or BlockName=, found %.*s: topology/%s is not "
                            "supported",
                            nt_line_shown(p->key.bytes), p->key.at, ring ? "ring" : "torus3d");
    return nt_line_fail(&r->line, err, "expected SwitchName= or BlockName=, found %.*s",
                        nt_line_shown(p->key.bytes), p->key.at);
}

static int read_line(struct conf *r, struct nt_err *err)
{
    struct pair p;
    const char *end = r->line.end, *word = skip_blanks(r->line.at, end);
    if (skip_word(word, end) - word == 7 && strncasecmp(word, "include", 7) == 0)
        return nt_line_fail(&r->line, err, "include is not supported. Insert the included text.");
    int rc = next_pair(r, &p, false, err);
    if (rc <= 0 || is_key(&p, "BlockSizes") || is_key(&p, "AggregatedBlock"))
        return rc < 0 ? -1 : 0;
    struct entry e = {.block = is_key(&p, "BlockName"), .name = p.value};
    if (!e.block && !is_key(&p, "SwitchName"))
        return refuse_key(r, &p, err);
    return take_entry(r, &e, err) != 0 ? -1 : add_entry(r, &e, err);
}

static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf";

static int read_conf(struct topology *t, const char *text, size_t bytes, struct nt_err *err)
{
    struct conf r = {.net = t};
    if (nt_text_begin(&r.text, t->file, text, bytes, err) != 0)
        return -1;
    if (bytes > 2 && memcmp(text, BYTE_ORDER_MARK, 3) == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:1: expected text, found a byte order mark, which Slurm rejects. Save "
                          "the file without it.",
                          t->file);
    int rc;
    while ((rc = next_joined(&r, err)) > 0)
        if (read_line(&r, err) != 0) {
            rc = -1;
            break;
        }
    free(r.joined.text);
    t->line = r.text.line + 1;
    return rc;
}

/* ---- reading topology.yaml ------------------------------------------------------------------ */

/* The time of libyaml grows with the square of the nesting depth; a node takes about 150 bytes. */
enum { YAML_TEXT_MAX = 64 * 1024 * 1024, DEPTH_MAX = 16, NODES_MAX = 1 << 21 };
enum { NAMED_BYTES = 160 }; /* bytes in a message for the topologies of a file */

struct yaml {
    bool shown; /* printed by scontrol */
    yaml_document_t document;
    struct topology *net;
    struct nt_err *err;
};

static size_t yaml_line(const yaml_node_t *at)
{
    return at == NULL ? 1 : at->start_mark.line + 1;
}

static int yaml_error(const struct yaml *r, const yaml_node_t *at, const char *expected)
{
    return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: expected %s", r->net->file, yaml_line(at),
                      expected);
}

static const char *scalar_text(const yaml_node_t *node)
{
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                                          : NULL;
}

/* If a map has a key twice, Slurm uses the last value. */
static yaml_node_t *map_field(struct yaml *r, const yaml_node_t *map, const char *name)
{
    yaml_node_t *found = NULL;
    if (map == NULL || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const char *key = scalar_text(yaml_document_get_node(&r->document, p->key));
        if (key != NULL && strcmp(key, name) == 0)
            found = yaml_document_get_node(&r->document, p->value);
    }
    return found;
}

/* Returns the number of items of a list. A map in its place counts as a list of one map. */
static size_t list_count(const yaml_node_t *list)
{
    return list->type == YAML_SEQUENCE_NODE
               ? (size_t)(list->data.sequence.items.top - list->data.sequence.items.start)
               : 1;
}

static yaml_node_t *list_item(struct yaml *r, yaml_node_t *list, size_t k)
{
    return list->type == YAML_SEQUENCE_NODE
               ? yaml_document_get_node(&r->document, list->data.sequence.items.start[k])
               : list;
}

static bool is_list(const yaml_node_t *node)
{
    return node != NULL && node->type != YAML_SCALAR_NODE;
}

/* Reads a flag as Slurm does: true unless it is a word for false, empty, or 0. No node: false. */
static int read_flag(struct yaml *r, const yaml_node_t *node, bool *flag)
{
    static const char *const words[] = {"", "null", "n", "no", "f", "false", "off"};
    const char *text = scalar_text(node);
    double value;
    *flag = text != NULL && *text != '~';
    if (node == NULL)
        return 0;
    if (text == NULL)
        return yaml_error(r, node, "true or false");
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        *flag &= strcasecmp(text, words[k]) != 0;
    const char *end = text + strlen(text);
    if (*flag && nt_number_read(text, end, &value) == end)
        *flag = value != 0;
    return 0;
}

/* Returns 1 with the text of the node, or 0 if it has none. scontrol show topoconf prints no text
 * in that case; a file has an empty list. */
static int read_text(struct yaml *r, const yaml_node_t *node, const char **text)
{
    *text = scalar_text(node);
    if (node == NULL)
        return 0;
    r->net->line = yaml_line(node);
    if (*text == NULL)
        return yaml_error(r, node, "names in one text, like n[1-4], as Slurm does");
    return !r->shown || **text != '\0';
}

/* Reads a switch. If it has nodes, Slurm ignores its children. */
static int read_switch(struct yaml *r, const yaml_node_t *item, const char *name)
{
    struct topology *t = r->net;
    const char *text;
    int nodes = read_text(r, map_field(r, item, "nodes"), &text);
    if (nodes < 0 || (nodes > 0 && add_list(t, text, strlen(text), add_host, r->err) != 0))
        return -1;
    if (t->kind == KIND_BLOCK)
        return 0;
    int children = read_text(r, map_field(r, item, "children"), &text);
    if (children > 0 && nodes > 0 && *text != '\0')
        nt_strbuf_print(&t->ignored, " %.64s", name);
    else if (children > 0)
        return add_list(t, text, strlen(text), add_child_switch, r->err);
    return children < 0 ? -1 : 0;
}

/* items: a list of maps, each with a name under the key `name`. */
static int read_switches(struct yaml *r, yaml_node_t *items, const char *name)
{
    bool blocks = r->net->kind == KIND_BLOCK;
    if (!is_list(items))
        return yaml_error(r, items, blocks ? "blocks" : "switches");
    for (size_t k = 0; k < list_count(items); k++) {
        const yaml_node_t *item = list_item(r, items, k);
        const char *called = scalar_text(map_field(r, item, name));
        if (called == NULL)
            return yaml_error(r, item, blocks ? "a block with its name" : "a switch with its name");
        if (open_switch(r->net, called, strlen(called), yaml_line(item), r->err) != 0 ||
            read_switch(r, item, called) != 0)
            return -1;
    }
    return 0;
}

/* The kind of a topology: the first of these keys that it has and that is not empty. */
static const char *const plugins[] = {"tree", "block", "ring", "torus3d", "flat"};
enum { TREE, BLOCK, FLAT = 4, PLUGINS };

static int find_plugin(struct yaml *r, const yaml_node_t *topology, size_t *plugin)
{
    bool flat = false;
    for (*plugin = 0; *plugin < PLUGINS; ++*plugin) {
        const yaml_node_t *node = map_field(r, topology, plugins[*plugin]);
        bool map = node != NULL && node->type == YAML_MAPPING_NODE;
        if (map &&
            (*plugin == FLAT || node->data.mapping.pairs.top > node->data.mapping.pairs.start))
            return 0;
        if (*plugin == FLAT && !map && read_flag(r, node, &flat) != 0)
            return -1;
        if (flat)
            return 0;
    }
    return 0;
}

/* Selects the topology of that name; without a name the cluster's default, or the first. NULL:
 * none. */
static int choose_topology(struct yaml *r, yaml_node_t *root, const char *name, yaml_node_t **out)
{
    *out = NULL;
    for (size_t k = 0; k < list_count(root); k++) {
        yaml_node_t *item = list_item(r, root, k);
        const char *called = scalar_text(map_field(r, item, "topology"));
        bool standard;
        if (read_flag(r, map_field(r, item, "cluster_default"), &standard) != 0)
            return -1;
        if (name != NULL ? called != NULL && strcmp(called, name) == 0 : standard) {
            *out = item;
            return 0;
        }
        if (name == NULL && k == 0)
            *out = item;
    }
    return 0;
}

/* Rejects a topology with a list of the existing ones. */
static int refuse_topology(struct yaml *r, yaml_node_t *root, const yaml_node_t *at,
                           const char *name)
{
    static const char advice[] =
        ": choose one by its name (--topology NAME; simulate: --topology-name NAME)";
    struct nt_strbuf d = {0};
    bool fits = false;
    for (size_t k = 0; k < list_count(root) && d.used < NAMED_BYTES; k++) {
        const yaml_node_t *item = list_item(r, root, k);
        const char *called = scalar_text(map_field(r, item, "topology"));
        size_t plugin;
        if (find_plugin(r, item, &plugin) != 0)
            plugin = PLUGINS;
        nt_strbuf_print(&d, "%s%.64s (%s)", k > 0 ? ", " : "", called != NULL ? called : "-",
                        plugin < PLUGINS ? plugins[plugin] : "neither");
        fits |= plugin == TREE || plugin == BLOCK;
    }
    nt_err_set(r->err, NT_ERR_INPUT,
               "%s:%zu: expected a topology%s%.64s of switches or blocks, found %s%s", r->net->file,
               yaml_line(at), name != NULL ? " " : "", name != NULL ? name : "",
               d.used > 0 && !d.failed ? d.text : "none", fits ? advice : "");
    free(d.text);
    return -1;
}

/* must: it is an error if there is no topology of that name, or one without switches and blocks. */
static int read_document(struct yaml *r, const char *name, bool must)
{
    yaml_node_t *root = yaml_document_get_root_node(&r->document), *topology, *body;
    size_t plugin = PLUGINS;
    r->net->line = yaml_line(root);
    if (root == NULL && !must)
        return 0;
    if (!is_list(root))
        return yaml_error(r, root, "a list of topologies");
    if (choose_topology(r, root, name, &topology) != 0 ||
        (topology != NULL && find_plugin(r, topology, &plugin) != 0))
        return -1;
    if (plugin != TREE && plugin != BLOCK)
        return must || (plugin < PLUGINS && plugin != FLAT)
                   ? refuse_topology(r, root, topology, name)
                   : 0;
    body = map_field(r, topology, plugins[plugin]);
    r->net->kind = plugin == TREE ? KIND_TREE : KIND_BLOCK;
    return plugin == TREE ? read_switches(r, map_field(r, body, "switches"), "switch")
                          : read_switches(r, map_field(r, body, "blocks"), "block");
}

static int parser_error(const struct yaml *r, const yaml_parser_t *parser)
{
    return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: not YAML: %s", r->net->file,
                      parser->problem_mark.line + 1,
                      parser->problem == NULL ? "cannot be read" : parser->problem);
}

static int parser_init(yaml_parser_t *parser, const struct yaml *r, const char *text, size_t bytes)
{
    if (yaml_parser_initialize(parser) == 0)
        return nt_err_memory(r->err);
    yaml_parser_set_input_string(parser, (const unsigned char *)text, bytes);
    return 0;
}

/* Counts one event; 1: there are more. */
static int count_event(const struct yaml *r, yaml_parser_t *parser, size_t *depth, size_t *nodes)
{
    yaml_event_t event;
    if (yaml_parser_parse(parser, &event) == 0)
        return parser_error(r, parser);
    yaml_event_type_t type = event.type;
    size_t line = event.start_mark.line + 1;
    yaml_event_delete(&event);
    bool opens = type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT;
    bool closes = type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT;
    *depth += opens;
    *depth -= closes;
    *nodes += opens || type == YAML_SCALAR_EVENT;
    if (type == YAML_ALIAS_EVENT)
        return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: expected no alias, which Slurm rejects",
                          r->net->file, line);
    if (*depth > DEPTH_MAX || *nodes > NODES_MAX)
        return nt_err_set(r->err, NT_ERR_INPUT,
                          "%s:%zu: expected at most %d nodes, %d deep, found more", r->net->file,
                          line, (int)NODES_MAX, (int)DEPTH_MAX);
    return type != YAML_STREAM_END_EVENT;
}

/* Rejects a text that would take far more memory or time than its size, before it is parsed. */
static int check_size(const struct yaml *r, const char *text, size_t bytes)
{
    yaml_parser_t parser;
    size_t depth = 0, nodes = 0;
    if (parser_init(&parser, r, text, bytes) != 0)
        return -1;
    int rc;
    do
        rc = count_event(r, &parser, &depth, &nodes);
    while (rc > 0);
    yaml_parser_delete(&parser);
    return rc;
}

static int read_yaml(struct topology *t, const struct nt_topology_text *from, const char *name,
                     bool must, struct nt_err *err)
{
    struct yaml r = {
        .shown = from->bytes > 5 && memcmp(from->text, "%YAML", 5) == 0, .net = t, .err = err};
    yaml_parser_t parser;
    int rc;
    if (from->bytes > YAML_TEXT_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%s: more than %d bytes", t->file, (int)YAML_TEXT_MAX);
    if (check_size(&r, from->text, from->bytes) != 0 ||
        parser_init(&parser, &r, from->text, from->bytes) != 0)
        return -1;
    if (yaml_parser_load(&parser, &r.document) == 0) {
        rc = parser_error(&r, &parser);
    } else {
        rc = read_document(&r, name, must);
        yaml_document_delete(&r.document);
    }
    yaml_parser_delete(&parser);
    return rc;
}

/* ---- reading both --------------------------------------------------------------------------- */

static int read_topology(struct topology *t, const struct nt_topology_text *from, const char *name,
                         bool must, struct nt_err *err)
{
    t->file = from->file;
    return from->yaml ? read_yaml(t, from, name, must, err)
                      : read_conf(t, from->text, from->bytes, err);
}

int nt_topology_read(const struct nt_topology_text *from, const char *name, struct nt_map **out,
                     bool *block, struct nt_err *err)
{
    struct topology t = {0};
    int rc = read_topology(&t, from, name, false, err);
    if (rc == 0 && t.kind != KIND_NONE)
        *block = t.kind == KIND_BLOCK;
    if (rc == 0 && t.net.host.count > 0)
        rc = topology_map(&t, out, err);
    topology_fini(&t);
    return rc;
}

/* Reads a topology that must exist. */
static int import_topology(const struct nt_topology_text *from, const char *name,
                           struct nt_map **out, struct nt_err *err)
{
    struct topology t = {0};
    int rc = read_topology(&t, from, name, true, err);
    if (rc == 0)
        rc = t.net.host.count > 0
                 ? topology_map(&t, out, err)
                 : nt_err_set(err, NT_ERR_INPUT, "%s:%zu: expected nodes, found none", t.file,
                              t.line);
    topology_fini(&t);
    return rc;
}

int nt_import_topology_conf(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err)
{
    return import_topology(&(struct nt_topology_text){file, text, bytes, false}, NULL, out, err);
}

int nt_import_topology_yaml(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err)
{
    return import_topology(&(struct nt_topology_text){file, text, bytes, true}, NULL, out, err);
}

int nt_import_topology_named(const char *file, const char *text, size_t bytes, const char *name,
                             struct nt_map **out, struct nt_err *err)
{
    return import_topology(&(struct nt_topology_text){file, text, bytes, true}, name, out, err);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The entry of a switch in Slurm's topology/tree: its hosts, or the switches below it. */
struct branch {
    uint32_t above; /* vertex above, or NONE at the root */
    size_t hosts, switches;
};

#define NONE UINT32_MAX

static int refuse_network(const struct nt_map *map, struct nt_err *err)
{
    return nt_err_set(
        err, NT_ERR_INPUT,
        "cannot export this network (%s): Slurm's topology/tree supports only trees of switches",
        nt_family_name(map->model->family));
}

/* Returns the root: the first switch of the highest tier. */
static uint32_t top_of(const struct nt_model *m)
{
    uint32_t top = (uint32_t)m->hosts;
    for (uint32_t s = 0; s < m->switches; s++)
        if (m->tier[s] > m->tier[top - m->hosts])
            top = (uint32_t)m->hosts + s;
    return top;
}

/* Finds the vertex above each one, level by level from the root. Not a tree of switches: a link
 * between two vertices that already have a parent closes a cycle, or a host has a vertex below
 * it. */
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

/* Appends the hosts or switches directly below a switch, separated by commas. */
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
    const char *head, *name, *hosts, *switches; /* switches NULL: blocks */
};

static int put_topology(const struct nt_map *map, const struct words *w, char **text, size_t *bytes,
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
        size_t below = w->switches != NULL ? at[s].switches : 0; /* only leaf switches are blocks */
        bool both = at[s].hosts > 0 && below > 0;
        if (at[s].hosts == 0 && at[s].switches == 0) /* kept empty for later nodes */
            nt_strbuf_print(&d, "%s%s\n", w->name, nt_map_vertex_name(map, s));
        if (at[s].hosts > 0) { /* a leaf switch, or the one for a higher switch's own hosts */
            nt_strbuf_print(&d, "%s%s%s%s", w->name, nt_map_vertex_name(map, s),
                            both ? "-hosts" : "", w->hosts);
            put_below(&d, map, at, s, true);
            nt_strbuf_puts(&d, "\n");
        }
        if (below > 0) {
            nt_strbuf_print(&d, "%s%s%s", w->name, nt_map_vertex_name(map, s), w->switches);
            put_below(&d, map, at, s, false);
            nt_strbuf_print(&d, "%s%s%s\n", both ? "," : "", both ? nt_map_vertex_name(map, s) : "",
                            both ? "-hosts" : "");
        }
        any = any || at[s].hosts > 0;
    }
    if (w->switches == NULL && !any) {
        free(d.text);
        return nt_err_set(err, NT_ERR_INPUT, "no switch has hosts");
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_export_topology_conf(const struct nt_map *map, char **text, size_t *bytes,
                            struct nt_err *err)
{
    static const struct words words = {"# topology/tree, found by nettopo\n",
                                       "SwitchName=", " Nodes=", " Switches="};
    return put_topology(map, &words, text, bytes, err);
}

int nt_export_topology_yaml(const struct nt_map *map, char **text, size_t *bytes,
                            struct nt_err *err)
{
    static const struct words words = {
        "# topology/tree, found by nettopo\n- topology: nettopo\n  cluster_default: true\n"
        "  tree:\n    switches:\n",
        "      - switch: ", "\n        nodes: ", "\n        children: "};
    return put_topology(map, &words, text, bytes, err);
}

int nt_export_blocks_conf(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    static const struct words words = {"# topology/block, found by nettopo\n",
                                       "BlockName=", " Nodes=", NULL};
    return put_topology(map, &words, text, bytes, err);
}

int nt_export_blocks_yaml(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    static const struct words words = {
        "# topology/block, found by nettopo\n- topology: nettopo\n  cluster_default: true\n"
        "  block:\n    blocks:\n",
        "      - block: ", "\n        nodes: ", NULL};
    return put_topology(map, &words, text, bytes, err);
}

/* ---- replacing one topology in a text ------------------------------------------------------- */

/* Returns whether a line is "KEY: VALUE"; the value may be in quotes. */
static bool has_value(const char *line, const char *key, const char *value)
{
    size_t n = strlen(key), bytes = strlen(value), end = strcspn(line, "\n");
    if (end < n || strncmp(line, key, n) != 0)
        return false;
    while (n < end && (line[n] == ' ' || line[n] == '"' || line[n] == '\''))
        n++;
    return end - n >= bytes && memcmp(line + n, value, bytes) == 0 &&
           (n + bytes == end || strchr(" \"'\r#", line[n + bytes]) != NULL);
}

static const char *line_behind(const char *at)
{
    at += strcspn(at, "\n");
    return at + (*at == '\n');
}

int nt_topology_find(const struct nt_topology_text *yaml, const char *name, const char **at,
                     size_t *bytes, struct nt_err *err)
{
    *at = NULL;
    *bytes = 0;
    for (const char *line = yaml->text; *line != '\0'; line = line_behind(line)) {
        const char *key = line + strspn(line, " -");
        if (*at != NULL && strncmp(line, "- ", 2) == 0)
            return *bytes = (size_t)(line - *at), 0;
        if (*at != NULL || !has_value(key, "topology:", name))
            continue;
        if (strncmp(line, "- topology:", 11) != 0)
            return nt_err_set(err, NT_ERR_INPUT,
                              "topology %.64s: expected its entry to begin with \"- topology:\"",
                              name);
        *at = line;
    }
    *bytes = *at != NULL ? strlen(*at) : 0;
    return 0;
}

static bool begins_with(const char *line, const char *key)
{
    return strncmp(line, key, strlen(key)) == 0;
}

static bool is_within(const char *line, const char *end, const char *indent)
{
    return line < end && (begins_with(line, indent) || *line == '\n' || *line == '#');
}

/* Appends the lines of block_sizes for the new block. */
static void put_sizes(struct nt_strbuf *d, const char *at, const char *end)
{
    for (const char *line = at; line < end; line = line_behind(line)) {
        if (!begins_with(line, "    block_sizes:"))
            continue;
        const char *stop = line_behind(line);
        while (stop < end && (begins_with(stop, "     ") || begins_with(stop, "    -")))
            stop = line_behind(stop);
        nt_strbuf_put(d, line, (size_t)(stop - line));
        return;
    }
}

/* Appends the exported tree or block; a block with its previous sizes. */
static void put_body(struct nt_strbuf *d, const char *exported, const char *at, const char *end)
{
    const char *body = strstr(exported, "\n  block:\n");
    const char *tree = strstr(exported, "\n  tree:\n");
    if (body == NULL) {
        nt_strbuf_puts(d, tree != NULL ? tree + 1 : "");
        return;
    }
    const char *blocks = line_behind(body + 1);
    nt_strbuf_put(d, body + 1, (size_t)(blocks - body - 1));
    put_sizes(d, at, end);
    nt_strbuf_puts(d, blocks);
}

/* Returns the start of comments and empty lines between the body and the next key at its depth,
 * which remain. */
static const char *after_body(const char *line, const char *end)
{
    const char *stop = line_behind(line);
    for (const char *at = stop; is_within(at, end, "   "); at = line_behind(at))
        if (begins_with(at, "   "))
            stop = line_behind(at);
    return stop;
}

static void end_line(struct nt_strbuf *d)
{
    if (d->used > 0 && d->text[d->used - 1] != '\n')
        nt_strbuf_puts(d, "\n");
}

static void put_entry(struct nt_strbuf *d, const char *exported, const char *at, const char *end)
{
    bool put = false;
    for (const char *line = at; line < end;) {
        bool body = begins_with(line, "  tree:") || begins_with(line, "  block:") ||
                    begins_with(line, "  flat:");
        const char *stop = body ? after_body(line, end) : line_behind(line);
        if (!body)
            nt_strbuf_put(d, line, (size_t)(stop - line));
        else if (!put)
            put_body(d, exported, at, end);
        put |= body;
        line = stop;
    }
    end_line(d);
    if (!put)
        put_body(d, exported, at, end);
}

int nt_topology_put_yaml(struct nt_strbuf *d, const struct nt_topology_text *old, const char *name,
                         const char *exported, struct nt_err *err)
{
    const char *at;
    size_t bytes;
    if (nt_topology_find(old, name, &at, &bytes, err) != 0)
        return -1;
    nt_strbuf_put(d, old->text, at != NULL ? (size_t)(at - old->text) : old->bytes);
    if (at != NULL) {
        put_entry(d, exported, at, at + bytes);
        nt_strbuf_puts(d, at + bytes);
        return 0;
    }
    end_line(d);
    nt_strbuf_puts(d, old->bytes == 0 ? "---\n- topology: " : "- topology: ");
    nt_strbuf_puts(d, name);
    bool first = strstr(old->text, "cluster_default: true") == NULL;
    nt_strbuf_puts(d, first ? "\n  cluster_default: true\n" : "\n  cluster_default: false\n");
    put_body(d, exported, "", "");
    return 0;
}

/* Returns whether the line is a switch or a block, or a comment of an export. */
static bool is_replaced(const struct conf *r)
{
    static const char *const ours[] = {"# topology/tree, found by nettopo",
                                       "# topology/block, found by nettopo"};
    struct pair p;
    return begins_with(r->begin, ours[0]) || begins_with(r->begin, ours[1]) ||
           (find_key(r, &p) != NULL && (is_key(&p, "SwitchName") || is_key(&p, "BlockName")));
}

int nt_topology_put_conf(struct nt_strbuf *d, const struct nt_topology_text *old,
                         const char *exported, struct nt_err *err)
{
    struct conf r = {0};
    const char *at = old->text, *end = old->text + old->bytes;
    if (nt_text_begin(&r.text, old->file, at, old->bytes, err) != 0)
        return -1;
    int rc;
    while ((rc = next_joined(&r, err)) > 0) {
        const char *stop = is_replaced(&r) ? r.begin : r.text.at;
        nt_strbuf_put(d, at, (size_t)(stop - at));
        at = r.text.at;
    }
    free(r.joined.text);
    nt_strbuf_put(d, at, (size_t)(end - at));
    end_line(d);
    nt_strbuf_puts(d, exported);
    return rc;
}
