/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix_csv.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "map.h"
#include "memory.h"
#include "number.h"
#include "strbuf.h"

enum { FILE_NAME_BYTES = 256 };

static const double figure_max = 1e15; /* fits a float */

/* The possible shapes of rows, as bits: number of cells of host k of n. */
enum shape {
    WHOLE = 1,       /* n */
    CUT = 2,         /* n, optionally one less for the last host */
    LOWER = 4,       /* k, or k + 1 with the diagonal */
    UPPER = 8,       /* n - k - 1: cells after the diagonal */
    UPPER_FROM = 16, /* n - k: cells from the diagonal on */
    ANY_SHAPE = 31
};

/* A line of a list of pairs. */
struct pair {
    uint32_t a, b;
    float value;
    size_t line;
};

struct nt_csv_reader {
    char file[FILE_NAME_BYTES];
    enum nt_matrix_kind kind;
    struct nt_csv_given given;
    double factor; /* factor of a value: the given one times that of the text */
    struct nt_csv_dialect dialect;
    size_t line;   /* from 1 */
    size_t column; /* column of the next cell, from 0 */
    bool headed;   /* the first row has been read */
    bool broken;
    struct {
        char text[NT_CSV_HEAD_MAX + 1];
        size_t used, lines; /* number of complete lines in it, without empty ones and comments */
        bool worded;        /* the current line is neither empty nor a comment */
        bool done;          /* the dialect is known */
    } head;
    struct {
        char text[NT_CSV_CELL_MAX + 2]; /* the start of a cell that is incomplete in a piece */
        size_t used;
        bool quoted;  /* it continues in quotes */
        bool comment; /* ignore the rest of the line */
    } cell;
    struct nt_names names;
    size_t n;
    bool corner_open;    /* the first name may be a host or the title of the first cell */
    unsigned shapes;     /* shapes that match all rows so far */
    size_t odd_diagonal; /* line of a diagonal cell that is not a number; 0: none */
    /* Lines of a number such as 1,234, and of one with a decimal comma for certain; 0: none */
    size_t either, comma;
    float *at;         /* rows * n values in the order of reading */
    uint32_t *host_of; /* by row: its host */
    size_t *row_line;  /* by host: line of its row; 0: none yet */
    size_t rows, rows_capacity;
    struct pair *pair; /* pairs instead of rows */
    size_t pairs, pairs_capacity;
};

/* ---- life ---- */

int nt_csv_reader_create(const char *file, enum nt_matrix_kind kind, struct nt_csv_reader **out,
                         struct nt_err *err)
{
    struct nt_csv_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nt_err_memory(err);
    snprintf(r->file, sizeof r->file, "%s", file);
    r->kind = kind;
    r->line = 1;
    r->shapes = ANY_SHAPE;
    *out = r;
    return 0;
}

void nt_csv_reader_set_given(struct nt_csv_reader *r, const struct nt_csv_given *given)
{
    r->given = *given;
}

