/* SPDX-License-Identifier: Apache-2.0 */
#include "import.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import_network.h"
#include "lines.h"
#include "memory.h"
#include "names.h"
#include "number.h"

enum {
    NAME_MAX_BYTES = 255,
    CHAIN_MAX = 4096,
    DEPTH_MAX = 64,
    EDGES_MAX = 16 * NT_HOSTS_MAX,
    PORTS_MAX = 4 * NT_HOSTS_MAX
};

enum token { END, WORD, EDGE, PUNCTUATION };

enum kind { KIND_UNKNOWN, KIND_BOX, KIND_HOST, KIND_SWITCH }; /* a box is a switch by its shape */

struct edge {
    uint32_t a, b;
    uint32_t a_port, b_port; /* NT_NAMES_NONE: not given */
    double latency_us, forth_MBps, back_MBps;
    bool simplex; /* from a to b only */
    bool both;    /* there is an arc in each direction */
};

struct vertex {
    enum kind kind;
    const char *label; /* label of a host that is named by an InfiniBand GUID; NULL */
    bool joined;       /* its edges belong to another vertex with that label */
};

struct reading {
    const char *file, *at, *end;
    size_t line;
    enum token token;
    char word[NAME_MAX_BYTES + 1]; /* the start of a longer word */
    bool cut, html;                /* the word was longer; it is the text in a label of tags */
    char sign;                     /* a character of PUNCTUATION */
    bool directed;
    struct nt_names names, ports;
    struct nt_arena memory; /* memory of the arrays */
    struct vertex *vertex;  /* by name */
    size_t vertex_room;
    struct edge *edge;
    size_t edges, edge_room;
    struct ends {
        struct end {
            uint32_t vertex, port;
        } * at;
        size_t n, room;
    } from, to; /* ends of the current edge */
    struct nt_err *err;
};

static int dot_error(struct reading *r, const char *expected)
{
    const char *found = r->token == END ? "the end" : r->token == WORD ? r->word : "";
    char sign[2] = {r->sign, '\0'};
    if (r->token == PUNCTUATION)
        found = sign;
    else if (r->token == EDGE)
        found = "an edge";
    return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: expected %s, found '%s'", r->file, r->line,
                      expected, found);
}

/* Skips spaces and the three kinds of comments. */
static int skip_space(struct reading *r)
{
    while (r->at < r->end) {
        size_t left = (size_t)(r->end - r->at);
        bool line_start = r->line == 1 && left > 0 && *r->at == '#';
        if (*r->at == '\n') {
            r->line++;
            r->at++;
            line_start = r->at < r->end && *r->at == '#';
        } else if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r') {
            r->at++;
        } else if (left > 1 && r->at[0] == '/' && r->at[1] == '*') {
            for (r->at += 2;; r->at++) {
                if (r->end - r->at < 2)
                    return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: a comment is not closed",
                                      r->file, r->line);
                r->line += *r->at == '\n';
                if (r->at[0] == '*' && r->at[1] == '/')
                    break;
            }
            r->at += 2;
        } else if (left > 1 && r->at[0] == '/' && r->at[1] == '/') {
            line_start = true;
        } else if (!line_start) {
            return 0;
        }
        if (line_start)
            while (r->at < r->end && *r->at != '\n')
                r->at++;
    }
    return 0;
}

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

static void put_char(struct reading *r, size_t *n, char c)
{
    if (*n == NAME_MAX_BYTES)
        r->cut = true;
    else
        r->word[(*n)++] = c;
}

static int read_quoted(struct reading *r)
{
    size_t n = 0;
    for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
        if (*r->at == '\n')
            r->line++;
        if (*r->at == '\\' && r->end - r->at > 1 &&
            r->at[1] == '\n') { /* continues on the next line */
            r->at++;
            r->line++;
            continue;
        }
        if (*r->at == '\\' && r->end - r->at > 1 && r->at[1] == '"')
            r->at++;
        put_char(r, &n, (char)(*r->at == '\0' ? '?' : *r->at));
    }
    if (r->at == r->end)
        return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: a quoted word is not closed", r->file,
                          r->line);
    r->at++;
    r->word[n] = '\0';
    return 0;
}

