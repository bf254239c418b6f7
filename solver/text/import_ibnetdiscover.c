/* SPDX-License-Identifier: Apache-2.0 */
/* A scan of ibnetdiscover. Records, each a node line and its ports:
 *     Switch  24 "S-0008f10400410015"    # "SW-6IB4 Voltaire" base port 0 lid 3 lmc 0
 *     [6]  "H-0008f10403960984"[1](8f10403960985)   # "n1 HCA-1" lid 16 4xSDR
 *     Ca  2 "H-0008f10403960984"         # "n1 HCA-1"
 *     [1](8f10403960985)  "S-0008f10400410015"[6]   # lid 16 lmc 1 "SW-6IB4 Voltaire" lid 3 4xSDR
 * or with -p one line per port:
 *     SW     3  6 0x0008f10400410015 4x SDR - CA    16  1 0x0008f10403960985 ( 'SW-6' - 'n1 HCA-1'
 * ) A cable is there twice, once from each end; a scan may have one of them, or be cut. Other lines
 * are passed over. */
#include "import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_network.h"
#include "lines.h"
#include "memory.h"

enum { NODES_MAX = 2 * NT_HOSTS_MAX, PORT_MAX = 255, NAME_BYTES = NT_HOST_NAME_BYTES };

enum kind { KIND_UNKNOWN, KIND_SWITCH, KIND_ADAPTER, KIND_AGGREGATION };

struct node {
    enum kind kind;
    size_t line;             /* line of its first mention */
    const char *description; /* "" until a line contains one */
    uint64_t guid, system;   /* system: GUID of the machine or card that contains it; 0 */
    uint32_t vertex;         /* in the network */
};

/* The line of one end of a cable; from and to are nodes. */
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
    uint64_t system;   /* of the current record */
    size_t lost, last; /* number of incomplete lines; the last of them */
    const struct nt_name_file *names;
    struct nt_names systems; /* system-image GUIDs, */
    uint32_t *system_host;   /* by system: its host */
    size_t system_room, unnamed;
    uint32_t first_unnamed;
    struct import_network net;
};

static enum kind kind_of_id(const char *id)
{
    if (id[0] == '\0' || id[1] != '-')
        return KIND_UNKNOWN;
    return id[0] == 'H' ? KIND_ADAPTER : id[0] == 'S' || id[0] == 'R' ? KIND_SWITCH : KIND_UNKNOWN;
}

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
    struct node *node = &r->node[*index];
    *node = (struct node){
        .line = line->number, .description = "", .kind = kind_of_id(r->id.name[*index])};
    if (nt_guid_read(r->id.name[*index], bytes, &node->guid)) {
        const char *given = nt_name_file_of(r->names, node->guid);
        node->description = given != NULL ? given : "";
    }
    return 0;
}

/* Reads text in quotes at *at and moves *at behind it. */
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

/* Reads "[7]" and moves *at behind it. */
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

/* ---- names of hosts ---- */

/* Returns whether a word is the name of a product or its maker: "MT4119", "ConnectX5". */
static bool is_product(struct nt_word word)
{
    static const char *const makers[] = {"Mellanox", "NVIDIA",     "QLogic",     "Intel",
                                         "Voltaire", "Cornelis",   "InfiniPath", "InfiniHost",
                                         "ConnectX", "Infiniband", "InfiniBand", "HCA"};
    size_t digits = 0;
    for (size_t k = word.bytes; k > 0 && word.at[k - 1] >= '0' && word.at[k - 1] <= '9'; k--)
        digits++;
    if (word.bytes == digits + 2 && digits >= 4 && memcmp(word.at, "MT", 2) == 0)
        return true;
    struct nt_word bare = {word.at, word.bytes - digits};
    for (size_t k = 0; k < sizeof makers / sizeof *makers; k++)
        if (nt_word_is(bare, makers[k]) ||
            (bare.bytes > 0 && bare.at[bare.bytes - 1] == '-' &&
             nt_word_is((struct nt_word){bare.at, bare.bytes - 1}, makers[k])))
            return true;
    return false;
}

/* Returns whether a word is the default name of a machine. */
static bool is_placeholder(struct nt_word word)
{
    static const char name[] = "localhost";
    size_t bytes = sizeof name - 1;
    return word.bytes >= bytes && memcmp(word.at, name, bytes) == 0 &&
           (word.bytes == bytes || word.at[bytes] == '.');
}

