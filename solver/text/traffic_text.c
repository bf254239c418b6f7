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
    /* Number of lines at the start that have three numbers and no comma; not counted in a dense
     * text */
    size_t with_three;
    double first[3][3]; /* the first three of these lines */
    struct nt_err
        no_list; /* why the lines are rows, not triples, and in which line this was found */
    size_t no_list_line;
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
        at -= *at != ',';
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

/* Returns the count of numbers in the line and sets the first three. 0: the line has other
 * words. */
static size_t count_numbers(const char *at, const char *end, double first[3])
{
    size_t n = 0;
    for (double value; at < end; n++) {
        const char *stop = word_end(at, end);
        if (nt_number_read(at, stop, &value) != stop || value < 0 || value > 1e18)
            return 0;
        if (n < 3)
            first[n] = value;
        at = skip_blanks(stop, end);
    }
    return n;
}

/* Converts the lines read so far from triples to rows. */
static int take_rows(struct reading *r)
{
    size_t lines = r->with_three;
    r->dense = true;
    r->t.n = 0;
    r->t.ntasks = 3;
    for (r->rows = 0; r->rows < lines; r->rows++)
        for (size_t k = 0; k < 3; k++)
            if (k != r->rows && keep_entry(r, r->rows, k, r->first[r->rows][k]) != 0)
                return -1;
    return 0;
}

/* Reads lines of three numbers as triples as long as this is possible: ranks are whole numbers. */
static int read_either(struct reading *r, const char *at, const char *end)
{
    bool open = r->with_three == r->rows && r->with_three < 3;
    r->rows++;
    if (open && count_numbers(at, end, r->first[r->with_three]) == 3)
        r->with_three++;
    if (read_sparse(r, at, end) == 0)
        return 0;
    if (!open || r->with_three != r->rows || r->err->kind != NT_ERR_INPUT)
        return -1;
    r->no_list = *r->err;
    r->no_list_line = r->lines.number;
    return take_rows(r);
}

static int settle_three(struct reading *r)
{
    bool zeros = true, ranks = true, symmetric = true;
    if (r->dense || r->with_three != 3 || r->rows != 3)
        return 0;
    for (int k = 0; k < 3; k++) {
        zeros = zeros && !(r->first[k][k] > 0);
        ranks = ranks && !(r->first[k][0] > 2) && !(r->first[k][1] > 2);
        symmetric = symmetric && !(r->first[k][(k + 1) % 3] < r->first[(k + 1) % 3][k]) &&
                    !(r->first[k][(k + 1) % 3] > r->first[(k + 1) % 3][k]);
    }
    if (zeros ? ranks : symmetric)
        return nt_err_set(r->err, NT_ERR_INPUT,
                          "%s: three lines of three numbers can be RANK RANK BYTES or rows. Write "
                          "rows with commas, or pairs in another order.",
                          r->lines.file);
    return zeros ? take_rows(r) : 0;
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
        size_t numbers = count_numbers(at, end, r->first[0]);
        r->dense = memchr(at, ',', (size_t)(end - at)) != NULL || numbers == 2 || numbers > 3;
        r->decided = true;
    }
    return r->dense ? read_dense(r, at, end) : read_either(r, at, end);
}

static int finish_triples(struct reading *r, struct nt_err *err)
{
    if (!r->decided)
        return nt_err_set(err, NT_ERR_INPUT, "%s: expected a communication matrix, found nothing",
                          r->lines.file);
    r->err = err;
    if (settle_three(r) != 0)
        return -1;
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
    if (rc != 0 && r.no_list_line > 0 && err->kind == NT_ERR_INPUT) { /* neither triples nor rows */
        *err = r.no_list;
        rc = nt_err_prefix(err, "%s:%zu", file, r.no_list_line);
    }
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
            return nt_err_set(err, NT_ERR_USAGE,
                              "tasks per node \"%.60s\": expected %zu hosts, found more", text,
                              hosts);
        for (uint64_t k = 0; k < times; k++)
            capacity[filled++] = (uint32_t)tasks;
        if (*at == '\0')
            break;
        if (*at != ',')
            goto bad;
    }
    if (filled != hosts)
        return nt_err_set(err, NT_ERR_USAGE,
                          "tasks per node \"%.60s\": expected %zu hosts, found %zu", text, hosts,
                          filled);
    return 0;
bad:
    return nt_err_set(err, NT_ERR_USAGE,
                      "tasks per node \"%.60s\": expected a form such as 4(x2),3", text);
}
