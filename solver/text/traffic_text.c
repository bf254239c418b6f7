/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "lines.h"
#include "number.h"

enum { TASKS_MAX = NT_TRIPLES_TASKS_MAX, TRIPLES_MAX = 33554432 };

struct reading {
    struct nt_lines lines;
    struct nt_triples t;
    size_t cap, rows;
    bool dense, decided;
    struct nt_err *err;
};

void nt_triples_fini(struct nt_triples *t)
{
    free(t->pair);
    free(t->bytes);
    *t = (struct nt_triples){0};
}

static int traffic_error(struct reading *r, const char *expected, const char *found, size_t n)
{
    return nt_err_set(r->err, NT_ERR_INPUT, "expected %s, found '%.*s'", expected,
                      (int)(n < 40 ? n : 40), found);
}

static int keep_entry(struct reading *r, size_t a, size_t b, double bytes)
{
    if (!(bytes > 0))
        return 0;
    if (r->t.n == r->cap) {
        size_t cap = r->cap == 0 ? 4096 : 2 * r->cap;
        if (cap > TRIPLES_MAX)
            return nt_err_set(r->err, NT_ERR_INPUT, "more than %d pairs of ranks",
                              (int)TRIPLES_MAX);
        void *pair = realloc(r->t.pair, cap * sizeof *r->t.pair);
        if (pair != NULL)
            r->t.pair = pair;
        float *grown = pair == NULL ? NULL : realloc(r->t.bytes, cap * sizeof *grown);
        if (grown == NULL)
            return nt_err_memory(r->err);
        r->t.bytes = grown;
        r->cap = cap;
    }
    r->t.pair[r->t.n][0] = (uint32_t)a;
    r->t.pair[r->t.n][1] = (uint32_t)b;
    r->t.bytes[r->t.n++] = (float)bytes;
    return 0;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && *at != ' ' && *at != '\t' && *at != ',')
        at++;
    return at;
}

static int read_bytes(struct reading *r, const char *at, const char *stop, double *value)
{
    if (nt_number_read(at, stop, value) != stop || *value < 0 || *value > 1e18)
        return traffic_error(r, "bytes", at, (size_t)(stop - at));
    return 0;
}

static int read_sparse(struct reading *r, const char *at, const char *end)
{
    uint64_t rank[2];
    for (int k = 0; k < 2; k++) {
        const char *stop = word_end(at, end);
        if (nt_decimal_whole(at, (size_t)(stop - at), TASKS_MAX - 1, &rank[k]) != 0)
            return traffic_error(r, "RANK RANK BYTES", at, (size_t)(end - at));
        if (rank[k] >= r->t.ntasks)
            r->t.ntasks = (size_t)rank[k] + 1;
        at = skip_blanks(stop, end);
    }
    double bytes;
    const char *stop = word_end(at, end);
    if (read_bytes(r, at, stop, &bytes) != 0)
        return -1;
    at = skip_blanks(stop, end);
    if (at != end)
        return traffic_error(r, "the end of the line", at, (size_t)(end - at));
    return rank[0] == rank[1] ? 0 : keep_entry(r, (size_t)rank[0], (size_t)rank[1], bytes);
}

static int read_dense(struct reading *r, const char *at, const char *end)
{
    size_t column = 0;
    for (;; column++, at++) {
        at = skip_blanks(at, end);
        const char *stop = word_end(at, end);
        double bytes;
        if (read_bytes(r, at, stop, &bytes) != 0)
            return -1;
        if (r->rows > 0 && column >= r->t.ntasks)
            return traffic_error(r, "as many columns as in the first row", at, (size_t)(end - at));
        if (column >= TASKS_MAX)
            return traffic_error(r, "fewer columns", at, (size_t)(end - at));
        if (column != r->rows && keep_entry(r, r->rows, column, bytes) != 0)
            return -1;
        at = skip_blanks(stop, end);
        if (at == end)
            break;
        if (*at != ',')
            return traffic_error(r, "a comma", at, (size_t)(end - at));
    }
    if (r->rows == 0)
        r->t.ntasks = column + 1;
    if (column + 1 != r->t.ntasks)
        return nt_err_set(r->err, NT_ERR_INPUT, "expected %zu columns, found %zu", r->t.ntasks,
                          column + 1);
    if (++r->rows > r->t.ntasks)
        return nt_err_set(r->err, NT_ERR_INPUT, "more rows than columns (%zu)", r->t.ntasks);
    return 0;
}

static int read_line(void *reading, struct nt_text_line *line, struct nt_err *err)
{
    struct reading *r = reading;
    const char *at = line->at, *end = line->end;
    r->err = err;
    if (end > at && end[-1] == '\r')
        end--;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    at = skip_blanks(at, end);
    if (at == end || *at == '#')
        return 0;
    if (!r->decided) {
        r->dense = memchr(at, ',', (size_t)(end - at)) != NULL;
        r->decided = true;
    }
    return r->dense ? read_dense(r, at, end) : read_sparse(r, at, end);
}

static int finish_triples(struct reading *r, struct nt_err *err)
{
    if (!r->decided)
        return nt_err_set(err, NT_ERR_INPUT, "%s: expected a communication matrix, found nothing",
                          r->lines.file);
    if (r->dense && r->rows != r->t.ntasks)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: expected %zu rows, found %zu", r->lines.file,
                          r->lines.number - 1, r->t.ntasks, r->rows);
    return 0;
}

int nt_triples_read(const char *file, const char *text, size_t bytes, struct nt_triples *out,
                    struct nt_err *err)
{
    struct reading r = {0};
    nt_lines_init(&r.lines, file, bytes);
    int rc = nt_lines_feed(&r.lines, text, bytes, read_line, &r, err);
    if (rc == 0)
        rc = nt_lines_finish(&r.lines, read_line, &r, err);
    if (rc == 0)
        rc = finish_triples(&r, err);
    nt_lines_fini(&r.lines);
    if (rc == 0)
        *out = r.t;
    else
        nt_triples_fini(&r.t);
    return rc;
}

int nt_tasks_per_node_read(const char *text, uint32_t *capacity, size_t hosts, struct nt_err *err)
{
    size_t filled = 0;
    for (const char *at = text;; at++) {
        size_t digits = strspn(at, "0123456789");
        uint64_t tasks, times = 1;
        if (nt_decimal_whole(at, digits, TASKS_MAX, &tasks) != 0)
            goto bad;
        at += digits;
        if (strncmp(at, "(x", 2) == 0) {
            at += 2;
            digits = strspn(at, "0123456789");
            if (nt_decimal_whole(at, digits, TASKS_MAX, &times) != 0 || at[digits] != ')')
                goto bad;
            at += digits + 1;
        }
        if (times > hosts - filled)
            return nt_err_set(err, NT_ERR_INPUT,
                              "tasks per node '%.60s': more nodes than %zu hosts", text, hosts);
        for (uint64_t k = 0; k < times; k++)
            capacity[filled++] = (uint32_t)tasks;
        if (*at == '\0')
            break;
        if (*at != ',')
            goto bad;
    }
    if (filled != hosts)
        return nt_err_set(err, NT_ERR_INPUT, "tasks per node '%.60s': %zu nodes for %zu hosts",
                          text, filled, hosts);
    return 0;
bad:
    return nt_err_set(err, NT_ERR_INPUT, "tasks per node '%.60s': expected a form like 4(x2),3",
                      text);
}