/* Reads a label of tags, "<<table><tr><td>n1</td>...>": the word is its first text, usually the
 * cell with the name. */
static int read_html(struct reading *r)
{
    size_t depth = 0, n = 0, line = r->line;
    bool done = false;
    r->html = true;
    for (; r->at < r->end; r->at++) {
        r->line += *r->at == '\n';
        if (*r->at == '<') {
            done = n > 0;
            depth++;
        } else if (*r->at == '>') {
            if (--depth == 0)
                break;
        } else if (depth == 1 && !done && (n > 0 || !isspace((unsigned char)*r->at))) {
            put_char(r, &n, (char)(*r->at == '\0' ? '?' : *r->at));
        }
    }
    if (r->at == r->end)
        return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: a label in <> is not closed", r->file,
                          line);
    r->at++;
    r->word[n] = '\0';
    return 0;
}

/* Reads the next token into r. */
static int next_token(struct reading *r)
{
    if (skip_space(r) != 0)
        return -1;
    r->cut = r->html = false;
    if (r->at == r->end) {
        r->token = END;
        return 0;
    }
    char c = *r->at;
    if (c == '-' && r->end - r->at > 1 && (r->at[1] == '-' || r->at[1] == '>')) {
        r->token = EDGE;
        r->at += 2;
        return 0;
    }
    r->token = WORD;
    if (c == '"')
        return read_quoted(r);
    if (c == '<')
        return read_html(r);
    size_t n = 0;
    if (c == '-')
        put_char(r, &n, *r->at++);
    while (r->at < r->end && is_plain(*r->at))
        put_char(r, &n, *r->at++);
    r->word[n] = '\0';
    if (n > 0 && !(n == 1 && c == '-'))
        return 0;
    if (c == '-' || strchr("{}[];,=:", c) == NULL || c == '\0')
        return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: unexpected byte 0x%02x", r->file, r->line,
                          (unsigned)(unsigned char)c);
    r->token = PUNCTUATION;
    r->sign = *r->at++;
    return 0;
}

static bool is_sign(const struct reading *r, char sign)
{
    return r->token == PUNCTUATION && r->sign == sign;
}

static bool is_keyword(const struct reading *r, const char *word)
{
    return r->token == WORD && strcasecmp(r->word, word) == 0;
}

/* ---- statements ---- */

/* The supported attributes. */
struct attributes {
    double latency_us, forth_Gbps, back_Gbps, label_Gbps;
    bool simplex;
    enum kind kind;
    char label[NAME_MAX_BYTES + 1];
};

/* Returns the kind of a vertex by its name in files that describe cables: ibtopotool's type=, the
 * function= of topology files of Cumulus Linux and NVIDIA Air. */
static enum kind kind_named(const char *name)
{
    static const char *const hosts[] = {"host", "server", "oob-server", "hca", "ca"};
    static const char *const switches[] = {"switch", "leaf",       "spine", "superspine", "tor",
                                           "exit",   "oob-switch", "core",  "router"};
    for (size_t k = 0; k < sizeof hosts / sizeof *hosts; k++)
        if (strcasecmp(name, hosts[k]) == 0)
            return KIND_HOST;
    for (size_t k = 0; k < sizeof switches / sizeof *switches; k++)
        if (strcasecmp(name, switches[k]) == 0)
            return KIND_SWITCH;
    return KIND_UNKNOWN;
}

/* Returns whether the text after a number is a rate: "40", "100G", "25.78 Gbit/s", but not
 * "1/0/24", which is a port. */
static bool is_rate(const char *behind)
{
    behind += strspn(behind, " ");
    return *behind == '\0' || *behind == '\\' || *behind == '(' || isalpha((unsigned char)*behind);
}

