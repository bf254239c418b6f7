/* SPDX-License-Identifier: Apache-2.0 */
#include "routes_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host_match.h"
#include "map.h"
#include "memory.h"
#include "number.h"
#include "samples.h"
#include "strbuf.h"

enum { MEASURED_MAX = 1 << 24 };
#define LATENCY_MAX_US 1e9 /* a quarter of an hour */

/* ---- routes --------------------------------------------------------------------------------- */

void nt_routes_text_destroy(struct nt_routes_text *text)
{
    if (text == NULL)
        return;
    nt_routes_destroy(text->routes);
    nt_names_fini(&text->hosts);
    nt_names_fini(&text->links);
    free(text);
}

struct routes_reading {
    struct nt_routes_builder *builder;
    const struct nt_routes_wanted *wanted;
    struct nt_host_index chosen; /* wanted's hosts */
    bool *found;                 /* by host of wanted: it is in the text */
    struct nt_routes_text *text;
    uint32_t last; /* first host of the previous line, because lines are sorted */
    uint32_t link[NT_ROUTE_LINKS_MAX]; /* links of the current line */
};

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

/* Adds a name: checks, copies and numbers it. */
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

/* Finds a host of the routes; each wanted host is found once. */
static int find_host(struct routes_reading *r, struct nt_word word, uint32_t *index,
                     struct nt_err *err)
{
    *index = nt_names_find(&r->text->hosts, word.at, word.bytes);
    if (*index != NT_NAMES_NONE)
        return 0;
    if (r->wanted->hosts != NULL) {
        uint32_t at = nt_host_index_find(&r->chosen, word.at, word.bytes);
        if (r->found[at])
            return nt_err_set(err, NT_ERR_INPUT,
                              "%.64s is asked for, and could be %.*s or a host before",
                              r->chosen.full.name[at], nt_line_shown(word.bytes), word.at);
        r->found[at] = true;
    }
    return add_name(&r->text->hosts, word.at, word.bytes, true, index, err);
}

static bool is_name(const struct nt_names *names, uint32_t index, const char *word, size_t bytes)
{
    return index < names->count && strncmp(names->name[index], word, bytes) == 0 &&
           names->name[index][bytes] == '\0';
}

static int take_links(struct routes_reading *r, struct nt_text_line *line, size_t *n,
                      struct nt_err *err)
{
    struct nt_word word;
    while (nt_line_next_word(line, &word)) {
        if (*n == NT_ROUTE_LINKS_MAX)
            return nt_line_fail(line, err, "expected at most %d links on a route, found more",
                                (int)NT_ROUTE_LINKS_MAX);
        uint32_t *link = &r->link[(*n)++];
        *link = nt_names_find(&r->text->links, word.at, word.bytes);
        if (*link == NT_NAMES_NONE &&
            add_name(&r->text->links, word.at, word.bytes, false, link, err) != 0)
            return -1;
    }
    return 0;
}

/* Returns whether the line has a host that is not wanted. */
static bool is_of_others(const struct routes_reading *r, struct nt_text_line line)
{
    bool all = r->wanted->hosts == NULL;
    struct nt_word word;
    for (int end = 0; !all && end < 2 && nt_line_next_word(&line, &word); end++)
        if (nt_host_index_find(&r->chosen, word.at, word.bytes) == NT_NAMES_NONE)
            return true;
    return false;
}

static int take_route(void *to, struct nt_text_line *line, struct nt_err *err)
{
    struct routes_reading *r = to;
    struct nt_word word;
    if (is_of_others(r, *line))
        return 0;
    size_t links = 0;
    uint32_t a = r->last, b;
    if (!nt_line_next_word(line, &word))
        return 0;
    if (!is_name(&r->text->hosts, a, word.at, word.bytes) && find_host(r, word, &a, err) != 0)
        return -1;
    r->last = a;
    if (!nt_line_next_word(line, &word))
        return nt_line_fail(line, err, "expected HOST HOST LINK [LINK...], found one host");
    if (find_host(r, word, &b, err) != 0 || take_links(r, line, &links, err) != 0)
        return -1;
    bool apart = r->wanted->one_way && a != b;
    if (nt_routes_builder_add(r->builder, apart ? nt_routes_source(a) : a,
                              apart ? nt_routes_target(b) : b, r->link, links, err) != 0)
        return nt_err_prefix(err, "%s %s", r->text->hosts.name[a], r->text->hosts.name[b]);
    return 0;
}

