/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix_csv.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "memory.h"
#include "number.h"
#include "strbuf.h"

enum { FILE_NAME_BYTES = 256 };

static const double figure_max = 1e15; /* fits a float */

struct nt_csv_reader {
    char file[FILE_NAME_BYTES];
    enum nt_matrix_kind kind;
    size_t line;   /* from 1 */
    size_t column; /* of the cell that is read next, from 0 */
    bool headed;   /* the first row is read */
    bool broken;
    bool cut, beyond; /* a row ends at its diagonal and before the last host; goes on behind it */
    char cell[NT_CSV_CELL_MAX + 1]; /* the beginning of a cell that a piece cut */
    size_t cell_used;
    struct nt_names names;
    size_t n;
    float *at;         /* rows * n, as they came */
    uint32_t *host_of; /* rows of them: host of the row */
    bool *has_row;     /* n of them */
    size_t rows, rows_capacity;
};

/* ---- life -------------------------------------------------------------------------------------
 */

int nt_csv_reader_create(const char *file, enum nt_matrix_kind kind, struct nt_csv_reader **out,
                         struct nt_err *err)
{
    struct nt_csv_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nt_err_memory(err);
    snprintf(r->file, sizeof r->file, "%s", file);
    r->kind = kind;
    r->line = 1;
    *out = r;
    return 0;
}

void nt_csv_reader_destroy(struct nt_csv_reader *r)
{
    if (r == NULL)
        return;
    nt_names_fini(&r->names);
    free(r->at);
    free(r->host_of);
    free(r->has_row);
    free(r);
}

int nt_named_matrix_create(struct nt_names *hosts, enum nt_matrix_kind kind,
                           struct nt_named_matrix **out, struct nt_err *err)
{
    struct nt_named_matrix *t = calloc(1, sizeof *t);
    if (t == NULL)
        return nt_err_memory(err);
    *t = (struct nt_named_matrix){.host = *hosts, .message_bytes = NAN};
    *hosts = (struct nt_names){0};
    if (nt_matrix_create(t->host.count, kind, &t->matrix, err) != 0) {
        nt_named_matrix_destroy(t);
        return -1;
    }
    *out = t;
    return 0;
}

void nt_named_matrix_destroy(struct nt_named_matrix *table)
{
    if (table == NULL)
        return;
    nt_names_fini(&table->host);
    nt_matrix_destroy(table->matrix);
    for (size_t k = 0; k < table->larger_sizes; k++)
        nt_matrix_destroy(table->larger[k]);
    free(table->larger);
    free(table->larger_bytes);
    free(table);
}

/* ---- cells ------------------------------------------------------------------------------------
 */

static int add_host(struct nt_csv_reader *r, const char *name, struct nt_err *err)
{
    uint32_t index;
    if (nt_host_name_check(name, err) != 0)
        return -1;
    if (r->n >= NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %d hosts, found more",
                          (int)NT_HOSTS_MAX);
    int rc = nt_names_add_copy(&r->names, name, strlen(name), &index, err);
    if (rc > 0)
        return nt_err_set(err, NT_ERR_INPUT, "expected each host once, found %s again", name);
    r->n = r->names.count;
    return rc;
}

/* The first cell of a further row: room for the row, all not measured. */
static int begin_row(struct nt_csv_reader *r, const char *name, struct nt_err *err)
{
    uint32_t host = nt_names_find(&r->names, name, strlen(name));
    if (host == NT_NAMES_NONE)
        return nt_err_set(err, NT_ERR_INPUT, "expected a host of the first row, found \"%.64s\"",
                          name);
    if (r->has_row[host])
        return nt_err_set(err, NT_ERR_INPUT, "expected one row for each host, found %s again",
                          name);
    if (r->rows == r->rows_capacity) {
        size_t capacity = r->rows_capacity + r->rows_capacity / 2 + 1;
        capacity = capacity > r->n
                       ? r->n
                       : capacity; /* never more than one a host: each has its row once */
        float *at = realloc(r->at, capacity * r->n * sizeof *at);
        if (at != NULL)
            r->at = at;
        uint32_t *host_of = realloc(r->host_of, capacity * sizeof *host_of);
        if (host_of != NULL)
            r->host_of = host_of;
        if (at == NULL || host_of == NULL)
            return nt_err_memory(err);
        r->rows_capacity = capacity;
    }
    r->has_row[host] = true;
    r->host_of[r->rows++] = host;
    return 0;
}

static int wrong_figure(const struct nt_csv_reader *r, const char *cell, struct nt_err *err)
{
    bool latency = r->kind == NT_MATRIX_LATENCY_US;
    return nt_err_set(
        err, NT_ERR_INPUT, "column %zu (%s): expected %s, found \"%.64s\"", r->column + 1,
        r->names.name[r->column - 1],
        latency ? "a latency from 0 to 1e15 us" : "a bandwidth over 0 and up to 1e15 MB/s", cell);
}

static bool is_plausible(const struct nt_csv_reader *r, double value)
{
    return value <= figure_max && (r->kind == NT_MATRIX_LATENCY_US ? value >= 0 : value > 0);
}