static void take_attribute(struct attributes *a, const char *name, const char *value)
{
    double number;
    const char *behind = nt_number_read(value, value + strlen(value), &number);
    bool numeric = behind != NULL && number > 0;
    enum kind kind = KIND_UNKNOWN;
    if (strcmp(name, "latency_us") == 0 && numeric)
        a->latency_us = number;
    else if (strcmp(name, "bandwidth_Gbps") == 0 && numeric)
        a->forth_Gbps = number;
    else if (strcmp(name, "bandwidth_back_Gbps") == 0 && numeric)
        a->back_Gbps = number;
    else if (strcmp(name, "label") == 0 && numeric && is_rate(behind) &&
             strstr(value, "us") == NULL)
        a->label_Gbps = number;
    else if (strcmp(name, "weight") == 0 && numeric && isnan(a->label_Gbps))
        a->label_Gbps = number;
    else if (strcmp(name, "simplex") == 0)
        a->simplex = strcmp(value, "true") == 0;
    else if (strcmp(name, "shape") == 0)
        kind = strcmp(value, "box") == 0 || strcmp(value, "square") == 0 ? KIND_BOX : KIND_UNKNOWN;
    else if (strcmp(name, "tier") == 0)
        kind = KIND_BOX;
    else if (strcmp(name, "kind") == 0 || strcmp(name, "type") == 0 ||
             strcmp(name, "function") == 0)
        kind = kind_named(value);
    a->kind = kind > a->kind ? kind : a->kind;
    if (strcmp(name, "label") == 0)
        snprintf(a->label, sizeof a->label, "%s", value);
}

/* Reads zero or more [name=value, ...]. */
static int read_attributes(struct reading *r, struct attributes *a)
{
    *a = (struct attributes){.latency_us = (double)NAN,
                             .forth_Gbps = (double)NAN,
                             .back_Gbps = (double)NAN,
                             .label_Gbps = (double)NAN};
    while (is_sign(r, '[')) {
        if (next_token(r) != 0)
            return -1;
        while (!is_sign(r, ']')) {
            char name[NAME_MAX_BYTES + 1];
            if (r->token != WORD)
                return dot_error(r, "an attribute");
            memcpy(name, r->word, sizeof name);
            if (next_token(r) != 0)
                return -1;
            if (is_sign(r, '=')) {
                if (next_token(r) != 0)
                    return -1;
                if (r->token != WORD)
                    return dot_error(r, "a value");
                take_attribute(a, name, r->word);
                if (next_token(r) != 0)
                    return -1;
            }
            if ((is_sign(r, ',') || is_sign(r, ';')) && next_token(r) != 0)
                return -1;
        }
        if (next_token(r) != 0)
            return -1;
    }
    return 0;
}

/* Returns the kind of a node with an id of ibnetdiscover, "H-0002c90300337140" or "S-...". */
static enum kind kind_of_id(const char *name)
{
    uint64_t guid;
    if (strlen(name) != 18 || !nt_guid_read(name, 18, &guid))
        return KIND_UNKNOWN;
    return *name == 'H' ? KIND_HOST : KIND_SWITCH;
}

static int add_vertex(struct reading *r, uint32_t *index)
{
    struct nt_err why = {0};
    if (r->cut)
        return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: expected a name of at most %d bytes",
                          r->file, r->line, (int)NAME_MAX_BYTES);
    if (r->html)
        return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: expected a name, found tags in <>",
                          r->file, r->line);
    if (nt_host_name_check(r->word, &why) != 0)
        return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: %s", r->file, r->line, why.text);
    int rc = nt_names_add_copy(&r->names, r->word, strlen(r->word), index, r->err);
    if (rc < 0)
        return -1;
    if (*index >= NT_HOSTS_MAX)
        return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: more than %d vertices", r->file, r->line,
                          (int)NT_HOSTS_MAX);
    if (rc > 0)
        return 0;
    r->vertex = nt_arena_grow(&r->memory, r->vertex, &r->vertex_room, *index + (size_t)1,
                              sizeof *r->vertex);
    if (nt_arena_check(&r->memory, r->err) != 0)
        return -1;
    r->vertex[*index] = (struct vertex){.kind = kind_of_id(r->names.name[*index])};
    return 0;
}

