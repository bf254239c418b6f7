/* SPDX-License-Identifier: Apache-2.0 */
/* A dump of ibnetdiscover. Records, each a node line and its ports:
 *     Switch  24 "S-0008f10400410015"    # "SW-6IB4 Voltaire" base port 0 lid 3 lmc 0
 *     [6]  "H-0008f10403960984"[1](8f10403960985)   # "n1 HCA-1" lid 16 4xSDR
 *     Ca  2 "H-0008f10403960984"         # "n1 HCA-1"
 *     [1](8f10403960985)  "S-0008f10400410015"[6]   # lid 16 lmc 1 "SW-6IB4 Voltaire" lid 3 4xSDR
 * A cable is there twice, once from each end. Other lines are passed over. */
#include "import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_network.h"
#include "lines.h"
#include "memory.h"

enum { NODES_MAX = 2 * NT_HOSTS_MAX, PORT_MAX = 255, NAME_BYTES = 256 };

enum kind { KIND_UNKNOWN, KIND_SWITCH, KIND_ADAPTER, KIND_AGGREGATION };

struct node {
    enum kind kind;
    size_t line; /* where it was first named */
    const char *description;
    uint32_t vertex; /* in the network */
};

/* One end's line of a cable; from and to are nodes. */
struct port {
    uint32_t from, to;
    uint32_t from_port, to_port;
    double rate_MBps;
};

struct reading {
    struct nt_text text;
    struct nt_names id;     /* "S-0008f10400410015" */
    struct nt_arena memory; /* of the arrays and descriptions */
    struct node *node;
    size_t node_room;
    struct port *port;
    size_t ports, port_room;
    uint32_t at; /* the node of the ports that follow */
    bool any;
    struct import_network net;
};