static int read_routes(struct routes_reading *r, const struct nt_text_source *source,
                       struct nt_err *err)
{
    size_t end;
    if (nt_lines_read(source, take_route, r, &end, err) != 0)
        return -1;
    if (r->text->hosts.count == 0 && r->wanted->hosts != NULL)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s: expected routes between the hosts of --hosts, found none",
                          source->file);
    if (r->text->hosts.count == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:%zu: expected HOST HOST LINK [LINK...], found none", source->file,
                          end);
    if (nt_routes_builder_finish(r->builder, r->text->hosts.count * (r->text->one_way ? 2 : 1),
                                 r->text->links.count, &r->text->routes, err) != 0)
        return nt_err_prefix(err, "%s", source->file);
    return 0;
}

int nt_routes_read(const struct nt_text_source *source, const struct nt_routes_wanted *wanted,
                   struct nt_routes_text **out, struct nt_err *err)
{
    static const struct nt_routes_wanted all = {0};
    struct routes_reading r = {.wanted = wanted != NULL ? wanted : &all,
                               .text = calloc(1, sizeof *r.text)};
    const struct nt_names *hosts = r.wanted->hosts;
    int rc = r.text == NULL ? nt_err_memory(err) : nt_routes_builder_create(&r.builder, err);
    if (rc == 0 && hosts != NULL) {
        r.found = calloc(hosts->count + 1, sizeof *r.found);
        rc = r.found == NULL ? nt_err_memory(err)
                             : nt_host_index_init(&r.chosen, hosts->name, hosts->count, err);
    }
    if (rc == 0)
        r.text->one_way = r.wanted->one_way;
    if (rc == 0)
        rc = read_routes(&r, source, err);
    nt_routes_builder_destroy(r.builder);
    nt_host_index_fini(&r.chosen);
    free(r.found);
    if (rc == 0)
        *out = r.text;
    else
        nt_routes_text_destroy(r.text);
    return rc;
}

/* ---- measurements --------------------------------------------------------------------------- */

/* First line of a sweep's samples, which are accepted too. */
static const char record_begins[] = "nettopo-samples/1\n";

struct measured_reading {
    const struct nt_routes_text *routes;
    struct nt_host_index hosts; /* of the routes */
    struct nt_pair_index *index;
    struct nt_measured *measured;
    size_t capacity;
    size_t matched;     /* number of bytes of record_begins so far */
    bool kind_is_known; /* the kind of text is known */
    struct nt_lines lines;
    struct nt_samples_reader *record; /* NULL: no samples */
};

static int reserve_measured(struct measured_reading *r, struct nt_err *err)
{
    struct nt_measured *m = r->measured;
    if (m->count >= MEASURED_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %d measurements, found more",
                          (int)MEASURED_MAX);
    if (m->count < r->capacity)
        return 0;
    size_t capacity = r->capacity == 0 ? 256 : r->capacity * 2;
    uint32_t *pair = realloc(m->pair, capacity * sizeof *pair);
    if (pair != NULL)
        m->pair = pair;
    double *latency = realloc(m->latency_us, capacity * sizeof *latency);
    if (latency != NULL)
        m->latency_us = latency;
    if (pair == NULL || latency == NULL)
        return nt_err_memory(err);
    r->capacity = capacity;
    return 0;
}

static int measured_error(const struct nt_text_line *line, const char *what, struct nt_word found,
                          struct nt_err *err)
{
    return found.bytes > 0
               ? nt_line_fail_word(line, what, found, err)
               : nt_line_fail(line, err, "expected %s, found the end of the line", what);
}