/* Adds an edge; its values follow. */
static int add_edge(struct reading *r, struct end a, struct end b)
{
    if (r->edges == EDGES_MAX)
        return nt_err_set(r->err, NT_ERR_INPUT, "more than %d links", (int)EDGES_MAX);
    r->edge = nt_arena_grow(&r->memory, r->edge, &r->edge_room, r->edges + 1, sizeof *r->edge);
    if (nt_arena_check(&r->memory, r->err) != 0)
        return -1;
    r->edge[r->edges++] =
        (struct edge){.a = a.vertex, .b = b.vertex, .a_port = a.port, .b_port = b.port};
    return 0;
}

/* Returns whether the word is a compass point. */
static bool is_compass(const char *word)
{
    static const char *const points[] = {"n", "ne", "e", "se", "s", "sw", "w", "nw", "c", "_"};
    for (size_t k = 0; k < sizeof points / sizeof *points; k++)
        if (strcmp(word, points[k]) == 0)
            return true;
    return false;
}

/* Reads ":port", ":port:sw" or ":sw" after a vertex. Only switches of Cumulus Linux have ports
 * named swp1. */
static int read_port(struct reading *r, struct end *end)
{
    for (int part = 0; part < 2 && is_sign(r, ':'); part++) {
        if (next_token(r) != 0)
            return -1;
        if (r->token != WORD)
            return dot_error(r, "a port");
        if (part == 0 && !is_compass(r->word) &&
            nt_names_add_copy(&r->ports, r->word, strlen(r->word), &end->port, r->err) < 0)
            return -1;
        if (r->ports.count > PORTS_MAX)
            return nt_err_set(r->err, NT_ERR_INPUT, "%s:%zu: more than %d names of ports", r->file,
                              r->line, (int)PORTS_MAX);
        if (strncmp(r->word, "swp", 3) == 0 && isdigit((unsigned char)r->word[3]))
            r->vertex[end->vertex].kind =
                r->vertex[end->vertex].kind == KIND_HOST ? KIND_HOST : KIND_SWITCH;
        if (next_token(r) != 0)
            return -1;
    }
    return 0;
}

/* Adds the current vertex with its port. */
static int add_end(struct reading *r, struct ends *e)
{
    struct end end = {0, NT_NAMES_NONE};
    if (add_vertex(r, &end.vertex) != 0 || next_token(r) != 0 || read_port(r, &end) != 0)
        return -1;
    e->at = nt_arena_grow(&r->memory, e->at, &e->room, e->n + 1, sizeof *e->at);
    if (nt_arena_check(&r->memory, r->err) != 0)
        return -1;
    e->at[e->n++] = end;
    return 0;
}

/* Reads the end of an edge: a vertex, or { several }. */
static int read_ends(struct reading *r, struct ends *e)
{
    e->n = 0;
    if (is_keyword(r, "subgraph") &&
        (next_token(r) != 0 || (r->token == WORD && next_token(r) != 0)))
        return -1;
    if (r->token == WORD)
        return add_end(r, e);
    if (!is_sign(r, '{'))
        return dot_error(r, "a vertex");
    if (next_token(r) != 0)
        return -1;
    while (!is_sign(r, '}')) {
        if (r->token != WORD)
            return dot_error(r, "a vertex or }");
        if (add_end(r, e) != 0)
            return -1;
        if ((is_sign(r, ',') || is_sign(r, ';')) && next_token(r) != 0)
            return -1;
    }
    return next_token(r);
}

static int add_edges(struct reading *r)
{
    for (size_t k = 0; k < r->from.n; k++)
        for (size_t j = 0; j < r->to.n; j++)
            if (add_edge(r, r->from.at[k], r->to.at[j]) != 0)
                return -1;
    return 0;
}

static void settle_edges(struct reading *r, size_t first, const struct attributes *a)
{
    double forth = isnan(a->forth_Gbps) ? a->label_Gbps : a->forth_Gbps;
    for (size_t e = first; e < r->edges; e++) {
        r->edge[e].latency_us = a->latency_us;
        r->edge[e].forth_MBps = forth * 1000 / 8;
        r->edge[e].back_MBps = a->back_Gbps * 1000 / 8;
        r->edge[e].simplex = a->simplex;
    }
}

/* Finds the name of a node that is named by its GUID and has its description in the label, such as
 * "n1\\nMT25408|<1>1". */