static int find_node(struct reading *r, const struct nt_text_line *line, const char *id,
                     size_t bytes, uint32_t *index, struct nt_err *err)
{
    if (bytes == 0 || bytes > 64)
        return nt_line_fail(line, err, "expected a node like \"S-0008f10400410015\"");
    int rc = nt_names_add_copy(&r->id, id, bytes, index, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (*index >= NODES_MAX)
        return nt_line_fail(line, err, "more than %d nodes", (int)NODES_MAX);
    r->node =
        nt_arena_grow(&r->memory, r->node, &r->node_room, *index + (size_t)1, sizeof *r->node);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    r->node[*index] = (struct node){.line = line->number};
    return 0;
}

/* What stands in quotes from *at on; *at goes behind it. */
static bool take_quoted(const char **at, const char *end, const char **inside, size_t *bytes)
{
    const char *open = memchr(*at, '"', (size_t)(end - *at));
    const char *close = open == NULL ? NULL : memchr(open + 1, '"', (size_t)(end - open - 1));
    if (close == NULL)
        return false;
    *inside = open + 1;
    *bytes = (size_t)(close - open - 1);
    *at = close + 1;
    return true;
}

/* "[7]"; *at goes behind it. */
static bool take_port(const char **at, const char *end, uint32_t *port)
{
    const char *c = *at;
    if (c == end || *c != '[')
        return false;
    for (*port = 0, c++; c < end && *c >= '0' && *c <= '9' && *port <= PORT_MAX; c++)
        *port = *port * 10 + (uint32_t)(*c - '0');
    if (c == *at + 1 || c == end || *c != ']' || *port > PORT_MAX)
        return false;
    *at = c + 1;
    return true;
}

static enum kind kind_of(struct nt_word word)
{
    if (nt_word_is(word, "Switch") || nt_word_is(word, "Router") || nt_word_is(word, "Rt"))
        return KIND_SWITCH;
    return nt_word_is(word, "Ca") ? KIND_ADAPTER : KIND_UNKNOWN;
}

static int read_node(struct reading *r, struct nt_text_line line, enum kind kind,
                     struct nt_err *err)
{
    const char *id, *text, *comment = memchr(line.at, '#', (size_t)(line.end - line.at));
    size_t id_bytes, bytes = 0;
    if (!take_quoted(&line.at, line.end, &id, &id_bytes))
        return nt_line_fail(&line, err, "expected a node like \"S-0008f10400410015\"");
    if (find_node(r, &line, id, id_bytes, &r->at, err) != 0)
        return -1;
    struct node *node = &r->node[r->at];
    if (node->kind != KIND_UNKNOWN)
        return nt_line_fail(&line, err, "node %.*s is described twice", nt_line_shown(id_bytes),
                            id);
    if (comment == NULL || !take_quoted(&comment, line.end, &text, &bytes))
        text = "";
    node->description = nt_arena_text(&r->memory, text, bytes < NAME_BYTES ? bytes : NAME_BYTES);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    /* a switch's own reduction unit shows itself as an adapter, but nothing runs there */
    bool aggregates = strstr(node->description, "Aggregation Node") != NULL;
    node->kind = kind == KIND_ADAPTER && aggregates ? KIND_AGGREGATION : kind;
    r->any = true;
    return 0;
}

/* "4xEDR" after the last quote of the line: lanes times the lane's data rate. */
static double rate_of(const struct nt_text_line *line)
{
    static const struct {
        const char *name;
        double lane_gbps; /* what is left of the signalling rate after line coding */
    } speeds[] = {{"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 14.0625 * 64 / 66},
                  {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};
    const char *quote = memrchr(line->at, '"', (size_t)(line->end - line->at));
    struct nt_text_line rest = *line;
    rest.at = quote == NULL ? line->at : quote + 1;
    struct nt_word word;
    while (nt_line_next_word(&rest, &word)) {
        double lanes = 0;
        size_t k = 0;
        for (; k < word.bytes && k < 2 && word.at[k] >= '0' && word.at[k] <= '9'; k++)
            lanes = lanes * 10 + (word.at[k] - '0');
        if (k == 0 || k == word.bytes || word.at[k] != 'x')
            continue;
        for (size_t s = 0; s < sizeof speeds / sizeof *speeds; s++)
            if (nt_word_is((struct nt_word){word.at + k + 1, word.bytes - k - 1}, speeds[s].name))
                return lanes * speeds[s].lane_gbps * 1000 / 8;
    }
    return NAN;
}

static int read_port(struct reading *r, struct nt_text_line line, struct nt_err *err)
{
    struct port p = {.from = r->at};
    const char *at = line.at, *id;
    size_t bytes;
    if (!r->any)
        return nt_line_fail(&line, err, "a port before any node");
    if (!take_port(&at, line.end, &p.from_port) || !take_quoted(&at, line.end, &id, &bytes) ||
        !take_port(&at, line.end, &p.to_port))
        return nt_line_fail(&line, err, "expected [PORT] \"NODE\"[PORT]");
    if (find_node(r, &line, id, bytes, &p.to, err) != 0)
        return -1;
    p.rate_MBps = rate_of(&line);
    if (r->ports == IMPORT_CABLES_MAX)
        return nt_line_fail(&line, err, "more than %d ports", (int)IMPORT_CABLES_MAX);
    r->port = nt_arena_grow(&r->memory, r->port, &r->port_room, r->ports + 1, sizeof *r->port);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    r->port[r->ports++] = p;
    return 0;
}

static int read_all(struct reading *r, struct nt_err *err)
{
    struct nt_text_line line;
    while (nt_text_next_line(&r->text, &line)) {
        struct nt_text_line words = line;
        struct nt_word word;
        nt_line_next_word(&words, &word);
        enum kind kind = kind_of(word);
        line.at = word.at;
        if (kind != KIND_UNKNOWN && read_node(r, line, kind, err) != 0)
            return -1;
        if (*word.at == '[' && read_port(r, line, err) != 0)
            return -1;
    }
    if (!r->any)
        return nt_line_fail(&line, err, "no switch and no adapter in it");
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* "n1 HCA-1", "n1 mlx5_0", "n1 hfi1_0": a host and its adapter. Anything else names a product. */
static bool host_name(const char *description, char name[NAME_BYTES])
{
    const char *blank = strchr(description, ' ');
    size_t bytes = blank == NULL ? 0 : (size_t)(blank - description);
    if (bytes == 0 || bytes >= NAME_BYTES)
        return false;
    const char *device = blank + 1;
    if (strchr(device, ' ') != NULL || strpbrk(device, "0123456789") == NULL)
        return false;
    memcpy(name, description, bytes);
    name[bytes] = '\0';
    return nt_host_name_check(name, NULL) == 0;
}

/* "MF0;leaf1:SB7800/U1" is leaf1; a description without blanks is the name itself. */
static bool switch_name(const char *description, char name[NAME_BYTES])
{
    const char *from = strchr(description, ';');
    from = from == NULL ? description : from + 1;
    size_t bytes = strcspn(from, ":");
    if (bytes == 0 || bytes >= NAME_BYTES)
        return false;
    memcpy(name, from, bytes);
    name[bytes] = '\0';
    return nt_host_name_check(name, NULL) == 0;
}

/* Which names of switches are used more than once? Those go by their numbers instead. */
static int name_switch(struct reading *r, uint32_t index, const struct nt_names *twice,
                       struct nt_err *err)
{
    char name[NAME_BYTES];
    struct node *node = &r->node[index];
    const char *id = r->id.name[index];
    struct nt_err why = {0};
    if (!switch_name(node->description, name) ||
        nt_names_find(twice, name, strlen(name)) != NT_NAMES_NONE)
        snprintf(name, sizeof name, "%s", id);
    if (nt_host_name_check(name, &why) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s", r->text.file, node->line, why.text);
    int rc = nt_names_add_copy(&r->net.switches, name, strlen(name), &node->vertex, err);
    if (rc == 1)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: two switches are called %s", r->text.file,
                          node->line, name);
    node->vertex |= IMPORT_SWITCH;
    return rc;
}

static int name_host(struct reading *r, uint32_t index, struct nt_err *err)
{
    char name[NAME_BYTES];
    struct node *node = &r->node[index];
    struct nt_err why = {0};
    if (!host_name(node->description, name))
        snprintf(name, sizeof name, "%s", r->id.name[index]);
    if (nt_host_name_check(name, &why) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s", r->text.file, node->line, why.text);
    return nt_names_add_copy(&r->net.host, name, strlen(name), &node->vertex, err) < 0 ? -1 : 0;
}

static int find_repeated(const struct reading *r, struct nt_names *twice, struct nt_err *err)
{
    struct nt_names seen = {0};
    int rc = 0;
    for (size_t k = 0; rc >= 0 && k < r->id.count; k++) {
        char name[NAME_BYTES];
        uint32_t index;
        if (r->node[k].kind != KIND_SWITCH || !switch_name(r->node[k].description, name))
            continue;
        rc = nt_names_add_copy(&seen, name, strlen(name), &index, err);
        if (rc == 1)
            rc = nt_names_add_copy(twice, name, strlen(name), &index, err);
    }
    nt_names_fini(&seen);
    return rc < 0 ? -1 : 0;
}

static int name_nodes(struct reading *r, struct nt_err *err)
{
    struct nt_names twice = {0};
    int rc = find_repeated(r, &twice, err);
    for (uint32_t k = 0; rc == 0 && k < r->id.count; k++) {
        if (r->node[k].kind == KIND_UNKNOWN)
            rc = nt_err_set(err, NT_ERR_INPUT, "%s:%zu: no line describes node %s", r->text.file,
                            r->node[k].line, r->id.name[k]);
        else if (r->node[k].kind == KIND_SWITCH)
            rc = name_switch(r, k, &twice, err);
        else if (r->node[k].kind == KIND_ADAPTER)
            rc = name_host(r, k, err);
    }
    nt_names_fini(&twice);
    if (rc == 0 && r->net.switches.count > NT_HOSTS_MAX)
        rc = nt_err_set(err, NT_ERR_INPUT, "%s: more than %d switches", r->text.file,
                        (int)NT_HOSTS_MAX);
    return rc;
}

/* ---- cables ---------------------------------------------------------------------------------- */

static int compare_ports(const void *a, const void *b)
{
    const struct port *x = a, *y = b;
    if (x->from != y->from)
        return x->from > y->from ? 1 : -1;
    if (x->from_port != y->from_port)
        return x->from_port > y->from_port ? 1 : -1;
    if (x->to != y->to)
        return x->to > y->to ? 1 : -1;
    return (x->to_port > y->to_port) - (x->to_port < y->to_port);
}

/* A cable counts once, whichever of its ends listed it. */
static int add_cables(struct reading *r, struct nt_err *err)
{
    for (size_t k = 0; k < r->ports; k++) {
        struct port *p = &r->port[k];
        if (p->from > p->to || (p->from == p->to && p->from_port > p->to_port))
            *p = (struct port){p->to, p->from, p->to_port, p->from_port, p->rate_MBps};
    }
    if (r->ports > 0)
        qsort(r->port, r->ports, sizeof *r->port, compare_ports);
    for (size_t k = 0; k < r->ports; k++) {
        const struct port *p = &r->port[k];
        const struct node *a = &r->node[p->from], *b = &r->node[p->to];
        if (k > 0 && compare_ports(p, p - 1) == 0)
            continue;
        if (a->kind == KIND_AGGREGATION || b->kind == KIND_AGGREGATION || a->vertex == b->vertex)
            continue;
        if (import_network_add_cable(&r->net, a->vertex, b->vertex, p->rate_MBps, err) != 0)
            return nt_err_prefix(err, "%s", r->text.file);
    }
    return 0;
}

int nt_import_ibnetdiscover(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err)
{
    struct reading r = {0};
    int rc = nt_text_begin(&r.text, file, text, bytes, err);
    if (rc == 0)
        rc = read_all(&r, err);
    if (rc == 0)
        rc = name_nodes(&r, err);
    if (rc == 0)
        rc = add_cables(&r, err);
    if (rc == 0)
        rc = import_network_map(&r.net, out, err);
    import_network_fini(&r.net);
    nt_names_fini(&r.id);
    nt_arena_fini(&r.memory);
    return rc;
}
