/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's topology.conf: KEY=VALUE pairs, a switch or a block a line, "#" comments, "\" continues
 * a line, keys in any case. The same with what scontrol show topology adds: of each switch its
 * level and all hosts below it, of each block its number and size, and blocks put together. */
#include "import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hostlist.h"
#include "import_network.h"
#include "lines.h"

enum { LINE_MAX_BYTES = 1 << 20 };

static const char TOP_OF_BLOCKS[] = "blocks";

/* Where a switch was declared: on its own line, or only as a child. */
struct defined {
    bool *yes;
    size_t capacity;
};

struct reading {
    struct nt_text text;
    char *joined; /* the line at hand, continued lines joined, without comments */
    size_t joined_capacity;
    struct import_network net;
    struct defined defined;
    size_t child_line; /* where the last undefined switch was seen, for the message */
    bool blocks, trees;
    struct nt_text_line line; /* the line at hand */
    uint32_t parent;          /* the switch of the line at hand */
    bool above;               /* scontrol: its nodes are those of its switches */
};

struct pair {
    const char *key, *value;
    size_t key_bytes, value_bytes;
};

static int append_text(struct reading *r, size_t *used, const char *at, size_t bytes,
                       struct nt_err *err)
{
    if (bytes > LINE_MAX_BYTES - *used)
        return nt_line_fail(&r->line, err, "a line of more than %d bytes", (int)LINE_MAX_BYTES);
    if (*used + bytes + 1 > r->joined_capacity) {
        size_t capacity = 2 * (*used + bytes + 1);
        char *more = realloc(r->joined, capacity);
        if (more == NULL)
            return nt_err_memory(err);
        r->joined = more;
        r->joined_capacity = capacity;
    }
    memcpy(r->joined + *used, at, bytes);
    *used += bytes;
    return 0;
}

/* 1: line is the next one, continued lines joined; 0: the end; -1: error. */
static int next_joined(struct reading *r, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_text_line part;
    size_t used = 0;
    bool any = false, go_on = true;
    while (go_on && nt_text_next_line(&r->text, &part)) {
        if (!any)
            r->line = part;
        any = true;
        const char *comment = memchr(part.at, '#', (size_t)(part.end - part.at));
        go_on = comment == NULL && part.end[-1] == '\\';
        const char *end = comment != NULL ? comment : go_on ? part.end - 1 : part.end;
        if (append_text(r, &used, part.at, (size_t)(end - part.at), err) != 0 ||
            append_text(r, &used, " ", 1, err) != 0)
            return -1;
    }
    if (!any)
        return 0;
    *line = (struct nt_text_line){r->text.file, r->line.number, r->joined, r->joined + used, false};
    r->line = *line;
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

static int add_switch(struct reading *r, const char *name, size_t bytes, bool define,
                      uint32_t *index, struct nt_err *err)
{
    struct defined *d = &r->defined;
    int rc = nt_names_add_copy(&r->net.switches, name, bytes, index, err);
    if (rc < 0)
        return -1;
    if (*index >= NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d switches", (int)NT_HOSTS_MAX);
    if (*index >= d->capacity) {
        size_t capacity = d->capacity == 0 ? 64 : 2 * d->capacity;
        bool *more = realloc(d->yes, capacity * sizeof *more);
        if (more == NULL)
            return nt_err_memory(err);
        d->yes = more;
        d->capacity = capacity;
    }
    if (rc == 0)
        d->yes[*index] = false;
    if (define && d->yes[*index])
        return nt_err_set(err, NT_ERR_INPUT, "%.*s is described twice", nt_line_shown(bytes), name);
    if (define)
        d->yes[*index] = true;
    return 0;
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
    if (add_switch(r, name, strlen(name), false, &child, err) != 0)
        return -1;
    r->child_line = r->line.number;
    return import_network_hang_switch(&r->net, r->parent, name, child, err);
}

static int visit_names(struct reading *r, const struct pair *p, nt_hostlist_each *each,
                       struct nt_err *err)
{
    if (nt_hostlist_visit(p->value, p->value_bytes, each, r, err) != 0)
        return nt_err_prefix(err, "%s:%zu", r->text.file, r->line.number);
    return 0;
}

static int read_pair(struct reading *r, const struct pair *p, struct nt_err *err)
{
    if (is_key(p, "Level") && !r->blocks) {
        r->above = p->value_bytes != 1 || *p->value != '0';
        return 0;
    }
    if (is_key(p, "Nodes") && r->above)
        return 0;
    if (is_key(p, "Nodes"))
        return visit_names(r, p, hang_host, err);
    if (is_key(p, "Switches") && !r->blocks)
        return visit_names(r, p, hang_switch, err);
    if (r->blocks ? is_key(p, "BlockIndex") || is_key(p, "BlockSize") : is_key(p, "LinkSpeed"))
        return 0;
    return nt_line_fail(&r->line, err, "unknown key %.*s", nt_line_shown(p->key_bytes), p->key);
}

/* The line's name comes first, as Slurm requires. */
static int open_switch(struct reading *r, const struct pair *p, bool block, struct nt_err *err)
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
    if (add_switch(r, name, p->value_bytes, true, &r->parent, err) != 0)
        return nt_err_prefix(err, "%s:%zu", r->text.file, r->line.number);
    return 0;
}

static int read_line(struct reading *r, struct nt_text_line line, struct nt_err *err)
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
    size_t cables = r->net.cables;
    for (;;) {
        if (next_pair(&line, &p, &more, err) != 0)
            return -1;
        if (!more)
            break;
        if (read_pair(r, &p, err) != 0)
            return -1;
    }
    if (r->net.cables == cables)
        return nt_line_fail(&line, err, "%s without nodes%s", block ? "a block" : "a switch",
                            block ? "" : " and switches");
    return 0;
}

static int join_blocks(struct reading *r, struct nt_err *err)
{
    size_t blocks = r->net.switches.count;
    uint32_t top;
    if (!r->blocks || blocks < 2)
        return 0;
    if (add_switch(r, TOP_OF_BLOCKS, strlen(TOP_OF_BLOCKS), true, &top, err) != 0)
        return nt_err_prefix(err, "%s", r->text.file);
    for (uint32_t k = 0; k < blocks; k++)
        if (import_network_add_cable(&r->net, k | IMPORT_SWITCH, top | IMPORT_SWITCH, NAN, err) !=
            0)
            return -1;
    return 0;
}

static int read_all(struct reading *r, struct nt_err *err)
{
    struct nt_text_line line;
    int rc;
    while ((rc = next_joined(r, &line, err)) > 0)
        if (read_line(r, line, err) != 0)
            return -1;
    if (rc < 0)
        return -1;
    for (size_t k = 0; k < r->net.switches.count; k++)
        if (!r->defined.yes[k])
            return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: no line describes switch %s",
                              r->text.file, r->child_line, r->net.switches.name[k]);
    if (r->net.host.count == 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: no nodes in it", r->text.file,
                          r->text.line + 1);
    return join_blocks(r, err);
}

int nt_import_topology_conf(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err)
{
    struct reading r = {0};
    int rc = nt_text_begin(&r.text, file, text, bytes, err);
    if (rc == 0)
        rc = read_all(&r, err);
    if (rc == 0)
        rc = import_network_map(&r.net, out, err);
    import_network_fini(&r.net);
    free(r.defined.yes);
    free(r.joined);
    return rc;
}