static int take_host(struct measured_reading *r, struct nt_text_line *line, uint32_t *host,
                     struct nt_err *err)
{
    struct nt_word word;
    bool any = nt_line_next_word(line, &word);
    *host = any ? nt_host_index_find(&r->hosts, word.at, word.bytes) : NT_NAMES_NONE;
    return *host != NT_NAMES_NONE ? 0 : measured_error(line, "a host of the routes", word, err);
}

static int take_latency(struct nt_text_line *line, double *us, struct nt_err *err)
{
    struct nt_word word;
    bool any = nt_line_next_word(line, &word);
    if (!any || nt_number_read(word.at, word.at + word.bytes, us) != word.at + word.bytes ||
        !(*us >= 0 && *us <= LATENCY_MAX_US))
        return measured_error(line, "a latency from 0 to 1e9 us", word, err);
    return 0;
}

static int add_measured(struct measured_reading *r, uint32_t a, uint32_t b, double latency_us,
                        struct nt_err *err)
{
    bool apart = r->routes->one_way && a != b;
    uint32_t pair = nt_pair_index_find(r->index, apart ? nt_routes_source(a) : a,
                                       apart ? nt_routes_target(b) : b);
    if (pair == NT_PAIR_NONE)
        return nt_err_set(err, NT_ERR_INPUT, "expected a pair that has a route, found %s %s",
                          r->routes->hosts.name[a], r->routes->hosts.name[b]);
    if (reserve_measured(r, err) != 0)
        return -1;
    r->measured->pair[r->measured->count] = pair;
    r->measured->latency_us[r->measured->count++] = latency_us;
    return 0;
}

static int take_measured(void *to, struct nt_text_line *line, struct nt_err *err)
{
    struct measured_reading *r = to;
    struct nt_text_line rest = *line;
    struct nt_word word;
    uint32_t a = 0, b = 0;
    double latency = 0;
    if (!nt_line_next_word(&rest, &word))
        return 0;
    if (take_host(r, line, &a, err) != 0 || take_host(r, line, &b, err) != 0 ||
        take_latency(line, &latency, err) != 0)
        return -1;
    if (nt_line_next_word(line, &word))
        return measured_error(line, "the end of the line", word, err);
    return add_measured(r, a, b, latency, err);
}

/* Takes the latencies of the smallest messages as measurements; hosts are matched by name. */
static int take_record(struct measured_reading *r, const struct nt_samples *samples,
                       struct nt_err *err)
{
    double bytes = nt_samples_latency_bytes(samples);
    if (r->routes->one_way)
        return nt_err_set(
            err, NT_ERR_INPUT,
            "%s: expected one-way measurements, found samples, which contain half round trips",
            r->lines.file);
    for (size_t k = 0; k < samples->samples; k++) {
        const struct nt_sample *x = &samples->sample[k];
        uint32_t host[2];
        if (x->kind != NT_SAMPLE_LATENCY || x->bytes != bytes)
            continue;
        for (int end = 0; end < 2; end++) {
            const char *name = samples->host_name[end == 0 ? x->a : x->b];
            host[end] = nt_host_index_find(&r->hosts, name, strlen(name));
            if (host[end] == NT_NAMES_NONE)
                return nt_err_set(err, NT_ERR_INPUT,
                                  "%s: expected hosts of the routes, found \"%.64s\" measured",
                                  r->lines.file, name);
        }
        if (add_measured(r, host[0], host[1], x->value_us, err) != 0)
            return nt_err_prefix(err, "%s", r->lines.file);
    }
    return 0;
}

/* Passes the text to the reader of its kind, which its first bytes determine. */
static int feed_measured(void *to, const char *text, size_t bytes, struct nt_err *err)
{
    struct measured_reading *r = to;
    size_t all = sizeof record_begins - 1;
    for (; !r->kind_is_known && bytes > 0; text++, bytes--) {
        bool same = *text == record_begins[r->matched];
        r->matched += same;
        r->kind_is_known = !same || r->matched == all;
        if (same && r->kind_is_known &&
            (nt_samples_reader_create(r->lines.file, &r->record, err) != 0 ||
             nt_samples_reader_feed(r->record, record_begins, all, err) != 0))
            return -1;
        if (same)
            continue;
        if (nt_lines_feed(&r->lines, record_begins, r->matched, take_measured, r, err) != 0)
            return -1;
        break;
    }
    return r->record != NULL  ? nt_samples_reader_feed(r->record, text, bytes, err)
           : r->kind_is_known ? nt_lines_feed(&r->lines, text, bytes, take_measured, r, err)
                              : 0;
}