void nt_csv_reader_destroy(struct nt_csv_reader *r)
{
    if (r == NULL)
        return;
    nt_names_fini(&r->names);
    free(r->at);
    free(r->host_of);
    free(r->row_line);
    free(r->pair);
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

bool nt_named_matrix_choose(struct nt_named_matrix *t, double message_bytes)
{
    size_t k = 0;
    if (t->message_bytes == message_bytes)
        return true;
    while (k < t->larger_sizes && t->larger_bytes[k] != message_bytes)
        k++;
    if (k == t->larger_sizes)
        return false;
    struct nt_matrix *chosen = t->larger[k];
    t->larger[k] = t->matrix;
    t->larger_bytes[k] = t->message_bytes;
    t->matrix = chosen;
    t->message_bytes = message_bytes;
    return true;
}

/* ---- hosts ---- */

/* Adds a host and sets *index; 1: it exists already. */
static int add_name(struct nt_csv_reader *r, const char *name, size_t most, uint32_t *index,
                    struct nt_err *err)
{
    if (nt_host_name_check(name, err) != 0)
        return -1;
    int rc = nt_names_add_copy(&r->names, name, strlen(name), index, err);
    if (r->names.count > most)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %zu hosts, found more", most);
    r->n = r->names.count;
    return rc;
}

static int add_host(struct nt_csv_reader *r, const char *name, struct nt_err *err)
{
    uint32_t index;
    int rc = add_name(r, name, (size_t)NT_HOSTS_MAX + r->corner_open, &index, err);
    return rc > 0 ? nt_err_set(err, NT_ERR_INPUT, "expected each host once, found %s again", name)
                  : rc;
}

/* Takes the given hosts instead of the text's. */
static int take_given_hosts(struct nt_csv_reader *r, struct nt_err *err)
{
    for (size_t k = 0; k < r->given.names->count; k++)
        if (add_host(r, r->given.names->entry[k].name, err) != 0)
            return -1;
    return 0;
}

/* Sets the factor from a value of the text to us or MB/s. */
static void set_factor(struct nt_csv_reader *r)
{
    r->factor = (r->given.factor > 0 ? r->given.factor : 1) * (r->given.round_trip ? 0.5 : 1);
}

/* Reads a title: *found if it contains a unit or a round trip. */
static int take_title(struct nt_csv_reader *r, const char *cell, bool *found, struct nt_err *err)
{
    struct nt_csv_title title = nt_csv_title_read(cell, strlen(cell));
    *found = title.unit || title.round_trip;
    if (title.unit && title.kind != r->kind)
        return nt_err_set(err, NT_ERR_INPUT, "expected %s, found the unit of %s in \"%.64s\"",
                          r->kind == NT_MATRIX_LATENCY_US ? "latencies" : "bandwidths",
                          title.kind == NT_MATRIX_LATENCY_US ? "latencies" : "bandwidths", cell);
    if (title.unit && r->given.factor > 0 &&
        (r->given.factor < title.factor || r->given.factor > title.factor))
        return nt_err_set(
            err, NT_ERR_INPUT,
            "found \"%.64s\", which differs from --unit or from the unit of another title", cell);
    if (title.unit)
        r->given.factor = title.factor;
    r->given.round_trip |= title.round_trip && r->kind == NT_MATRIX_LATENCY_US;
    set_factor(r);
    return 0;
}

/* Reads the first cell of a matrix: empty, a title, or the first host. */
static int take_corner(struct nt_csv_reader *r, const char *cell, struct nt_err *err)
{
    struct nt_err no_name = {0};
    bool titled;
    if (take_title(r, cell, &titled, err) != 0)
        return -1;
    r->corner_open = !titled && !r->dialect.unnamed && cell[0] != '\0' &&
                     nt_host_name_check(cell, &no_name) == 0;
    return r->corner_open || r->dialect.unnamed ? add_host(r, cell, err) : 0;
}

/* Decides on the first cell after the first row with values: if that row starts with a later name
 * and has fewer values than there are names, the first name is the title of the column of hosts. */
static int settle_corner(struct nt_csv_reader *r, size_t values, struct nt_err *err)
{
    struct nt_names hosts = {0};
    bool is_host = r->host_of[0] == 0 || values == r->n;
    if (!r->corner_open || is_host) {
        r->corner_open = false;
        return 0;
    }
    r->corner_open = false;
    for (size_t k = 1; k < r->n; k++) {
        uint32_t index;
        if (nt_names_add_copy(&hosts, r->names.name[k], strlen(r->names.name[k]), &index, err) !=
            0) {
            nt_names_fini(&hosts);
            return -1;
        }
    }
    nt_names_fini(&r->names);
    r->names = hosts;
    r->n--;
    r->row_line[r->host_of[0]--] = 0;
    r->row_line[r->host_of[0]] = r->line;
    return 0;
}

/* ---- cells ---- */

static int find_row(const struct nt_csv_reader *r, const char *name, uint32_t *host,
                    struct nt_err *err)
{
    uint64_t number;
    if (!r->dialect.numbered) {
        *host = nt_names_find(&r->names, name, strlen(name));
    } else {
        bool fits = nt_decimal_whole(name, strlen(name), NT_HOSTS_MAX, &number) == 0 &&
                    number >= r->dialect.first && number - r->dialect.first < r->n;
        *host = fits ? (uint32_t)(number - r->dialect.first) : NT_NAMES_NONE;
    }
    if (*host == NT_NAMES_NONE)
        return nt_err_set(err, NT_ERR_INPUT, "expected a host of the first row, found \"%.64s\"",
                          name);
    return r->row_line[*host] > 0
               ? nt_err_set(err, NT_ERR_INPUT, "expected one row for each host, found %s again",
                            name)
               : 0;
}

/* Allocates the row of a host, without measurements. */
static int begin_row(struct nt_csv_reader *r, uint32_t host, struct nt_err *err)
{
    if (r->rows == r->rows_capacity) {
        size_t capacity = r->rows_capacity + r->rows_capacity / 2 + 1;
        capacity = capacity > r->n ? r->n : capacity; /* at most one per host */
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
    r->row_line[host] = r->line;
    r->host_of[r->rows++] = host;
    return 0;
}

/* Returns whether the rows start with the name or number of their host. */
static bool is_named(const struct nt_csv_reader *r)
{
    return !r->dialect.unnamed && (r->dialect.form != NT_CSV_BARE || r->dialect.numbered);
}

/* Returns the column in the text, from 1. Column 0 of the reader contains names. */
static size_t text_column(const struct nt_csv_reader *r)
{
    return r->column + (is_named(r) || r->column == 0);
}

static int wrong_figure(const struct nt_csv_reader *r, const char *cell, struct nt_err *err)
{
    bool latency = r->kind == NT_MATRIX_LATENCY_US;
    const char *host = r->dialect.form == NT_CSV_PAIRS ? "" : r->names.name[r->column - 1];
    return nt_err_set(err, NT_ERR_INPUT, "column %zu%s%s%s: expected %s, found \"%.64s\"",
                      text_column(r), host[0] != '\0' ? " (" : "", host, host[0] != '\0' ? ")" : "",
                      latency ? "a latency over 0 and up to 1e15 us"
                              : "a bandwidth over 0 and up to 1e15 MB/s",
                      cell);
}

/* The diagonal is ignored, so a latency of 0 is judged when the place of its cell is known. */
static bool is_plausible(const struct nt_csv_reader *r, double value)
{
    return value <= figure_max &&
           ((float)value > 0 || (r->kind == NT_MATRIX_LATENCY_US && value == 0));
}

/* Returns the cell at the reader's column of the current row. */
static float *target_cell(struct nt_csv_reader *r)
{
    return &r->at[(r->rows - 1) * r->n + r->column - 1];
}

/* Reads a value or NaN; false: the cell is neither. */
static bool read_value(struct nt_csv_reader *r, const char *cell, bool quoted, float *value)
{
    double number;
    size_t bytes = strlen(cell);
    *value = NAN;
    if (bytes == 0 || nt_csv_cell_is_none(cell, bytes))
        return true;
    enum nt_csv_number form =
        nt_csv_number_read(cell, bytes, quoted || r->dialect.separator != ',', &number);
    number *= r->factor;
    if (form == NT_CSV_NO_NUMBER || !is_plausible(r, number))
        return false;
    if (form == NT_CSV_EITHER && r->either == 0)
        r->either = r->line;
    if (form == NT_CSV_COMMA)
        r->comma = r->line;
    *value = (float)number;
    return true;
}

static int take_figure(struct nt_csv_reader *r, const char *cell, bool quoted, struct nt_err *err)
{
    if (r->column > r->n)
        return nt_err_set(err, NT_ERR_INPUT, "expected %zu values %s, found more", r->n,
                          r->given.names != NULL ? "as --names has hosts" : "as in the first row");
    if (read_value(r, cell, quoted, target_cell(r)))
        return 0;
    if (r->host_of[r->rows - 1] != r->column - 1)
        return wrong_figure(r, cell, err);
    r->odd_diagonal = r->line;
    return 0;
}

static int take_pair(struct nt_csv_reader *r, const char *cell, bool quoted, struct nt_err *err)
{
    size_t first = r->dialect.indexed ? 1 : 0;
    if (r->column < first)
        return 0;
    if (r->column == first) {
        if (r->pairs == r->pairs_capacity) {
            size_t capacity = 2 * r->pairs_capacity + 64;
            struct pair *grown = realloc(r->pair, capacity * sizeof *grown);
            if (grown == NULL)
                return nt_err_memory(err);
            r->pair = grown;
            r->pairs_capacity = capacity;
        }
        r->pair[r->pairs++] = (struct pair){.line = r->line};
    }
    struct pair *p = &r->pair[r->pairs - 1];
    if (r->column < first + 2)
        return add_name(r, cell, NT_CSV_PAIR_HOSTS_MAX, r->column == first ? &p->a : &p->b, err) < 0
                   ? -1
                   : 0;
    if (r->column > first + 2)
        return nt_err_set(err, NT_ERR_INPUT, "expected HOST HOST VALUE, found more");
    return read_value(r, cell, quoted, &p->value) ? 0 : wrong_figure(r, cell, err);
}

static int take_row_cell(struct nt_csv_reader *r, const char *cell, bool quoted, struct nt_err *err)
{
    uint32_t host;
    if (r->column > 0)
        return take_figure(r, cell, quoted, err);
    if (!is_named(r)) {
        if (r->rows == r->n)
            return nt_err_set(err, NT_ERR_INPUT, "expected %zu rows %s, found more", r->n,
                              r->given.names != NULL ? "as --names has hosts"
                                                     : "as in the first row");
        if (begin_row(r, (uint32_t)r->rows, err) != 0)
            return -1;
        r->column++;
        return take_figure(r, cell, quoted, err);
    }
    return find_row(r, cell, &host, err) != 0 ? -1 : begin_row(r, host, err);
}

static int take_cell(struct nt_csv_reader *r, char *cell, size_t bytes, struct nt_err *err)
{
    bool quoted, titled;
    if (memchr(cell, '\0', bytes) != NULL)
        return nt_err_set(err, NT_ERR_INPUT, "expected text, found a zero byte");
    cell = nt_csv_cell_clean(cell, &bytes, &quoted);
    if (cell == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "column %zu: expected closed quotes around a cell",
                          text_column(r));
    if (r->dialect.form == NT_CSV_PAIRS)
        return r->headed ? take_pair(r, cell, quoted, err) : take_title(r, cell, &titled, err);
    if (r->headed)
        return take_row_cell(r, cell, quoted, err);
    if (r->dialect.numbered)
        return r->column > 0 ? 0 : take_title(r, cell, &titled, err);
    return r->column > 0 ? add_host(r, cell, err) : take_corner(r, cell, err);
}

/* ---- rows ---- */

/* Returns the shapes in which the row of host k of n has that many values. */
static unsigned find_shapes(size_t n, size_t k, size_t values)
{
    unsigned shapes = 0;
    shapes |= values == n ? WHOLE | CUT : 0;
    shapes |= k == n - 1 && values == n - 1 ? CUT : 0;
    shapes |= values == k || values == k + 1 ? LOWER : 0;
    shapes |= values == n - k - 1 ? UPPER : 0;
    shapes |= values == n - k ? UPPER_FROM : 0;
    return shapes;
}

static int end_row(struct nt_csv_reader *r, struct nt_err *err)
{
    size_t values = r->column;
    if (r->rows == 1 && settle_corner(r, values, err) != 0)
        return -1;
    r->shapes &= find_shapes(r->n, r->host_of[r->rows - 1], values);
    if (r->shapes == 0)
        return nt_err_set(
            err, NT_ERR_INPUT, "expected %zu values %s, found %zu, and the rows form no triangle",
            r->n, r->given.names != NULL ? "as --names has hosts" : "as in the first row", values);
    while (r->column < r->n) {
        r->column++;
        *target_cell(r) = NAN;
    }
    return 0;
}

static int end_line(struct nt_csv_reader *r, struct nt_err *err)
{
    if (r->dialect.form == NT_CSV_PAIRS) {
        if (r->headed && r->column < (r->dialect.indexed ? 3 : 2))
            return nt_err_set(err, NT_ERR_INPUT, "expected HOST HOST VALUE, found %zu cells",
                              r->column + 1);
        r->headed = true;
        return 0;
    }
    if (r->headed)
        return end_row(r, err);
    if (r->n == 0)
        return nt_err_set(err, NT_ERR_INPUT, "expected host names, found none");
    r->headed = true;
    r->row_line = calloc(r->n + 1, sizeof *r->row_line);
    return r->row_line == NULL ? nt_err_memory(err) : 0;
}

/* ---- the first lines ---- */

static int place_cell(struct nt_csv_reader *r, struct nt_err *err)
{
    r->broken = true;
    return nt_err_prefix(err, "%s:%zu", r->file, r->line);
}

static int refuse_head(const struct nt_csv_reader *r, struct nt_err *err)
{
    const char *text = r->head.text;
    size_t bytes = strcspn(text, "\r\n");
    return nt_err_set(err, NT_ERR_INPUT,
                      "expected a row of host names with commas, semicolons, tabs or spaces "
                      "between them, or HOST HOST VALUE, found \"%.*s\"",
                      bytes < 64 ? (int)bytes : 64, text);
}

/* Sets the dialect and reads the text held so far. */
static int settle_dialect(struct nt_csv_reader *r, struct nt_err *err)
{
    struct nt_csv_dialect *d = &r->dialect;
    const struct nt_name_file *given = r->given.names;
    r->head.text[r->head.used] = '\n'; /* the last line may end without one */
    if (memcmp(r->head.text, "\xff\xfe", 2) == 0 || memcmp(r->head.text, "\xfe\xff", 2) == 0)
        return nt_err_set(err, NT_ERR_INPUT, "expected UTF-8, found UTF-16: save it as UTF-8");
    *d = nt_csv_dialect_find(r->head.text, r->head.used + (r->head.used < NT_CSV_HEAD_MAX));
    r->head.text[r->head.used] = '\0';
    r->head.done = true;
    r->cell.comment = false; /* an incomplete comment is not in the head */
    set_factor(r);
    if (d->form == NT_CSV_UNKNOWN && (d->separator == '\0' || d->separator != r->head.text[0]))
        return refuse_head(r, err);
    if (d->form == NT_CSV_UNKNOWN)
        d->form = NT_CSV_MATRIX; /* whose reader then reports the invalid cell */
    if (d->form != NT_CSV_BARE && given != NULL)
        return nt_err_set(err, NT_ERR_INPUT, "found names of hosts. Omit --names.");
    if (d->form == NT_CSV_BARE && given == NULL)
        return nt_err_set(err, NT_ERR_INPUT,
                          "expected names of hosts in the first row, found values. Pass a file of "
                          "names, one per line, with --names.");
    r->headed = d->form == NT_CSV_PAIRS && !d->headed;
    if (d->form != NT_CSV_BARE)
        return 0;
    d->numbered = d->numbered && (d->cells == 0 || d->cells == given->count + 1);
    d->trailing = !d->numbered && d->cells == given->count + 1;
    if (take_given_hosts(r, err) != 0)
        return -1;
    return d->numbered ? 0 : end_line(r, err); /* as if a row had named them */
}

/* Holds bytes until they show the dialect: two lines that are neither empty nor comments, or a long
 * one. For the numbers of lines, the end of each comment is kept, and empty lines after the first
 * line. Returns the number of bytes taken from text. */
static size_t hold_head(struct nt_csv_reader *r, const char *text, size_t bytes)
{
    size_t k = 0;
    for (; k < bytes && r->head.lines < 2 && r->head.used < NT_CSV_HEAD_MAX; k++) {
        char c = text[k];
        r->cell.comment = c != '\n' && (r->cell.comment || (!r->head.worded && c == '#'));
        if (r->cell.comment)
            continue;
        r->head.text[r->head.used++] = c;
        r->head.worded = r->head.worded || memchr(" \t\r\n", c, 4) == NULL;
        if (r->head.used == 3 && memcmp(r->head.text, "\xef\xbb\xbf", 3) == 0) {
            r->head.used = 0; /* byte order mark, which some programs write */
            r->head.worded = false;
        }
        if (c != '\n')
            continue;
        r->head.lines += r->head.worded;
        r->head.worded = false;
        if (r->head.lines == 0) {
            r->head.used = 0;
            r->line++;
        }
    }
    return k;
}

/* ---- the stream ---- */

/* Appends a piece of a cell. */
static int keep_cell(struct nt_csv_reader *r, const char *text, size_t bytes, struct nt_err *err)
{
    if (bytes > NT_CSV_CELL_MAX - r->cell.used)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %d bytes in a cell, found more%s",
                          (int)NT_CSV_CELL_MAX, r->cell.quoted ? ": are its quotes closed?" : "");
    memcpy(r->cell.text + r->cell.used, text, bytes);
    r->cell.used += bytes;
    return 0;
}

/* Returns whether an empty text is no cell: between spaces there are no empty cells, except the
 * first one of the first row. */
static bool is_gap(const struct nt_csv_reader *r, size_t bytes, bool line_ends)
{
    return bytes == 0 && ((r->dialect.separator == ' ' && (r->headed || r->column > 0)) ||
                          (r->dialect.trailing && line_ends && r->column > 0));
}

/* Ends the stored cell at a separator or at the end of its line. */
static int end_cell(struct nt_csv_reader *r, bool line_ends, struct nt_err *err)
{
    size_t bytes = r->cell.used;
    bool any = r->column > 0;
    r->cell.used = 0;
    while (line_ends && bytes > 0 && memchr(" \t\r", r->cell.text[bytes - 1], 3) != NULL)
        bytes--;
    if (is_gap(r, bytes, line_ends)) {
        r->column -= line_ends && any;
    } else if (!r->headed || !line_ends || any || bytes > 0) {
        if (take_cell(r, r->cell.text, bytes, err) != 0)
            return place_cell(r, err);
        any = true;
        r->column += !line_ends;
    }
    if (line_ends && any && end_line(r, err) != 0)
        return place_cell(r, err);
    if (line_ends) {
        r->line++;
        r->column = 0;
    }
    return 0;
}

/* Reads as many complete numbers as possible at text without copying; stops before anything
 * unusual, which the general parser reads. This takes most of the time of a large matrix. */
static const char *take_figures(struct nt_csv_reader *r, const char *text, const char *end)
{
    const char separator = r->dialect.separator;
    const double factor = r->factor;
    if (!r->headed || r->cell.used > 0 || r->column == 0 || r->dialect.form == NT_CSV_PAIRS)
        return text;
    while (r->column <= r->n) {
        double value = NAN;
        const char *behind = text;
        if (text < end && (*text != separator || separator == ' ')) {
            behind = nt_number_read(text, end, &value);
            value *= factor;
            if (behind == NULL || !is_plausible(r, value))
                return text;
        }
        if (behind == end || *behind != separator)
            return text;
        *target_cell(r) = (float)value;
        r->column++;
        text = behind + 1;
    }
    return text;
}

static bool begins_comment(const struct nt_csv_reader *r, const char *text)
{
    return *text == '#' && r->cell.used == 0 && (r->column == 0 || r->dialect.separator == ' ');
}

static int feed_cells(struct nt_csv_reader *r, const char *text, size_t bytes, struct nt_err *err)
{
    const char *end = text + bytes;
    while (text < end) {
        text = take_figures(r, text, end);
        while (text < end && *text == ' ' && r->cell.used == 0 && r->dialect.separator != ' ')
            text++;
        r->cell.comment = r->cell.comment || (text < end && begins_comment(r, text));
        if (r->cell.comment) {
            text = memchr(text, '\n', (size_t)(end - text));
            if (text == NULL)
                return 0;
            r->cell.comment = false;
        }
        const char *stop = nt_csv_cell_end(text, end, r->dialect.separator, &r->cell.quoted);
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

int nt_csv_reader_feed(struct nt_csv_reader *r, const char *text, size_t bytes, struct nt_err *err)
{
    if (r->broken)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: already failed here", r->file, r->line);
    if (!r->head.done) {
        size_t taken = hold_head(r, text, bytes);
        if (r->head.lines < 2 && r->head.used < NT_CSV_HEAD_MAX)
            return 0;
        if (settle_dialect(r, err) != 0)
            return place_cell(r, err);
        if (feed_cells(r, r->head.text, r->head.used, err) != 0)
            return -1;
        text += taken;
        bytes -= taken;
    }
    return feed_cells(r, text, bytes, err);
}

/* ---- the end ---- */

/* Arranges rows in the order of the first row, along the cycles of the permutation, with memory for
 * one row. */
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

/* No message takes 0 us: a tool wrote the cell of a pair that it did not measure. */
static int zero_latency(struct nt_csv_reader *r, size_t a, size_t b, size_t line,
                        struct nt_err *err)
{
    r->line = line;
    return nt_err_set(
        err, NT_ERR_INPUT,
        "the latency from %.64s to %.64s is 0. Leave out the values of pairs that were "
        "not measured.",
        r->names.name[a], r->names.name[b]);
}

/* Moves the cells of a triangle above the diagonal to their columns, and removes the diagonal. */
static int shape_rows(struct nt_csv_reader *r, struct nt_err *err)
{
    bool upper = (r->shapes & (UPPER | UPPER_FROM)) != 0;
    if (r->n > 1 && upper && (r->shapes & (WHOLE | CUT | LOWER)) != 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "expected %zu values in each row: the rows may form a triangle, or cells "
                          "may be missing",
                          r->n);
    if (r->n > 1 && upper && r->odd_diagonal > 0) {
        r->line = r->odd_diagonal;
        return nt_err_set(err, NT_ERR_INPUT, "expected values in all cells of a triangle");
    }
    for (size_t k = 0; k < r->n; k++) {
        float *row = r->at + k * r->n;
        size_t first = upper ? k + ((r->shapes & UPPER) != 0) : 0;
        for (size_t j = r->n; first > 0 && j-- > 0;)
            row[j] = j >= first ? row[j - first] : NAN;
        row[k] = NAN;
        for (size_t j = 0; j < r->n; j++)
            if (row[j] == 0)
                return zero_latency(r, k, j, r->row_line[k], err);
    }
    return 0;
}

static int fill_pairs(struct nt_csv_reader *r, struct nt_err *err)
{
    r->at = malloc(r->n * r->n * sizeof *r->at);
    if (r->at == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < r->n * r->n; k++)
        r->at[k] = NAN;
    for (size_t k = 0; k < r->pairs; k++) {
        const struct pair *p = &r->pair[k];
        float *to = &r->at[p->a * r->n + p->b];
        if (!isnan(*to)) {
            r->line = p->line;
            return nt_err_set(err, NT_ERR_INPUT, "expected each pair once, found %s %s again",
                              r->names.name[p->a], r->names.name[p->b]);
        }
        if (p->a != p->b && p->value == 0)
            return zero_latency(r, p->a, p->b, p->line, err);
        *to = p->a == p->b ? NAN : p->value;
    }
    return 0;
}

/* Checks the text after its last line. */
static int check_end(struct nt_csv_reader *r, struct nt_err *err)
{
    bool pairs = r->dialect.form == NT_CSV_PAIRS;
    if (!r->headed || (pairs && r->pairs == 0))
        return nt_err_set(err, NT_ERR_INPUT,
                          "expected a row of host names, found the end of the file");
    if (r->either > 0 && r->comma == 0) {
        r->line = r->either;
        return nt_err_set(err, NT_ERR_INPUT,
                          "a number such as 1,234 can mean 1.234 or 1234. Use a decimal point, and "
                          "no comma between thousands.");
    }
    if (!pairs && r->rows < r->n) {
        size_t k = 0;
        while (r->row_line[k] > 0)
            k++;
        return nt_err_set(err, NT_ERR_INPUT, "expected a row for %s, found the end of the file",
                          r->names.name[k]);
    }
    if (pairs)
        return fill_pairs(r, err);
    return order_rows(r, err) != 0 ? -1 : shape_rows(r, err);
}

static int finish_text(struct nt_csv_reader *r, struct nt_err *err)
{
    if (r->broken)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: already failed here", r->file, r->line);
    if (!r->head.done && r->head.used > 0 &&
        (settle_dialect(r, err) != 0 || feed_cells(r, r->head.text, r->head.used, err) != 0))
        return r->broken ? -1 : place_cell(r, err);
    if (r->cell.quoted) {
        nt_err_set(err, NT_ERR_INPUT, "expected closed quotes around a cell");
        return place_cell(r, err);
    }
    if ((r->cell.used > 0 || r->column > 0) && end_cell(r, true, err) != 0)
        return -1;
    return check_end(r, err) != 0 ? place_cell(r, err) : 0;
}

int nt_csv_reader_finish(struct nt_csv_reader *r, struct nt_named_matrix **out, struct nt_err *err)
{
    if (finish_text(r, err) != 0)
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

/* ---- arranging, writing ---- */

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
