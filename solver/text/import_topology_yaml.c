/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's topology.yaml by way of libyaml, which only this file sees. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "hostlist.h"
#include "import_dot.h"
#include "import_network.h"

/* Nesting costs libyaml time that grows with its square, a node some 150 bytes. */
enum { YAML_TEXT_MAX = 64 * 1024 * 1024, DEPTH_MAX = 16, NODES_MAX = 1 << 21 };

struct reading {
    const char *file;
    yaml_document_t document;
    struct import_network net;
    uint32_t parent;
    struct nt_err *err;
};

static int yaml_error(const struct reading *r, const yaml_node_t *at, const char *expected)
{
    return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: expected %s", r->file,
                      at == NULL ? 1 : at->start_mark.line + 1, expected);
}

static const char *scalar_text(const yaml_node_t *node)
{
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                                          : NULL;
}

static yaml_node_t *map_field(struct reading *r, yaml_node_t *map, const char *name)
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

static int name_switch(struct reading *r, const yaml_node_t *at, const char *name, uint32_t *index)
{
    if (nt_names_add_copy(&r->net.switches, name, strlen(name), index, r->err) < 0)
        return -1;
    return *index < NT_HOSTS_MAX ? 0 : yaml_error(r, at, "fewer switches");
}

static int hang_host(void *context, const char *name, struct nt_err *err)
{
    struct reading *r = context;
    return import_network_hang_host(&r->net, r->parent, name, err);
}

static int hang_switch(void *context, const char *name, struct nt_err *err)
{
    struct reading *r = context;
    uint32_t child;
    if (name_switch(r, NULL, name, &child) != 0)
        return -1;
    return import_network_hang_switch(&r->net, r->parent, name, child, err);
}

static int hang_list(struct reading *r, yaml_node_t *list, nt_hostlist_each *hang)
{
    const char *text = scalar_text(list);
    if (list == NULL)
        return 0;
    if (text == NULL)
        return yaml_error(r, list, "a list of names");
    if (nt_hostlist_visit(text, strlen(text), hang, r, r->err) != 0)
        return nt_err_prefix(r->err, "%s:%zu", r->file, list->start_mark.line + 1);
    return 0;
}

/* items: a sequence of maps, each with a name under the key `name`. */
static int read_switches(struct reading *r, yaml_node_t *items, const char *name, bool blocks)
{
    uint32_t top = 0;
    if (items == NULL || items->type != YAML_SEQUENCE_NODE)
        return yaml_error(r, items, blocks ? "blocks" : "switches");
    if (blocks && name_switch(r, items, "blocks", &top) != 0)
        return -1;
    for (yaml_node_item_t *i = items->data.sequence.items.start; i < items->data.sequence.items.top;
         i++) {
        yaml_node_t *item = yaml_document_get_node(&r->document, *i);
        const char *called = scalar_text(map_field(r, item, name));
        if (called == NULL)
            return yaml_error(r, item, blocks ? "a block with its name" : "a switch with its name");
        if (name_switch(r, item, called, &r->parent) != 0)
            return -1;
        if (blocks && import_network_add_cable(&r->net, top | IMPORT_SWITCH,
                                               r->parent | IMPORT_SWITCH, NAN, r->err) != 0)
            return -1;
        if (hang_list(r, map_field(r, item, "nodes"), hang_host) != 0 ||
            hang_list(r, map_field(r, item, "children"), hang_switch) != 0)
            return -1;
    }
    return 0;
}

/* The topology to read: the first that is the cluster's default, else the first. */
static yaml_node_t *choose_topology(struct reading *r, yaml_node_t *root)
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

static int read_document(struct reading *r)
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

static int parser_error(const struct reading *r, const yaml_parser_t *parser)
{
    return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: no YAML: %s", r->file,
                      parser->problem_mark.line + 1,
                      parser->problem == NULL ? "cannot be read" : parser->problem);
}

static int parser_init(yaml_parser_t *parser, const struct reading *r, const char *text,
                       size_t bytes)
{
    if (yaml_parser_initialize(parser) == 0)
        return nt_err_memory(r->err);
    yaml_parser_set_input_string(parser, (const unsigned char *)text, bytes);
    return 0;
}

/* One event: 1 while there are more. */
static int count_event(const struct reading *r, yaml_parser_t *parser, size_t *depth, size_t *nodes)
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

/* Refuses what would take far more memory or time than its text, before it is taken. */
static int check_size(const struct reading *r, const char *text, size_t bytes)
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
    struct reading r = {.file = file, .err = err};
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
        if (rc == 0 && import_network_map(&r.net, out, err) != 0)
            rc = nt_err_prefix(err, "%s", file);
        yaml_document_delete(&r.document);
    }
    yaml_parser_delete(&parser);
    import_network_fini(&r.net);
    return rc;
}