static bool name_in_label(const char *label, char name[NT_HOST_NAME_BYTES])
{
    char text[NAME_MAX_BYTES + 1];
    size_t n = 0;
    label += *label == '{';
    for (; *label != '\0' && *label != '|'; label++) {
        bool breaks = *label == '\\' && label[1] != '\0' && strchr("nlr", label[1]) != NULL;
        label += breaks;
        text[n++] = (char)(breaks ? ' ' : *label);
    }
    text[n] = '\0';
    return nt_host_of_description(text, name);
}

static int settle_vertex(struct reading *r, uint32_t index, const struct attributes *a)
{
    struct vertex *v = &r->vertex[index];
    char name[NT_HOST_NAME_BYTES];
    if (kind_of_id(r->names.name[index]) == KIND_UNKNOWN)
        v->kind = a->kind > v->kind ? a->kind : v->kind;
    else if (v->kind == KIND_HOST && name_in_label(a->label, name))
        v->label = nt_arena_text(&r->memory, name, strlen(name));
    return nt_arena_check(&r->memory, r->err);
}

/* Reads a vertex, a chain of vertices, or name = value; the first word has been read. */
static int read_statement(struct reading *r)
{
    size_t first_edge = r->edges, links = 0;
    struct attributes a;
    if (is_keyword(r, "node") || is_keyword(r, "edge") || is_keyword(r, "graph"))
        return next_token(r) != 0 ? -1 : read_attributes(r, &a);
    struct reading before = *r;
    if (next_token(r) != 0)
        return -1;
    if (is_sign(r, '=')) { /* an attribute of the graph */
        if (next_token(r) != 0)
            return -1;
        return r->token == WORD ? next_token(r) : dot_error(r, "a value");
    }
    r->at = before.at;
    r->line = before.line;
    r->token = before.token;
    r->cut = before.cut;
    r->html = before.html;
    memcpy(r->word, before.word, sizeof r->word);
    if (read_ends(r, &r->from) != 0)
        return -1;
    while (r->token == EDGE) {
        if (++links > CHAIN_MAX)
            return dot_error(r, "a shorter chain");
        if (next_token(r) != 0 || read_ends(r, &r->to) != 0 || add_edges(r) != 0)
            return -1;
        struct ends last = r->from;
        r->from = r->to;
        r->to = last;
    }
    if (read_attributes(r, &a) != 0)
        return -1;
    if (links == 0 && r->from.n > 0 && settle_vertex(r, r->from.at[0].vertex, &a) != 0)
        return -1;
    settle_edges(r, first_edge, &a);
    return 0;
}

static int read_graph(struct reading *r)
{
    if (next_token(r) != 0 || (is_keyword(r, "strict") && next_token(r) != 0))
        return -1;
    if (!is_keyword(r, "graph") && !is_keyword(r, "digraph"))
        return dot_error(r, "graph or digraph");
    r->directed = is_keyword(r, "digraph");
    if (next_token(r) != 0 || (r->token == WORD && next_token(r) != 0))
        return -1;
    if (!is_sign(r, '{'))
        return dot_error(r, "{");
    if (next_token(r) != 0)
        return -1;
    for (int depth = 1; depth > 0;) {
        if (r->token == WORD && !is_keyword(r, "subgraph")) {
            if (read_statement(r) != 0)
                return -1;
            continue;
        }
        if (is_keyword(r, "subgraph")) {
            if (next_token(r) != 0 || (r->token == WORD && next_token(r) != 0))
                return -1;
            if (!is_sign(r, '{'))
                return dot_error(r, "{");
        }
        if (is_sign(r, '{') && ++depth > DEPTH_MAX)
            return dot_error(r, "fewer subgraphs in each other");
        if (is_sign(r, '}'))
            depth--;
        else if (!is_sign(r, '{') && !is_sign(r, ';'))
            return dot_error(r, "a vertex or }");
        if (next_token(r) != 0)
            return -1;
    }
    return r->token == END ? 0 : dot_error(r, "the end");
}

/* ---- the network ---- */

