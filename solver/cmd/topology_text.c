/* SPDX-License-Identifier: Apache-2.0 */
#include "topology_text.h"

#include <string.h>
#include <strings.h>

/* ---- topology.yaml: several topologies in one file ---- */

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

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return at + (*at == '\n');
}

int nt_topology_find(const struct nt_topology_text *yaml, const char *name, const char **at,
                     size_t *bytes, struct nt_err *err)
{
    *at = NULL;
    *bytes = 0;
    for (const char *line = yaml->text; *line != '\0'; line = next_line(line)) {
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

static bool is_key(const char *line, const char *key)
{
    return strncmp(line, key, strlen(key)) == 0;
}

bool nt_topology_is_block(const char *text, size_t bytes, bool yaml)
{
    for (const char *line = text; line < text + bytes; line = next_line(line))
        if (yaml ? is_key(line, "  block:") : strncasecmp(line, "BlockName=", 10) == 0)
            return true;
    return false;
}

static bool is_within(const char *line, const char *end, const char *indent)
{
    return line < end && (is_key(line, indent) || *line == '\n' || *line == '#');
}

/* The lines of block_sizes, for the new block. */
static void put_sizes(struct nt_strbuf *d, const char *at, const char *end)
{
    for (const char *line = at; line < end; line = next_line(line)) {
        if (!is_key(line, "    block_sizes:"))
            continue;
        const char *stop = next_line(line);
        while (stop < end && (is_key(stop, "     ") || is_key(stop, "    -")))
            stop = next_line(stop);
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
    const char *blocks = next_line(body + 1);
    nt_strbuf_put(d, body + 1, (size_t)(blocks - body - 1));
    put_sizes(d, at, end);
    nt_strbuf_puts(d, blocks);
}

/* What follows the body before the next key at its depth: comments and blank lines, which stay. */
static const char *after_body(const char *line, const char *end)
{
    const char *stop = next_line(line);
    for (const char *at = stop; is_within(at, end, "   "); at = next_line(at))
        if (is_key(at, "   "))
            stop = next_line(at);
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
        bool body = is_key(line, "  tree:") || is_key(line, "  block:") || is_key(line, "  flat:");
        const char *stop = body ? after_body(line, end) : next_line(line);
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

/* ---- topology.conf ---- */

void nt_topology_put_conf(struct nt_strbuf *d, const struct nt_topology_text *old,
                          const char *exported)
{
    static const char *const ours[] = {
        "SwitchName=", "BlockName=", "# topology/tree, found by nettopo",
        "# topology/block, found by nettopo"};
    for (const char *line = old->text; *line != '\0'; line = next_line(line)) {
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