bool nt_host_of_description(const char *description, char name[NT_HOST_NAME_BYTES])
{
    struct nt_text_line line = {.at = description, .end = description + strlen(description)};
    struct nt_word first, second, third;
    if (*line.at == '\'' && line.end > line.at + 1 && line.end[-1] == '\'') {
        line.at++;
        line.end--;
    }
    if (!nt_line_next_word(&line, &first) || first.bytes >= NAME_BYTES || is_product(first) ||
        is_placeholder(first))
        return false;
    bool described = nt_line_next_word(&line, &second) && *second.at != '(';
    bool more = nt_line_next_word(&line, &third) && *third.at != '(';
    bool device = false;
    for (size_t k = 0; k < second.bytes; k++)
        device = device || (second.at[k] >= '0' && second.at[k] <= '9');
    if (described && !is_product(second) && (more || !device))
        return false;
    memcpy(name, first.at, first.bytes);
    name[first.bytes] = '\0';
    return nt_host_name_check(name, NULL) == 0;
}

/* ---- records ---- */

/* Stores the description of a node in quotes. A host name replaces the name of a product, which an
 * adapter's own line contains if ibnetdiscover used a node name map. */
static int describe(struct reading *r, uint32_t index, const char *text, size_t bytes,
                    struct nt_err *err)
{
    char name[NAME_BYTES];
    struct node *node = &r->node[index];
    if (bytes == 0 || nt_name_file_of(r->names, node->guid) != NULL ||
        (*node->description != '\0' &&
         (node->kind != KIND_ADAPTER || nt_host_of_description(node->description, name))))
        return 0;
    node->description = nt_arena_text(&r->memory, text, bytes < NAME_BYTES ? bytes : NAME_BYTES);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    /* the reduction unit of a switch appears as an adapter, but is no host */
    if (node->kind == KIND_ADAPTER && strstr(node->description, "Aggregation Node") != NULL)
        node->kind = KIND_AGGREGATION;
    return 0;
}

/* Stores the first text in quotes in the comment of the line. */
static int describe_by_comment(struct reading *r, uint32_t index, const struct nt_text_line *line,
                               struct nt_err *err)
{
    const char *comment = memchr(line->at, '#', (size_t)(line->end - line->at)), *text;
    size_t bytes;
    if (comment == NULL || !take_quoted(&comment, line->end, &text, &bytes))
        return 0;
    return describe(r, index, text, bytes, err);
}

static int read_node(struct reading *r, struct nt_text_line line, enum kind kind,
                     struct nt_err *err)
{
    const struct nt_text_line whole = line;
    const char *id;
    size_t bytes = 0;
    if (!take_quoted(&line.at, line.end, &id, &bytes))
        return nt_line_fail(&line, err, "expected a node like \"S-0008f10400410015\"");
    if (find_node(r, &line, id, bytes, &r->at, err) != 0)
        return -1;
    struct node *node = &r->node[r->at];
    node->kind = node->kind == KIND_AGGREGATION ? node->kind : kind;
    node->system = r->system;
    r->system = 0;
    r->any = true;
    return describe_by_comment(r, r->at, &whole, err);
}