/* The cell at the reader's column of the row it is in. */
static float *target_cell(struct nt_csv_reader *r)
{
    return &r->at[(r->rows - 1) * r->n + r->column - 1];
}

static int take_figure(struct nt_csv_reader *r, const char *cell, struct nt_err *err)
{
    double value;
    size_t bytes = strlen(cell);
    if (r->column > r->n)
        return nt_err_set(err, NT_ERR_INPUT, "expected %zu values as in the first row, found more",
                          r->n);
    *target_cell(r) = NAN;
    if (bytes == 0 || r->host_of[r->rows - 1] == r->column - 1)
        return 0;
    if (nt_number_read(cell, cell + bytes, &value) != cell + bytes || !is_plausible(r, value))
        return wrong_figure(r, cell, err);
    *target_cell(r) = (float)value;
    return 0;
}

static int take_cell(struct nt_csv_reader *r, char *cell, size_t bytes, struct nt_err *err)
{
    while (bytes > 0 && (cell[bytes - 1] == ' ' || cell[bytes - 1] == '\t'))
        bytes--;
    cell[bytes] = '\0';
    while (*cell == ' ' || *cell == '\t') {
        cell++;
        bytes--;
    }
    if (memchr(cell, '\0', bytes) != NULL)
        return nt_err_set(err, NT_ERR_INPUT, "expected text, found a zero byte");
    if (r->headed)
        return r->column == 0 ? begin_row(r, cell, err) : take_figure(r, cell, err);
    if (r->column > 0)
        return add_host(r, cell, err);
    if (bytes == 0 || strcmp(cell, "\xef\xbb\xbf") == 0) /* some programs mark UTF-8 so */
        return 0;
    return nt_err_set(err, NT_ERR_INPUT, "expected an empty cell first, found \"%.64s\"", cell);
}

/* A short row is one of a triangle: it ends with the cell of its own host or the one before, and no
 * other row goes on behind that. */
static int end_row(struct nt_csv_reader *r, struct nt_err *err)
{
    size_t host = r->host_of[r->rows - 1];
    r->cut = r->cut || r->column < r->n;
    r->beyond = r->beyond || r->column > host + 1;
    if (r->cut && (r->column < host || r->beyond))
        return nt_err_set(err, NT_ERR_INPUT, "expected %zu values as in the first row, found %zu",
                          r->n, r->column);
    while (r->column < r->n) {
        r->column++;
        *target_cell(r) = NAN;
    }
    return 0;
}

static int end_line(struct nt_csv_reader *r, struct nt_err *err)
{
    if (!r->headed) {
        if (r->n == 0)
            return nt_err_set(err, NT_ERR_INPUT, "expected host names, found none");
        r->headed = true;
        r->has_row = calloc(r->n + 1, sizeof *r->has_row);
        if (r->has_row == NULL)
            return nt_err_memory(err);
        return 0;
    }
    return end_row(r, err);
}

/* ---- the stream -------------------------------------------------------------------------------
 */

static int place_cell(struct nt_csv_reader *r, struct nt_err *err)
{
    r->broken = true;
    return nt_err_prefix(err, "%s:%zu", r->file, r->line);
}

/* Puts a piece of a cell behind what is there of it. */
static int keep_cell(struct nt_csv_reader *r, const char *text, size_t bytes, struct nt_err *err)
{
    if (bytes > NT_CSV_CELL_MAX - r->cell_used)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %d bytes in a cell, found more",
                          (int)NT_CSV_CELL_MAX);
    memcpy(r->cell + r->cell_used, text, bytes);
    r->cell_used += bytes;
    return 0;
}

/* The kept cell ends here, at a comma or at the end of its line. */
static int end_cell(struct nt_csv_reader *r, bool line_ends, struct nt_err *err)
{
    size_t bytes = r->cell_used;
    r->cell_used = 0;
    if (line_ends && bytes > 0 && r->cell[bytes - 1] == '\r')
        bytes--;
    bool blank = r->headed && line_ends && r->column == 0 && bytes == 0;
    if (!blank) {
        if (take_cell(r, r->cell, bytes, err) != 0)
            return place_cell(r, err);
        if (line_ends && end_line(r, err) != 0)
            return place_cell(r, err);
    }
    if (line_ends) {
        r->line++;
        r->column = 0;
    } else {
        r->column++;
    }
    return 0;
}

/* As many whole figures as stand at text, without a copy; stops before anything unusual, which the
 * general parser reads. Most of the time of a large matrix is spent here. */
static const char *take_figures(struct nt_csv_reader *r, const char *text, const char *end)
{
    if (!r->headed || r->cell_used > 0 || r->column == 0)
        return text;
    while (r->column <= r->n) {
        double value = NAN;
        const char *behind = text;
        if (text < end && *text != ',') {
            behind = nt_number_read(text, end, &value);
            if (behind == NULL || !is_plausible(r, value))
                return text;
        }
        if (behind == end || *behind != ',')
            return text;
        *target_cell(r) = r->host_of[r->rows - 1] == r->column - 1 ? NAN : (float)value;
        r->column++;
        text = behind + 1;
    }
    return text;
}

