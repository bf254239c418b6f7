/* SPDX-License-Identifier: Apache-2.0 */
#include "slurm_topology.h"

#include <math.h>
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

/* ---- a network by names --------------------------------------------------------------------- */

struct topology {
    struct import_network net;
    uint32_t parent; /* the switch at hand */
    bool *described; /* switches: it has a line of its own, and is not only a child */
    size_t room;
};

/* A switch, which may have been named before; describe: here it is described. */
static int add_switch(struct topology *t, const char *name, bool describe, uint32_t *index,
                      struct nt_err *err)
{
    int rc = nt_names_add_copy(&t->net.switches, name, strlen(name), index, err);
    if (rc < 0)
        return -1;
    if (*index >= NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d switches", (int)NT_HOSTS_MAX);
    t->described = nt_arena_grow(&t->net.memory, t->described, &t->room, *index + (size_t)1,
                                 sizeof *t->described);
    if (nt_arena_check(&t->net.memory, err) != 0)
        return -1;
    t->described[*index] = describe || (rc > 0 && t->described[*index]);
    return 0;
}

static int hang_host(void *context, const char *name, struct nt_err *err)
{
    struct topology *t = context;
    return import_network_hang_host(&t->net, t->parent, name, err);
}

static int hang_switch(void *context, const char *name, struct nt_err *err)
{
    struct topology *t = context;
    uint32_t child;
    if (add_switch(t, name, false, &child, err) != 0)
        return -1;
    return import_network_hang_switch(&t->net, t->parent, name, child, err);
}

/* The switch that all blocks are attached to. */
static const char TOP_OF_BLOCKS[] = "blocks";

/* ---- reading topology.conf ------------------------------------------------------------------ */

/* Slurm's topology.conf: KEY=VALUE pairs, a switch or a block a line, "#" comments, "\" continues
 * a line, keys in any case. The same with what scontrol show topology adds: of each switch its
 * level and all hosts below it, of each block its number and size, and blocks put together. */

enum { LINE_MAX_BYTES = 1 << 20 };

struct conf {
    struct nt_text text;
    struct nt_strbuf joined; /* the line at hand, continued lines joined, without comments */
    struct topology net;
    size_t child_line; /* the line that last named a switch as a child, for errors */
    bool blocks, trees;
    struct nt_text_line line; /* the line at hand */
    bool above;               /* scontrol: its nodes are those of its switches */
};

struct pair {
    const char *key, *value;
    size_t key_bytes, value_bytes;
};

static int append_text(struct conf *r, const char *at, size_t bytes, struct nt_err *err)
{
    if (bytes > LINE_MAX_BYTES - r->joined.used)
        return nt_line_fail(&r->line, err, "a line of more than %d bytes", (int)LINE_MAX_BYTES);
    nt_strbuf_put(&r->joined, at, bytes);
    return r->joined.failed ? nt_err_memory(err) : 0;
}

/* 1: line is the next one, continued lines joined; 0: the end; -1: error. */
static int next_joined(struct conf *r, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_text_line part;
    bool any = false, go_on = true;
    r->joined.used = 0;
    while (go_on && nt_text_next_line(&r->text, &part)) {
        if (!any)
            r->line = part;
        any = true;
        const char *comment = memchr(part.at, '#', (size_t)(part.end - part.at));
        go_on = comment == NULL && part.end[-1] == '\\';
        const char *end = comment != NULL ? comment : go_on ? part.end - 1 : part.end;
        if (append_text(r, part.at, (size_t)(end - part.at), err) != 0 ||
            append_text(r, " ", 1, err) != 0)
            return -1;
    }
    if (!any)
        return 0;
    r->line.at = r->joined.text;
    r->line.end = r->joined.text + r->joined.used;
    *line = r->line;
    return 1;
}

/* KEY=VALUE; the value may stand in double quotes. */
static int next_pair(struct nt_text_line *line, struct pair *p, bool *more, struct nt_err *err)
{
    struct nt_word word;
    *more = nt_line_next_word(line, &word);
    if (!*more)
        return 0;
    const char *equals = memchr(word.at, '=', word.bytes);
    if (equals == NULL || equals == word.at)
        return nt_line_fail(line, err, "expected KEY=VALUE, found \"%.*s\"",
                            nt_line_shown(word.bytes), word.at);
    *p = (struct pair){.key = word.at, .value = equals + 1};
    p->key_bytes = (size_t)(equals - word.at);
    p->value_bytes = (size_t)(word.at + word.bytes - p->value);
    if (p->value_bytes >= 2 && p->value[0] == '"' && p->value[p->value_bytes - 1] == '"') {
        p->value++;
        p->value_bytes -= 2;
    }
    if (p->value_bytes == 0)
        return nt_line_fail(line, err, "%.*s has no value", nt_line_shown(p->key_bytes), p->key);
    return 0;
}

static bool is_key(const struct pair *p, const char *key)
{
    return p->key_bytes == strlen(key) && strncasecmp(p->key, key, p->key_bytes) == 0;
}

static int visit_names(struct conf *r, const struct pair *p, nt_hostlist_each *each,
                       struct nt_err *err)
{
    if (nt_hostlist_visit(p->value, p->value_bytes, each, &r->net, err) != 0)
        return nt_err_prefix(err, "%s:%zu", r->text.file, r->line.number);
    return 0;
}

static int read_pair(struct conf *r, const struct pair *p, struct nt_err *err)
{
    if (is_key(p, "Level") && !r->blocks) {
        r->above = p->value_bytes != 1 || *p->value != '0';
        return 0;
    }
    if (is_key(p, "Nodes") && r->above)
        return 0;
    if (is_key(p, "Nodes"))
        return visit_names(r, p, hang_host, err);
    if (is_key(p, "Switches") && !r->blocks) {
        r->child_line = r->line.number;
        return visit_names(r, p, hang_switch, err);
    }
    if (r->blocks ? is_key(p, "BlockIndex") || is_key(p, "BlockSize") : is_key(p, "LinkSpeed"))
        return 0;
    return nt_line_fail(&r->line, err, "unknown key %.*s", nt_line_shown(p->key_bytes), p->key);
}

static int describe_switch(struct topology *t, const char *name, uint32_t *index,
                           struct nt_err *err)
{
    uint32_t before = nt_names_find(&t->net.switches, name, strlen(name));
    if (before != NT_NAMES_NONE && t->described[before])
        return nt_err_set(err, NT_ERR_INPUT, "%.*s is described twice", nt_line_shown(strlen(name)),
                          name);
    return add_switch(t, name, true, index, err);
}

/* The line's name comes first, as Slurm requires. */
static int open_switch(struct conf *r, const struct pair *p, bool block, struct nt_err *err)
{
    char name[256];
    struct nt_err why = {0};
    if (block ? r->trees : r->blocks)
        return nt_line_fail(&r->line, err, "switches and blocks in one file");
    *(block ? &r->blocks : &r->trees) = true;
    if (p->value_bytes >= sizeof name)
        return nt_line_fail(&r->line, err, "a name of more than 255 bytes");
    memcpy(name, p->value, p->value_bytes);
    name[p->value_bytes] = '\0';
    if (nt_host_name_check(name, &why) != 0)
        return nt_line_fail(&r->line, err, "switch or block: %s", why.text);
    if (describe_switch(&r->net, name, &r->net.parent, err) != 0)
        return nt_err_prefix(err, "%s:%zu", r->text.file, r->line.number);
    return 0;
}

static int read_line(struct conf *r, struct nt_text_line line, struct nt_err *err)
{
    struct pair p;
    bool more;
    struct nt_word word;
    struct nt_text_line first = line;
    if (nt_line_next_word(&first, &word) && word.bytes == 7 &&
        strncasecmp(word.at, "include", 7) == 0)
        return nt_line_fail(&line, err, "include is not followed: give the whole text");
    if (next_pair(&line, &p, &more, err) != 0)
        return -1;
    if (!more || is_key(&p, "BlockSizes") || is_key(&p, "AggregatedBlock"))
        return 0;
    r->above = false;
    bool block = is_key(&p, "BlockName");
    if (!block && !is_key(&p, "SwitchName"))
        return nt_line_fail(&line, err, "expected SwitchName= or BlockName=, found %.*s",
                            nt_line_shown(p.key_bytes), p.key);
    if (open_switch(r, &p, block, err) != 0)
        return -1;
    size_t cables = r->net.net.cables;
    for (;;) {
        if (next_pair(&line, &p, &more, err) != 0)
            return -1;
        if (!more)
            break;
        if (read_pair(r, &p, err) != 0)
            return -1;
    }
    if (r->net.net.cables == cables)
        return nt_line_fail(&line, err, "%s without nodes%s", block ? "a block" : "a switch",
                            block ? "" : " and switches");
    return 0;
}

static int join_blocks(struct conf *r, struct nt_err *err)
{
    size_t blocks = r->net.net.switches.count;
    uint32_t top;
    if (!r->blocks || blocks < 2)
        return 0;
    if (describe_switch(&r->net, TOP_OF_BLOCKS, &top, err) != 0)
        return nt_err_prefix(err, "%s", r->text.file);
    for (uint32_t k = 0; k < blocks; k++)
        if (import_network_add_cable(&r->net.net, k | IMPORT_SWITCH, top | IMPORT_SWITCH, NAN,
                                     err) != 0)
            return -1;
    return 0;
}

static int read_conf(struct conf *r, struct nt_err *err)
{
    struct nt_text_line line;
    int rc;
    while ((rc = next_joined(r, &line, err)) > 0)
        if (read_line(r, line, err) != 0)
            return -1;
    if (rc < 0)
        return -1;
    for (size_t k = 0; k < r->net.net.switches.count; k++)
        if (!r->net.described[k])
            return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: no line describes switch %s",
                              r->text.file, r->child_line, r->net.net.switches.name[k]);
    if (r->net.net.host.count == 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: no nodes in it", r->text.file,
                          r->text.line + 1);
    return join_blocks(r, err);
}

