/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "map.h"
#include "memory.h"
#include "routes_text.h"

struct nt_routes_reader {
    struct nt_lines lines;
    struct nt_routes_builder *builder;
    struct nt_routes_text *text;
    uint32_t last;                     /* the first host of the line before: lines come sorted */
    uint32_t link[NT_ROUTE_LINKS_MAX]; /* of the line in the making */
};

void nt_routes_text_destroy(struct nt_routes_text *text)
{
    if (text == NULL)
        return;
    nt_routes_destroy(text->routes);
    nt_names_fini(&text->hosts);
    nt_names_fini(&text->links);
    free(text);
}

void nt_routes_reader_destroy(struct nt_routes_reader *reader)
{
    if (reader == NULL)
        return;
    nt_lines_fini(&reader->lines);
    nt_routes_builder_destroy(reader->builder);
    nt_routes_text_destroy(reader->text);
    free(reader);
}

int nt_routes_reader_create(const char *file, struct nt_routes_reader **out, struct nt_err *err)
{
    struct nt_routes_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nt_err_memory(err);
    nt_lines_init(&r->lines, file, NT_LINE_MAX);
    r->text = calloc(1, sizeof *r->text);
    if (r->text == NULL)
        (void)nt_err_memory(err);
    if (r->text == NULL || nt_routes_builder_create(&r->builder, err) != 0) {
        nt_routes_reader_destroy(r);
        return -1;
    }
    *out = r;
    return 0;
}

static int check_link_name(const char *name, size_t bytes, struct nt_err *err)
{
    bool ok = bytes <= NT_LINK_NAME_MAX;
    for (size_t k = 0; ok && k < bytes; k++)
        ok = name[k] > ' ' && name[k] < 0x7f;
    if (ok)
        return 0;
    return nt_err_set(err, NT_ERR_INPUT,
                      "expected a link's name of at most %d printable characters, found \"%.*s\"",
                      (int)NT_LINK_NAME_MAX, nt_line_shown(bytes), name);
}

/* A name that is new: checked, copied, numbered. */
static int add_name(struct nt_names *names, const char *word, size_t bytes, bool is_host,
                    uint32_t *index, struct nt_err *err)
{
    size_t most = is_host ? (size_t)NT_HOSTS_MAX : (size_t)NT_ROUTES_LINKS_MAX;
    if (names->count >= most)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %zu %s, found more", most,
                          is_host ? "hosts" : "links");
    if (!is_host && check_link_name(word, bytes, err) != 0)
        return -1;
    const char *name = nt_arena_text(&names->memory, word, bytes);
    if (nt_arena_check(&names->memory, err) != 0 || (is_host && nt_host_name_check(name, err) != 0))
        return -1;
    return nt_names_add(names, name, index, err);
}

static int find_name(struct nt_names *names, const char *word, size_t bytes, bool is_host,
                     uint32_t *index, struct nt_err *err)
{
    *index = nt_names_find(names, word, bytes);
    return *index != NT_NAMES_NONE ? 0 : add_name(names, word, bytes, is_host, index, err);
}

static bool is_name(const struct nt_names *names, uint32_t index, const char *word, size_t bytes)
{
    return index < names->count && strncmp(names->name[index], word, bytes) == 0 &&
           names->name[index][bytes] == '\0';
}

static int take_links(struct nt_routes_reader *r, struct nt_text_line *line, size_t *n,
                      struct nt_err *err)
{
    struct nt_word word;
    while (nt_line_next_word(line, &word)) {
        if (*n == NT_ROUTE_LINKS_MAX)
            return nt_line_fail(line, err, "expected at most %d links on a route, found more",
                                (int)NT_ROUTE_LINKS_MAX);
        if (find_name(&r->text->links, word.at, word.bytes, false, &r->link[(*n)++], err) != 0)
            return -1;
    }
    return 0;
}

static int take_route(void *to, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_routes_reader *r = to;
    struct nt_word word;
    size_t links = 0;
    uint32_t a = r->last, b;
    if (!nt_line_next_word(line, &word))
        return 0;
    if (!is_name(&r->text->hosts, a, word.at, word.bytes) &&
        find_name(&r->text->hosts, word.at, word.bytes, true, &a, err) != 0)
        return -1;
    r->last = a;
    if (!nt_line_next_word(line, &word))
        return nt_line_fail(line, err, "expected HOST HOST LINK [LINK...], found one host");
    if (find_name(&r->text->hosts, word.at, word.bytes, true, &b, err) != 0 ||
        take_links(r, line, &links, err) != 0)
        return -1;
    if (nt_routes_builder_add(r->builder, a, b, r->link, links, err) != 0)
        return nt_err_prefix(err, "%s %s", r->text->hosts.name[a], r->text->hosts.name[b]);
    return 0;
}

int nt_routes_reader_feed(struct nt_routes_reader *r, const char *text, size_t bytes,
                          struct nt_err *err)
{
    return nt_lines_feed(&r->lines, text, bytes, take_route, r, err);
}

int nt_routes_reader_finish(struct nt_routes_reader *r, struct nt_routes_text **out,
                            struct nt_err *err)
{
    if (nt_lines_finish(&r->lines, take_route, r, err) != 0)
        return -1;
    if (r->text->hosts.count == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:%zu: expected HOST HOST LINK [LINK...], found "
                          "the end without any route",
                          r->lines.file, r->lines.number);
    if (nt_routes_builder_finish(r->builder, r->text->hosts.count, r->text->links.count,
                                 &r->text->routes, err) != 0)
        return nt_err_prefix(err, "%s", r->lines.file);
    *out = r->text;
    r->text = NULL;
    r->lines.broken = true;
    return 0;
}
