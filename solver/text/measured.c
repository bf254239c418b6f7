/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "lines.h"
#include "number.h"
#include "routes_text.h"

enum { MEASURED_MAX = 1 << 24 };
#define LATENCY_MAX_US 1e9 /* a quarter of an hour */

struct nt_measured_reader {
    struct nt_lines lines;
    const struct nt_routes_text *routes;
    struct nt_pair_index *index;
    struct nt_measured *measured;
    size_t capacity;
};

void nt_measured_reader_destroy(struct nt_measured_reader *reader)
{
    if (reader == NULL)
        return;
    nt_lines_fini(&reader->lines);
    nt_pair_index_destroy(reader->index);
    nt_measured_destroy(reader->measured);
    free(reader);
}

int nt_measured_reader_create(const char *file, const struct nt_routes_text *routes,
                              struct nt_measured_reader **out, struct nt_err *err)
{
    struct nt_measured_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nt_err_memory(err);
    nt_lines_init(&r->lines, file, NT_LINE_MAX);
    r->routes = routes;
    r->measured = calloc(1, sizeof *r->measured);
    if (r->measured == NULL)
        (void)nt_err_memory(err);
    if (r->measured == NULL || nt_pair_index_create(routes->routes, &r->index, err) != 0) {
        nt_measured_reader_destroy(r);
        return -1;
    }
    *out = r;
    return 0;
}

static int reserve_measured(struct nt_measured_reader *r, struct nt_err *err)
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

static int take_host(struct nt_measured_reader *r, struct nt_text_line *line, uint32_t *host,
                     struct nt_err *err)
{
    struct nt_word word;
    bool any = nt_line_next_word(line, &word);
    *host = any ? nt_names_find(&r->routes->hosts, word.at, word.bytes) : NT_NAMES_NONE;
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

static int take_measured(void *to, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_measured_reader *r = to;
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
    uint32_t pair = nt_pair_index_find(r->index, a, b);
    if (pair == NT_PAIR_NONE)
        return nt_err_set(err, NT_ERR_INPUT, "expected a pair that has a route, found %s %s",
                          r->routes->hosts.name[a], r->routes->hosts.name[b]);
    if (reserve_measured(r, err) != 0)
        return -1;
    r->measured->pair[r->measured->count] = pair;
    r->measured->latency_us[r->measured->count++] = latency;
    return 0;
}

int nt_measured_reader_feed(struct nt_measured_reader *r, const char *text, size_t bytes,
                            struct nt_err *err)
{
    return nt_lines_feed(&r->lines, text, bytes, take_measured, r, err);
}

int nt_measured_reader_finish(struct nt_measured_reader *r, struct nt_measured **out,
                              struct nt_err *err)
{
    if (nt_lines_finish(&r->lines, take_measured, r, err) != 0)
        return -1;
    if (r->measured->count == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:%zu: expected HOST HOST LATENCY_US, found the end without any",
                          r->lines.file, r->lines.number);
    *out = r->measured;
    r->measured = NULL;
    r->lines.broken = true;
    return 0;
}