int nt_import_topology_conf(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err)
{
    struct conf r = {0};
    int rc = nt_text_begin(&r.text, file, text, bytes, err);
    if (rc == 0)
        rc = read_conf(&r, err);
    if (rc == 0)
        rc = import_network_map(&r.net.net, out, err);
    import_network_fini(&r.net.net);
    free(r.joined.text);
    return rc;
}

/* ---- reading topology.yaml ------------------------------------------------------------------ */

/* Nesting costs libyaml time that grows with its square, a node some 150 bytes. */
enum { YAML_TEXT_MAX = 64 * 1024 * 1024, DEPTH_MAX = 16, NODES_MAX = 1 << 21 };

struct yaml {
    const char *file;
    yaml_document_t document;
    struct topology net;
    struct nt_err *err;
};

static int yaml_error(const struct yaml *r, const yaml_node_t *at, const char *expected)
{
    return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: expected %s", r->file,
                      at == NULL ? 1 : at->start_mark.line + 1, expected);
}

static const char *scalar_text(const yaml_node_t *node)
{
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                                          : NULL;
}

static yaml_node_t *map_field(struct yaml *r, yaml_node_t *map, const char *name)
{
    if (map == NULL || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const char *key = scalar_text(yaml_document_get_node(&r->document, p->key));
        if (key != NULL && strcmp(key, name) == 0)
            return yaml_document_get_node(&r->document, p->value);
    }
    return NULL;
}