/* Joins adapters with the same host name. */
static int join_adapters(struct reading *r)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_names hosts = {0};
    uint32_t *same = nt_arena_array(&memory, r->names.count, sizeof *same);
    uint32_t *first = nt_arena_array(&memory, r->names.count, sizeof *first);
    int rc = nt_arena_check(&memory, r->err);
    for (uint32_t v = 0; rc == 0 && v < r->names.count; v++) {
        const char *name = r->vertex[v].label != NULL ? r->vertex[v].label : r->names.name[v];
        uint32_t index;
        int there = nt_names_add(&hosts, name, &index, r->err);
        first[index] = there == 0 ? v : first[index];
        same[v] = first[index];
        rc = there < 0 ? -1 : 0;
    }
    for (size_t k = 0; rc == 0 && k < r->edges; k++) {
        r->edge[k].a = same[r->edge[k].a];
        r->edge[k].b = same[r->edge[k].b];
    }
    for (uint32_t v = 0; rc == 0 && v < r->names.count; v++)
        r->vertex[v].joined = same[v] != v;
    nt_names_fini(&hosts);
    return rc;
}

/* Orders the ends by index, and the ports with them. */
static void order_ends(const struct edge *e, uint32_t end[4])
{
    bool back = e->a > e->b;
    end[0] = back ? e->b : e->a;
    end[1] = back ? e->a : e->b;
    end[2] = back ? e->b_port : e->a_port;
    end[3] = back ? e->a_port : e->b_port;
}

static int compare_ends(const struct edge *a, const struct edge *b, size_t parts)
{
    uint32_t x[4], y[4];
    order_ends(a, x);
    order_ends(b, y);
    for (size_t k = 0; k < parts; k++)
        if (x[k] != y[k])
            return x[k] < y[k] ? -1 : 1;
    return 0;
}

static int by_cable(const void *x, const void *y)
{
    const struct edge *a = x, *b = y;
    int order = compare_ends(a, b, 4);
    return order != 0 ? order : NT_ORDER(a->a, b->a, 0);
}

static bool has_ports(const struct edge *e)
{
    return e->a_port != NT_NAMES_NONE && e->b_port != NT_NAMES_NONE;
}

static double back_of(const struct edge *e)
{
    return isnan(e->back_MBps) ? e->forth_MBps : e->back_MBps;
}

/* Joins edges of one cable: edges between the same ports, and in a digraph two arcs of a pair in
 * opposite directions, unless their ports differ. Returns the number of cables. */
static size_t merge_arcs(const struct reading *r)
{
    size_t kept = 0;
    for (size_t k = 0; k < r->edges; k++) {
        struct edge *e = &r->edge[k], *last = kept > 0 ? &r->edge[kept - 1] : NULL;
        bool ports = last != NULL && has_ports(e) && has_ports(last);
        if (e->a == e->b)
            continue;
        if (last == NULL || compare_ends(last, e, ports ? 4 : 2) != 0)
            r->edge[kept++] = *e;
        else if (r->directed && e->a != last->a) {
            last->back_MBps =
                isnan(last->back_MBps) || ports ? e->forth_MBps : last->back_MBps + e->forth_MBps;
            last->both = true;
        } else if (!ports)
            last->forth_MBps += e->forth_MBps;
    }
    return kept;
}

/* Adds up the cables of a pair. */
static void merge_edges(struct reading *r)
{
    size_t kept = 0;
    if (r->edges > 0)
        qsort(r->edge, r->edges, sizeof *r->edge, by_cable);
    size_t cables = merge_arcs(r);
    for (size_t k = 0; k < cables; k++) {
        struct edge *e = &r->edge[k], *last = kept > 0 ? &r->edge[kept - 1] : NULL;
        if (last == NULL || compare_ends(last, e, 2) != 0) {
            r->edge[kept++] = *e;
            continue;
        }
        bool turned = e->a != last->a;
        if (!isnan(last->back_MBps) || !isnan(e->back_MBps))
            last->back_MBps = back_of(last) + (turned ? e->forth_MBps : back_of(e));
        last->forth_MBps += turned ? back_of(e) : e->forth_MBps;
        last->both = last->both || e->both || turned;
        last->simplex = last->simplex && e->simplex;
    }
    r->edges = kept;
}