int nt_csv_reader_feed(struct nt_csv_reader *r, const char *text, size_t bytes, struct nt_err *err)
{
    const char *end = text + bytes;
    if (r->broken)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: already failed here", r->file, r->line);
    while (text < end) {
        text = take_figures(r, text, end);
        const char *stop = text;
        while (stop < end && *stop != ',' && *stop != '\n')
            stop++;
        if (keep_cell(r, text, (size_t)(stop - text), err) != 0)
            return place_cell(r, err);
        if (stop == end)
            return 0;
        if (end_cell(r, *stop == '\n', err) != 0)
            return -1;
        text = stop + 1;
    }
    return 0;
}

/* Rows into the order of the first row, along the cycles of the permutation, in one row's room. */
static int order_rows(struct nt_csv_reader *r, struct nt_err *err)
{
    size_t bytes = r->n * sizeof *r->at;
    float *held = malloc(bytes + 1);
    if (held == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < r->n; k++) {
        while (r->host_of[k] != k) {
            uint32_t home = r->host_of[k];
            memcpy(held, r->at + home * r->n, bytes);
            memcpy(r->at + home * r->n, r->at + k * r->n, bytes);
            memcpy(r->at + k * r->n, held, bytes);
            r->host_of[k] = r->host_of[home];
            r->host_of[home] = home;
        }
    }
    free(held);
    return 0;
}

static int check_end(struct nt_csv_reader *r, struct nt_err *err)
{
    if (r->broken)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: already failed here", r->file, r->line);
    if ((r->cell_used > 0 || r->column > 0) && end_cell(r, true, err) != 0)
        return -1;
    if (!r->headed)
        nt_err_set(err, NT_ERR_INPUT, "expected a row of host names, found the end of the file");
    else if (r->rows < r->n) {
        size_t k = 0;
        while (r->has_row[k])
            k++;
        nt_err_set(err, NT_ERR_INPUT, "expected a row for %s, found the end of the file",
                   r->names.name[k]);
    } else {
        return 0;
    }
    return place_cell(r, err);
}

int nt_csv_reader_finish(struct nt_csv_reader *r, struct nt_named_matrix **out, struct nt_err *err)
{
    if (check_end(r, err) != 0 || order_rows(r, err) != 0)
        return -1;
    struct nt_named_matrix *table = calloc(1, sizeof *table);
    struct nt_matrix *matrix = calloc(1, sizeof *matrix);
    if (table == NULL || matrix == NULL) {
        free(table);
        free(matrix);
        return nt_err_memory(err);
    }
    *matrix = (struct nt_matrix){.kind = r->kind, .n = r->n, .at = r->at};
    *table = (struct nt_named_matrix){.host = r->names, .matrix = matrix, .message_bytes = NAN};
    r->at = NULL;
    r->names = (struct nt_names){0};
    r->broken = true;
    *out = table;
    return 0;
}

/* ---- arranging, writing -----------------------------------------------------------------------
 */

int nt_matrix_arrange(const struct nt_matrix *from, const struct nt_names *from_names,
                      const struct nt_names *names, struct nt_matrix **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *place_of = nt_arena_array(&memory, from->n, sizeof *place_of);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < from->n; k++) {
        const char *name = from_names->name[k];
        place_of[k] = nt_names_find(names, name, strlen(name));
        if (place_of[k] == NT_NAMES_NONE)
            return nt_err_set(err, NT_ERR_INPUT, "host %s: expected in both matrices", name);
    }
    if (nt_matrix_create(names->count, from->kind, out, err) != 0)
        return -1;
    for (size_t i = 0; i < from->n; i++)
        for (size_t j = 0; j < from->n; j++)
            nt_matrix_set(*out, place_of[i], place_of[j], nt_matrix_get(from, i, j));
    return 0;
}

static void put_float(struct nt_strbuf *d, float value)
{
    char text[NT_NUMBER_BYTES];
    for (int digits = 6; digits <= 9; digits++) {
        nt_number_plain((double)value, digits, text);
        if (strtof(text, NULL) == value)
            break;
    }
    nt_strbuf_puts(d, text);
}

int nt_matrix_csv_write(const struct nt_matrix *matrix, const char *const *host_name, char **text,
                        size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    for (size_t j = 0; j < matrix->n; j++) {
        nt_strbuf_puts(&d, ",");
        nt_strbuf_puts(&d, host_name[j]);
    }
    nt_strbuf_puts(&d, "\n");
    for (size_t i = 0; i < matrix->n && !d.failed; i++) {
        nt_strbuf_puts(&d, host_name[i]);
        for (size_t j = 0; j < matrix->n; j++) {
            nt_strbuf_puts(&d, ",");
            if (i != j && isfinite(nt_matrix_get(matrix, i, j)))
                put_float(&d, nt_matrix_get(matrix, i, j));
        }
        nt_strbuf_puts(&d, "\n");
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}