static int name_switch(struct yaml *r, const yaml_node_t *at, const char *name, uint32_t *index)
{
    if (add_switch(&r->net, name, true, index, r->err) != 0)
        return nt_err_prefix(r->err, "%s:%zu", r->file, at->start_mark.line + 1);
    return 0;
}

static int hang_list(struct yaml *r, yaml_node_t *list, nt_hostlist_each *hang)
{
    const char *text = scalar_text(list);
    if (list == NULL)
        return 0;
    if (text == NULL)
        return yaml_error(r, list, "a list of names");
    if (nt_hostlist_visit(text, strlen(text), hang, &r->net, r->err) != 0)
        return nt_err_prefix(r->err, "%s:%zu", r->file, list->start_mark.line + 1);
    return 0;
}

/* items: a sequence of maps, each with a name under the key `name`. */
static int read_switches(struct yaml *r, yaml_node_t *items, const char *name, bool blocks)
{
    uint32_t top = 0;
    if (items == NULL || items->type != YAML_SEQUENCE_NODE)
        return yaml_error(r, items, blocks ? "blocks" : "switches");
    if (blocks && name_switch(r, items, TOP_OF_BLOCKS, &top) != 0)
        return -1;
    for (yaml_node_item_t *i = items->data.sequence.items.start; i < items->data.sequence.items.top;
         i++) {
        yaml_node_t *item = yaml_document_get_node(&r->document, *i);
        const char *called = scalar_text(map_field(r, item, name));
        if (called == NULL)
            return yaml_error(r, item, blocks ? "a block with its name" : "a switch with its name");
        if (name_switch(r, item, called, &r->net.parent) != 0)
            return -1;
        if (blocks && import_network_add_cable(&r->net.net, top | IMPORT_SWITCH,
                                               r->net.parent | IMPORT_SWITCH, NAN, r->err) != 0)
            return -1;
        if (hang_list(r, map_field(r, item, "nodes"), hang_host) != 0 ||
            hang_list(r, map_field(r, item, "children"), hang_switch) != 0)
            return -1;
    }
    return 0;
}