/* Numbers hosts from 0, then switches, and adapters as their host; returns the number of hosts.
 * links: by name, 0. *all: number of vertices. */
static size_t number_names(const struct reading *r, uint32_t *links, uint32_t *vertex, size_t *all)
{
    size_t n = r->names.count, hosts = 0, single = 0;
    uint32_t next = 0;
    bool known = false; /* the text states the kind of each */
    for (size_t k = 0; k < r->edges; k++) {
        links[r->edge[k].a]++;
        links[r->edge[k].b]++;
    }
    for (size_t v = 0; v < n; v++) {
        single += links[v] == 1;
        known = known || r->vertex[v].kind >= KIND_HOST;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t v = 0; v < n; v++) {
            enum kind kind = r->vertex[v].kind;
            bool is_switch = kind == KIND_SWITCH || kind == KIND_BOX ||
                             (kind != KIND_HOST && !known && single > 0 && links[v] > 1 && n > 2);
            if (is_switch == (pass == 1) && !r->vertex[v].joined)
                vertex[v] = next++;
        }
        hosts = pass == 0 ? next : hosts;
    }
    *all = next;
    return hosts;
}

/* Switches keep their names of the text. */
static int name_switches(const struct reading *r, const uint32_t *vertex, struct nt_map *map)
{
    size_t hosts = map->model->hosts;
    for (size_t v = 0; v < r->names.count; v++)
        if (!r->vertex[v].joined && vertex[v] >= hosts &&
            nt_map_set_text(&map->switch_name[vertex[v] - hosts], r->names.name[v], r->err) != 0)
            return -1;
    return 0;
}