/* Returns the rate of "4x" and "EDR": lanes times the data rate of a lane. */
static double rate_of(struct nt_word width, struct nt_word speed)
{
    static const struct {
        const char *name;
        double lane_gbps; /* data rate after line coding */
    } speeds[] = {{"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 14.0625 * 64 / 66},
                  {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};
    double lanes = 0;
    size_t k = 0;
    for (; k < width.bytes && k < 2 && width.at[k] >= '0' && width.at[k] <= '9'; k++)
        lanes = lanes * 10 + (width.at[k] - '0');
    if (k == 0 || k + 1 != width.bytes || width.at[k] != 'x')
        return NAN;
    for (size_t s = 0; s < sizeof speeds / sizeof *speeds; s++)
        if (nt_word_is(speed, speeds[s].name))
            return lanes * speeds[s].lane_gbps * 1000 / 8;
    return NAN;
}

/* Returns the rate of "4xEDR" after the last quote of the line. */
static double rate_in(const struct nt_text_line *line)
{
    const char *quote = memrchr(line->at, '"', (size_t)(line->end - line->at));
    struct nt_text_line rest = *line;
    rest.at = quote == NULL ? line->at : quote + 1;
    struct nt_word word;
    while (nt_line_next_word(&rest, &word)) {
        const char *x = memchr(word.at, 'x', word.bytes);
        size_t width = x == NULL ? 0 : (size_t)(x + 1 - word.at);
        double rate = rate_of((struct nt_word){word.at, width},
                              (struct nt_word){word.at + width, word.bytes - width});
        if (isfinite(rate))
            return rate;
    }
    return NAN;
}

static int add_port(struct reading *r, const struct nt_text_line *line, struct port p,
                    struct nt_err *err)
{
    if (r->ports == IMPORT_CABLES_MAX)
        return nt_line_fail(line, err, "more than %d ports", (int)IMPORT_CABLES_MAX);
    r->port = nt_arena_grow(&r->memory, r->port, &r->port_room, r->ports + 1, sizeof *r->port);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    r->port[r->ports++] = p;
    return 0;
}

static void lose_line(struct reading *r, size_t number)
{
    r->lost++;
    r->last = number;
}

static int read_port(struct reading *r, struct nt_text_line line, struct nt_err *err)
{
    struct port p = {.from = r->at};
    const char *at = line.at, *id;
    size_t bytes;
    if (!take_port(&at, line.end, &p.from_port) || !take_quoted(&at, line.end, &id, &bytes) ||
        !take_port(&at, line.end, &p.to_port))
        return nt_line_fail(&line, err, "expected [PORT] \"NODE\"[PORT]");
    if (!r->any) { /* the scan starts within a record */
        lose_line(r, line.number);
        return 0;
    }
    if (find_node(r, &line, id, bytes, &p.to, err) != 0 ||
        describe_by_comment(r, p.to, &line, err) != 0)
        return -1;
    p.rate_MBps = rate_in(&line);
    return add_port(r, &line, p, err);
}

/* ---- the report of ports ---- */

/* Reads "SW 3 6 0x0008f10400410015": a node by the GUID of its port. */
static int take_end(struct reading *r, struct nt_text_line *line, uint32_t *node, uint32_t *port,
                    struct nt_err *err)
{
    struct nt_word kind, guid;
    uint64_t lid, number;
    char id[sizeof "S-0123456789abcdef"];
    uint64_t value;
    nt_line_next_word(line, &kind);
    if (nt_line_take_whole(line, "a lid", UINT16_MAX, &lid, err) != 0 ||
        nt_line_take_whole(line, "a port", PORT_MAX, &number, err) != 0)
        return -1;
    if (!nt_line_next_word(line, &guid) || !nt_guid_read(guid.at, guid.bytes, &value))
        return nt_line_fail_word(line, "the GUID of a port", guid, err);
    snprintf(id, sizeof id, "%c-%016llx",
             nt_word_is(kind, "CA")   ? 'H'
             : nt_word_is(kind, "RT") ? 'R'
                                      : 'S',
             (unsigned long long)value);
    *port = (uint32_t)number;
    return find_node(r, line, id, strlen(id), node, err);
}

static int read_report(struct reading *r, struct nt_text_line line, struct nt_err *err)
{
    static const char between[] = "' - '";
    struct port p = {0};
    struct nt_word width, speed;
    if (take_end(r, &line, &p.from, &p.from_port, err) != 0)
        return -1;
    r->any = true;
    nt_line_next_word(&line, &width);
    nt_line_next_word(&line, &speed);
    p.rate_MBps = rate_of(width, speed);
    bool linked = nt_line_take_word(&line, "-");
    if (linked && take_end(r, &line, &p.to, &p.to_port, err) != 0)
        return -1;
    const char *open = memchr(line.at, '\'', (size_t)(line.end - line.at));
    const char *close = memrchr(line.at, '\'', (size_t)(line.end - line.at));
    if (open == NULL || close == open)
        return nt_line_fail(&line, err, "expected the names of both ends");
    const char *middle =
        linked ? memmem(open + 1, (size_t)(close - open - 1), between, sizeof between - 1) : close;
    if (middle == NULL)
        return nt_line_fail(&line, err, "expected the names of both ends");
    if (describe(r, p.from, open + 1, (size_t)(middle - open - 1), err) != 0)
        return -1;
    if (!linked)
        return 0;
    const char *second = middle + sizeof between - 1;
    return describe(r, p.to, second, second < close ? (size_t)(close - second) : 0, err) != 0
               ? -1
               : add_port(r, &line, p, err);
}

/* ---- lines ---- */

/* Returns whether the line is from iblinkinfo, which identifies the far end only by its lid. */
static bool is_link_info(const struct nt_text_line *line)
{
    static const char arrow[] = ")==>";
    return memmem(line->at, (size_t)(line->end - line->at), arrow, sizeof arrow - 1) != NULL;
}

static int read_line(struct reading *r, struct nt_text_line line, struct nt_err *err)
{
    static const char system[] = "sysimgguid=";
    struct nt_text_line words = line;
    struct nt_word word;
    nt_line_next_word(&words, &word);
    enum kind kind = kind_of(word);
    line.at = word.at;
    if (kind != KIND_UNKNOWN)
        return read_node(r, line, kind, err);
    if (*word.at == '[')
        return read_port(r, line, err);
    if (nt_word_is(word, "SW") || nt_word_is(word, "CA") || nt_word_is(word, "RT"))
        return read_report(r, line, err);
    if (is_link_info(&line))
        return nt_line_fail(&line, err,
                            "expected the output of ibnetdiscover, found iblinkinfo's: "
                            "run ibnetdiscover on the same host");
    if (nt_line_begins(&line, system)) {
        size_t bytes = sizeof system - 1;
        if (!nt_guid_read(word.at + bytes, word.bytes - bytes, &r->system))
            r->system = 0;
    }
    return 0;
}

/* Reads all lines. If the last line has no end and is invalid, the scan is incomplete there. */
static int read_all(struct reading *r, struct nt_err *err)
{
    struct nt_text_line line;
    while (nt_text_next_line(&r->text, &line)) {
        struct nt_err why = {0};
        if (read_line(r, line, &why) == 0)
            continue;
        if (why.kind != NT_ERR_INPUT || r->text.at < r->text.end || r->text.end[-1] == '\n') {
            *err = why;
            return -1;
        }
        lose_line(r, line.number);
    }
    if (!r->any)
        return nt_line_fail(&line, err, "expected a switch or an adapter, found neither");
    return 0;
}

/* ---- names in the network ---- */

/* Finds the name of a switch: leaf1 for "MF0;leaf1:SB7800/U1"; a description without spaces is the
 * name, and one from a name map starts with it. */
static bool switch_name(const struct reading *r, const struct node *node, char name[NAME_BYTES])
{
    const char *from = strchr(node->description, ';');
    from = from == NULL ? node->description : from + 1;
    bool given = nt_name_file_of(r->names, node->guid) != NULL;
    size_t bytes = strcspn(from, given ? ": \t" : ":");
    if (bytes == 0 || bytes >= NAME_BYTES)
        return false;
    memcpy(name, from, bytes);
    name[bytes] = '\0';
    return nt_host_name_check(name, NULL) == 0;
}

/* Names a switch by its description, or by its id if the description is missing or not unique. */
static int name_switch(struct reading *r, uint32_t index, const struct nt_names *twice,
                       struct nt_err *err)
{
    char name[NAME_BYTES];
    struct node *node = &r->node[index];
    const char *id = r->id.name[index];
    struct nt_err why = {0};
    if (!switch_name(r, node, name) || nt_names_find(twice, name, strlen(name)) != NT_NAMES_NONE)
        snprintf(name, sizeof name, "%s", id);
    if (nt_host_name_check(name, &why) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s", r->text.file, node->line, why.text);
    int rc = nt_names_add_copy(&r->net.switches, name, strlen(name), &node->vertex, err);
    if (rc == 1)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: two switches have the name %s", r->text.file,
                          node->line, name);
    node->vertex |= IMPORT_SWITCH;
    return rc;
}

/* Finds the host whose other adapters have this system-image GUID: *slot is its vertex, or
 * NT_NAMES_NONE if there is none yet. */
static int find_system(struct reading *r, uint64_t system, uint32_t **slot, struct nt_err *err)
{
    char text[24];
    uint32_t index;
    snprintf(text, sizeof text, "%llx", (unsigned long long)system);
    int rc = nt_names_add_copy(&r->systems, text, strlen(text), &index, err);
    if (rc < 0)
        return -1;
    r->system_host = nt_arena_grow(&r->memory, r->system_host, &r->system_room, index + (size_t)1,
                                   sizeof *r->system_host);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    *slot = &r->system_host[index];
    if (rc == 0)
        **slot = NT_NAMES_NONE;
    return 0;
}

/* Names the host of an adapter. Without a host name in its description, it belongs to the host with
 * its system-image GUID, or else to a host named by its GUID. */
static int name_host(struct reading *r, uint32_t index, bool named, struct nt_err *err)
{
    char name[NAME_BYTES];
    struct node *node = &r->node[index];
    struct nt_err why = {0};
    uint32_t own = NT_NAMES_NONE, *host = &own;
    if (nt_host_of_description(node->description, name) != named)
        return 0;
    if (node->system != 0 && find_system(r, node->system, &host, err) != 0)
        return -1;
    if (!named && *host != NT_NAMES_NONE) {
        node->vertex = *host;
        return 0;
    }
    if (!named)
        snprintf(name, sizeof name, "%s", r->id.name[index]);
    if (nt_host_name_check(name, &why) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s", r->text.file, node->line, why.text);
    if (nt_names_add_copy(&r->net.host, name, strlen(name), &node->vertex, err) < 0)
        return -1;
    *host = node->vertex;
    if (!named && r->unnamed++ == 0)
        r->first_unnamed = index;
    return 0;
}

static int find_repeated(const struct reading *r, struct nt_names *twice, struct nt_err *err)
{
    struct nt_names seen = {0};
    int rc = 0;
    for (size_t k = 0; rc >= 0 && k < r->id.count; k++) {
        char name[NAME_BYTES];
        uint32_t index;
        if (r->node[k].kind != KIND_SWITCH || !switch_name(r, &r->node[k], name))
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
    }
    for (uint32_t k = 0; rc == 0 && k < 2 * r->id.count; k++)
        if (r->node[k % r->id.count].kind == KIND_ADAPTER)
            rc = name_host(r, (uint32_t)(k % r->id.count), k < r->id.count, err);
    nt_names_fini(&twice);
    if (rc == 0 && r->net.host.count == 0)
        rc = nt_err_set(err, NT_ERR_INPUT, "%s: expected the adapter of a host, found none",
                        r->text.file);
    if (rc == 0 && r->net.switches.count > NT_HOSTS_MAX)
        rc = nt_err_set(err, NT_ERR_INPUT, "%s: more than %d switches", r->text.file,
                        (int)NT_HOSTS_MAX);
    return rc;
}

/* ---- cables ---------------------------------------------------------------------------------- */

static int compare_ports(const void *a, const void *b)
{
    const struct port *x = a, *y = b;
    return NT_ORDER(x->from, y->from,
                    NT_ORDER(x->from_port, y->from_port,
                             NT_ORDER(x->to, y->to, NT_ORDER(x->to_port, y->to_port, 0))));
}

/* Adds each cable once, whichever of its ends listed it. */
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

/* Adds one warning for each incomplete part of the scan. */
static int warn(const struct reading *r, struct nt_map *map, struct nt_err *err)
{
    const struct node *node = &r->node[r->first_unnamed];
    int rc = 0;
    if (r->lost > 0)
        rc = nt_map_warn(map, err, "incomplete scan: %zu line%s ignored, the last is line %zu",
                         r->lost, r->lost == 1 ? "" : "s", r->last);
    if (rc == 0 && r->unnamed > 0)
        rc = nt_map_warn(
            map, err,
            "%zu of %zu hosts are named by their GUID, such as %s. The description \"%.64s\" "
            "contains no host name. Pass names with --names FILE.",
            r->unnamed, r->net.host.count, r->id.name[r->first_unnamed], node->description);
    return rc;
}

static int make_map(struct reading *r, struct nt_map **out, struct nt_err *err)
{
    if (read_all(r, err) != 0 || name_nodes(r, err) != 0 || add_cables(r, err) != 0 ||
        import_network_map(&r->net, out, err) != 0)
        return -1;
    if (warn(r, *out, err) == 0)
        return 0;
    nt_map_destroy(*out);
    *out = NULL;
    return -1;
}

int nt_import_ibnetdiscover(const char *file, const char *text, size_t bytes,
                            const struct nt_name_file *names, struct nt_map **out,
                            struct nt_err *err)
{
    struct reading r = {.names = names};
    int rc = nt_text_begin(&r.text, file, text, bytes, err);
    if (rc == 0)
        rc = make_map(&r, out, err);
    import_network_fini(&r.net);
    nt_names_fini(&r.id);
    nt_names_fini(&r.systems);
    nt_arena_fini(&r.memory);
    return rc;
}

bool nt_is_ibnetdiscover(const char *text)
{
    struct nt_text lines = {.at = text, .end = text + strlen(text)};
    struct nt_text_line line;
    while (nt_text_next_line(&lines, &line)) {
        struct nt_word word, second, third;
        if (is_link_info(&line))
            return true;
        nt_line_next_word(&line, &word);
        nt_line_next_word(&line, &second);
        nt_line_next_word(&line, &third);
        bool node = kind_of(word) != KIND_UNKNOWN && third.bytes > 3 && third.at[0] == '"' &&
                    third.at[2] == '-';
        bool port = (nt_word_is(word, "SW") || nt_word_is(word, "CA") || nt_word_is(word, "RT")) &&
                    third.bytes > 0 && third.at[0] >= '0' && third.at[0] <= '9';
        if (node || port || (word.bytes > 7 && memcmp(word.at, "vendid=", 7) == 0))
            return true;
    }
    return false;
}