/* The topology to read: the first that is the cluster's default, else the first. */
static yaml_node_t *choose_topology(struct yaml *r, yaml_node_t *root)
{
    yaml_node_t *first = NULL;
    if (root == NULL || root->type != YAML_SEQUENCE_NODE)
        return NULL;
    for (yaml_node_item_t *i = root->data.sequence.items.start; i < root->data.sequence.items.top;
         i++) {
        yaml_node_t *item = yaml_document_get_node(&r->document, *i);
        const char *standard = scalar_text(map_field(r, item, "cluster_default"));
        if (standard != NULL && strcmp(standard, "true") == 0)
            return item;
        first = first == NULL ? item : first;
    }
    return first;
}

static int read_document(struct yaml *r)
{
    yaml_node_t *root = yaml_document_get_root_node(&r->document);
    yaml_node_t *topology = choose_topology(r, root);
    if (topology == NULL)
        return yaml_error(r, root, "a list of topologies");
    yaml_node_t *tree = map_field(r, topology, "tree"), *block = map_field(r, topology, "block");
    if (tree != NULL)
        return read_switches(r, map_field(r, tree, "switches"), "switch", false);
    if (block != NULL)
        return read_switches(r, map_field(r, block, "blocks"), "block", true);
    return yaml_error(r, topology, "a tree or a block");
}

static int parser_error(const struct yaml *r, const yaml_parser_t *parser)
{
    return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: no YAML: %s", r->file,
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

/* One event: 1 while there are more. */
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
    if (*depth > DEPTH_MAX || *nodes > NODES_MAX)
        return nt_err_set(r->err, NT_ERR_INPUT,
                          "%s:%zu: expected at most %d nodes, %d deep, found more", r->file, line,
                          (int)NODES_MAX, (int)DEPTH_MAX);
    return type != YAML_STREAM_END_EVENT;
}

/* Refuses a text that would take far more memory or time than its size, before it is parsed. */
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

int nt_import_topology_yaml(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err)
{
    struct yaml r = {.file = file, .err = err};
    yaml_parser_t parser;
    int rc;
    if (bytes > YAML_TEXT_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%s: more than %d bytes", file, (int)YAML_TEXT_MAX);
    if (check_size(&r, text, bytes) != 0 || parser_init(&parser, &r, text, bytes) != 0)
        return -1;
    if (yaml_parser_load(&parser, &r.document) == 0) {
        rc = parser_error(&r, &parser);
    } else {
        rc = read_document(&r);
        if (rc == 0 && import_network_map(&r.net.net, out, err) != 0)
            rc = nt_err_prefix(err, "%s", file);
        yaml_document_delete(&r.document);
    }
    yaml_parser_delete(&parser);
    import_network_fini(&r.net.net);
    return rc;
}

/* ---- writing -------------------------------------------------------------------------------- */

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

/* The vertex above each one, level by level from the top. A link between two that already
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
        size_t below = w->switches != NULL ? at[s].switches : 0; /* blocks are the leaves alone */
        bool both = at[s].hosts > 0 && below > 0;
        if (at[s].hosts > 0) { /* a leaf, or the leaf that holds a higher switch's own hosts */
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

/* The value of a line "KEY: VALUE", which may be in quotes. */
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

bool nt_topology_is_block(const char *text, size_t bytes, bool yaml)
{
    for (const char *line = text; line < text + bytes; line = line_behind(line))
        if (yaml ? begins_with(line, "  block:") : strncasecmp(line, "BlockName=", 10) == 0)
            return true;
    return false;
}

static bool is_within(const char *line, const char *end, const char *indent)
{
    return line < end && (begins_with(line, indent) || *line == '\n' || *line == '#');
}

/* The lines of block_sizes, for the new block. */
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

/* The tree or block of what was exported; of a block with the sizes that it had. */
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

/* What follows the body before the next key at its depth: comments and blank lines, which stay. */
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

void nt_topology_put_conf(struct nt_strbuf *d, const struct nt_topology_text *old,
                          const char *exported)
{
    static const char *const ours[] = {
        "SwitchName=", "BlockName=", "# topology/tree, found by nettopo",
        "# topology/block, found by nettopo"};
    for (const char *line = old->text; *line != '\0'; line = line_behind(line)) {
        bool replaced = false;
        for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
            replaced |= strncasecmp(line, ours[k], strlen(ours[k])) == 0;
        if (replaced)
            continue;
        nt_strbuf_put(d, line, strcspn(line, "\n"));
        nt_strbuf_puts(d, "\n");
    }
    nt_strbuf_puts(d, exported);
}