static int make_map(struct reading *r, struct nt_map **out)
{
    size_t n = r->names.count;
    struct nt_model *m;
    struct nt_map *map;
    uint32_t *vertex = nt_arena_array(&r->memory, n, sizeof *vertex);
    uint32_t *links = nt_arena_array(&r->memory, n, sizeof *links);
    const char **host = nt_arena_array(&r->memory, n, sizeof *host);
    if (nt_arena_check(&r->memory, r->err) != 0)
        return -1;
    size_t all, hosts = number_names(r, links, vertex, &all);
    if (hosts == 0)
        return nt_err_set(r->err, NT_ERR_INPUT, "%s: expected hosts, found none", r->file);
    if (nt_model_create(hosts, all - hosts, r->edges, &m, r->err) != 0)
        return -1;
    for (size_t k = 0; k < r->edges; k++) {
        const struct edge *e = &r->edge[k];
        m->link[k].a = vertex[e->a];
        m->link[k].b = vertex[e->b];
        m->link[k].latency_us = e->latency_us;
        m->link[k].bandwidth_MBps = e->forth_MBps;
        m->link[k].bandwidth_back_MBps = isnan(e->back_MBps) ? e->forth_MBps : e->back_MBps;
        m->link[k].simplex = e->simplex;
    }
    if (r->edges > 0)
        import_network_mark_missing(m);
    m->family = NT_FAMILY_UNDETERMINED;
    for (size_t v = 0; v < n; v++)
        if (!r->vertex[v].joined && vertex[v] < hosts)
            host[vertex[v]] = r->vertex[v].label != NULL ? r->vertex[v].label : r->names.name[v];
    if (nt_map_create(m, host, &map, r->err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    if (name_switches(r, vertex, map) != 0) {
        nt_map_destroy(map);
        return -1;
    }
    *out = map;
    return 0;
}

/* ---- Trivial Graph Format ---- */

/* Reads "ID NAME"; without a name the ID is the name. */
static int read_tgf_vertex(struct reading *r, struct nt_text_line line, struct nt_names *ids)
{
    struct nt_word id, name, more;
    uint32_t index, vertex;
    if (!nt_line_next_word(&line, &id) || id.bytes > NAME_MAX_BYTES)
        return nt_line_fail(&line, r->err, "expected a number and a name");
    int rc = nt_names_add_copy(ids, id.at, id.bytes, &index, r->err);
    if (rc != 0)
        return rc < 0 ? -1
                      : nt_line_fail(&line, r->err, "vertex %s appears twice", ids->name[index]);
    name = nt_line_next_word(&line, &name) ? name : id;
    if (name.bytes > NAME_MAX_BYTES || nt_line_next_word(&line, &more))
        return nt_line_fail(&line, r->err, "expected a name without spaces after %s",
                            ids->name[index]);
    memcpy(r->word, name.at, name.bytes);
    r->word[name.bytes] = '\0';
    r->line = line.number;
    if (add_vertex(r, &vertex) != 0)
        return -1;
    return vertex == index
               ? 0
               : nt_line_fail(&line, r->err, "name %s appears twice", r->names.name[vertex]);
}

/* Reads "ID ID l: US t: MBPS"; ignores other labels. */
static int read_tgf_edge(struct reading *r, struct nt_text_line line, const struct nt_names *ids)
{
    struct end end[2];
    struct nt_word word;
    for (int k = 0; k < 2; k++) {
        end[k].vertex = nt_line_next_word(&line, &word) ? nt_names_find(ids, word.at, word.bytes)
                                                        : (uint32_t)NT_NAMES_NONE;
        end[k].port = NT_NAMES_NONE;
        if (end[k].vertex == NT_NAMES_NONE)
            return nt_line_fail_word(&line, "two vertices that were named before \"#\"", word,
                                     r->err);
    }
    if (add_edge(r, end[0], end[1]) != 0)
        return -1;
    struct edge *e = &r->edge[r->edges - 1];
    e->latency_us = e->forth_MBps = e->back_MBps = (double)NAN;
    if (nt_line_take_word(&line, "l:") &&
        nt_line_take_value(&line, "a latency in us", &e->latency_us, r->err) != 0)
        return -1;
    if (nt_line_take_word(&line, "t:") &&
        nt_line_take_value(&line, "a bandwidth in MB/s", &e->forth_MBps, r->err) != 0)
        return -1;
    return 0;
}

static int read_tgf(struct reading *r, struct nt_text *text, struct nt_names *ids)
{
    struct nt_text_line line;
    bool edges = false;
    while (nt_text_next_line(text, &line)) {
        if (!edges && *line.at == '#')
            edges = true;
        else if ((edges ? read_tgf_edge(r, line, ids) : read_tgf_vertex(r, line, ids)) != 0)
            return -1;
    }
    return edges ? 0
                 : nt_line_fail(&line, r->err, "expected a line \"#\" between vertices and links");
}

/* Marks a link in one direction only as one-way if others have both. */
static void mark_once(struct reading *r)
{
    bool both = false;
    for (size_t k = 0; k < r->edges; k++)
        both = both || r->edge[k].both;
    for (size_t k = 0; k < r->edges; k++)
        r->edge[k].simplex = both && !r->edge[k].both;
}

int nt_import_tgf(const char *file, const char *text, size_t bytes, struct nt_map **out,
                  struct nt_err *err)
{
    struct reading r = {.file = file, .directed = true, .err = err};
    struct nt_names ids = {0};
    struct nt_text lines;
    int rc = nt_text_begin(&lines, file, text, bytes, err);
    if (rc == 0)
        rc = read_tgf(&r, &lines, &ids);
    if (rc == 0) {
        merge_edges(&r);
        mark_once(&r);
        rc = make_map(&r, out);
    }
    nt_names_fini(&ids);
    nt_names_fini(&r.names);
    nt_arena_fini(&r.memory);
    return rc;
}

/* ---- DOT ---- */

int nt_import_dot(const char *file, const char *text, size_t bytes, struct nt_map **out,
                  struct nt_err *err)
{
    struct reading r = {.file = file, .at = text, .end = text + bytes, .line = 1, .err = err};
    int rc = read_graph(&r);
    if (rc == 0)
        rc = join_adapters(&r);
    if (rc == 0) {
        merge_edges(&r);
        rc = make_map(&r, out);
    }
    nt_names_fini(&r.names);
    nt_names_fini(&r.ports);
    nt_arena_fini(&r.memory);
    return rc;
}