static int finish_measured(struct measured_reading *r, struct nt_err *err)
{
    struct nt_samples *samples;
    int rc;
    if (r->record != NULL) {
        if (nt_samples_reader_finish(r->record, &samples, err) != 0)
            return -1;
        rc = take_record(r, samples, err);
        nt_samples_destroy(samples);
    } else {
        rc = r->kind_is_known
                 ? 0
                 : nt_lines_feed(&r->lines, record_begins, r->matched, take_measured, r, err);
        if (rc == 0)
            rc = nt_lines_finish(&r->lines, take_measured, r, err);
    }
    if (rc == 0 && r->measured->count == 0)
        rc =
            r->record != NULL
                ? nt_err_set(err, NT_ERR_INPUT, "%s: expected latencies, found none", r->lines.file)
                : nt_err_set(
                      err, NT_ERR_INPUT,
                      "%s:%zu: expected HOST HOST LATENCY_US or a sweep's samples, found none",
                      r->lines.file, r->lines.number);
    return rc;
}

int nt_measured_read(const struct nt_text_source *source, const struct nt_routes_text *routes,
                     struct nt_measured **out, struct nt_err *err)
{
    struct measured_reading r = {.routes = routes, .measured = calloc(1, sizeof *r.measured)};
    nt_lines_init(&r.lines, source->file, NT_LINE_MAX);
    int rc = r.measured == NULL ? nt_err_memory(err)
                                : nt_pair_index_create(routes->routes, &r.index, err);
    if (rc == 0)
        rc = nt_host_index_init(&r.hosts, routes->hosts.name, routes->hosts.count, err);
    if (rc == 0)
        rc = source->give(source->from, feed_measured, &r, err);
    if (rc == 0)
        rc = finish_measured(&r, err);
    nt_samples_reader_destroy(r.record);
    nt_lines_fini(&r.lines);
    nt_pair_index_destroy(r.index);
    nt_host_index_fini(&r.hosts);
    if (rc == 0)
        *out = r.measured;
    else
        nt_measured_destroy(r.measured);
    return rc;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void put_way(struct nt_strbuf *d, const char *from, const char *to, const uint32_t *link,
                    size_t n, const char *const *link_name)
{
    nt_strbuf_puts(d, from);
    nt_strbuf_puts(d, " ");
    nt_strbuf_puts(d, to);
    for (size_t k = 0; k < n; k++) {
        nt_strbuf_puts(d, " ");
        nt_strbuf_puts(d, link_name[link[k]]);
    }
    nt_strbuf_puts(d, "\n");
}

int nt_routes_write(const struct nt_routes *routes, const char *const *host_name,
                    const char *const *link_name, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    for (size_t p = 0; p < routes->pairs; p++) {
        const char *a = host_name[routes->host[p][0]], *b = host_name[routes->host[p][1]];
        const uint32_t *link = nt_route_links(routes, p);
        size_t there = routes->there[p], all = nt_route_length(routes, p);
        put_way(&d, a, b, link, there, link_name);
        if (there < all)
            put_way(&d, b, a, link + there, all - there, link_name);
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_measured_write(const struct nt_measured *measured, const struct nt_routes *routes,
                      const char *const *host_name, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    for (size_t k = 0; k < measured->count; k++) {
        char figure[NT_NUMBER_BYTES];
        const uint32_t *host = routes->host[measured->pair[k]];
        nt_number_plain(measured->latency_us[k], 12, figure);
        nt_strbuf_puts(&d, host_name[host[0]]);
        nt_strbuf_puts(&d, " ");
        nt_strbuf_puts(&d, host_name[host[1]]);
        nt_strbuf_puts(&d, " ");
        nt_strbuf_puts(&d, figure);
        nt_strbuf_puts(&d, "\n");
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}
