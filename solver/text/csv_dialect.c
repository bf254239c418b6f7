/* SPDX-License-Identifier: Apache-2.0 */
#include "csv_dialect.h"

#include <string.h>
#include <strings.h>

#include "err.h"
#include "lines.h"
#include "map.h"
#include "number.h"

/* ---- cells ---------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

const char *nt_csv_cell_end(const char *text, const char *end, char separator, bool *quoted)
{
    for (; text < end; text++) {
        if (*text == '"')
            *quoted = !*quoted;
        if (!*quoted &&
            (*text == '\n' || *text == separator || (separator == ' ' && *text == '\t')))
            break;
    }
    return text;
}

/* Returns the text between the quotes of a cell that starts with a quote. */
static char *take_quotes(char *cell, size_t *bytes)
{
    size_t used = 0, k = 1;
    for (; k < *bytes && (cell[k] != '"' || (k + 1 < *bytes && cell[k + 1] == '"')); k++) {
        k += cell[k] == '"';
        cell[used++] = cell[k];
    }
    if (k + 1 != *bytes)
        return NULL;
    *bytes = used;
    return cell;
}

char *nt_csv_cell_clean(char *cell, size_t *bytes, bool *quoted)
{
    size_t n = *bytes;
    while (n > 0 && is_blank(cell[n - 1]))
        n--;
    for (; n > 0 && is_blank(*cell); n--)
        cell++;
    *quoted = n > 0 && *cell == '"';
    *bytes = n;
    if (*quoted && take_quotes(cell, bytes) == NULL)
        return NULL;
    cell[*bytes] = '\0';
    return cell;
}

bool nt_csv_cell_is_none(const char *cell, size_t bytes)
{
    static const char *const none[] = {"NA", "N/A", "NaN", "nan", "-"};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++)
        if (nt_word_is((struct nt_word){cell, bytes}, none[k]))
            return true;
    return false;
}

static size_t count_digits(const char *text, const char *end)
{
    size_t n = 0;
    while (text + n < end && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

enum nt_csv_number nt_csv_number_read(const char *cell, size_t bytes, bool comma, double *value)
{
    char copy[NT_CSV_CELL_MAX];
    const char *end = cell + bytes, *at = memchr(cell, ',', bytes);
    if (bytes == 0 || bytes > sizeof copy)
        return NT_CSV_NO_NUMBER;
    if (at == NULL)
        return nt_number_read(cell, end, value) == end ? NT_CSV_NUMBER : NT_CSV_NO_NUMBER;
    if (!comma || memchr(cell, '.', bytes) != NULL)
        return NT_CSV_NO_NUMBER;
    memcpy(copy, cell, bytes);
    copy[at - cell] = '.';
    if (nt_number_read(copy, copy + bytes, value) != copy + bytes)
        return NT_CSV_NO_NUMBER;
    size_t whole = count_digits(cell, at);
    bool thousands = cell + whole == at && whole >= 1 && whole <= 3 && *cell != '0' &&
                     end - at == 4 && count_digits(at + 1, end) == 3;
    return thousands ? NT_CSV_EITHER : NT_CSV_COMMA;
}

/* ---- units ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum nt_matrix_kind kind;
    double factor;
} units[] = {
    {"us", NT_MATRIX_LATENCY_US, 1},
    {"ns", NT_MATRIX_LATENCY_US, 1e-3},
    {"ms", NT_MATRIX_LATENCY_US, 1e3},
    {"s", NT_MATRIX_LATENCY_US, 1e6},
    {"\xc2\xb5s", NT_MATRIX_LATENCY_US, 1}, /* the micro sign, and the Greek letter */
    {"\xce\xbcs", NT_MATRIX_LATENCY_US, 1},
    {"usec", NT_MATRIX_LATENCY_US, 1},
    {"nsec", NT_MATRIX_LATENCY_US, 1e-3},
    {"msec", NT_MATRIX_LATENCY_US, 1e3},
    {"sec", NT_MATRIX_LATENCY_US, 1e6},
    {"MB/s", NT_MATRIX_BANDWIDTH_MBPS, 1},
    {"MiB/s", NT_MATRIX_BANDWIDTH_MBPS, 1048576 / 1e6},
    {"GB/s", NT_MATRIX_BANDWIDTH_MBPS, 1e3},
    {"GiB/s", NT_MATRIX_BANDWIDTH_MBPS, 1073741824 / 1e6},
    {"Mbit/s", NT_MATRIX_BANDWIDTH_MBPS, 1 / 8.0},
    {"Gbit/s", NT_MATRIX_BANDWIDTH_MBPS, 1e3 / 8},
    {"Mb/s", NT_MATRIX_BANDWIDTH_MBPS, 1 / 8.0},
    {"Gb/s", NT_MATRIX_BANDWIDTH_MBPS, 1e3 / 8},
    {"Mbps", NT_MATRIX_BANDWIDTH_MBPS, 1 / 8.0},
    {"Gbps", NT_MATRIX_BANDWIDTH_MBPS, 1e3 / 8},
};

bool nt_unit_named(const char *name, size_t bytes, enum nt_matrix_kind *kind, double *factor)
{
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        if (nt_word_is((struct nt_word){name, bytes}, units[k].name)) {
            *kind = units[k].kind;
            *factor = units[k].factor;
            return true;
        }
    return false;
}

struct nt_csv_title nt_csv_title_read(const char *text, size_t bytes)
{
    static const char between[] = " \t_()[]{},:;=";
    struct nt_csv_title title = {0};
    for (size_t k = 0, n; k < bytes; k += n + 1) {
        for (n = 0; k + n < bytes && memchr(between, text[k + n], sizeof between - 1) == NULL;)
            n++;
        title.unit = title.unit || nt_unit_named(text + k, n, &title.kind, &title.factor);
        title.round_trip = title.round_trip || (n == 3 && strncasecmp(text + k, "rtt", 3) == 0);
    }
    return title;
}

/* ---- the first lines ------------------------------------------------------------------------ */

enum kind { EMPTY, NONE, NAME, NUMBER, OTHER, KINDS };

/* Properties of a line that is split at one kind of separator. */
struct view {
    bool whole;              /* the line ends in head */
    size_t cells;            /* number of complete cells */
    enum kind kind[4], last; /* kinds of the first cells and of the last one */
    size_t count[KINDS];     /* numbers per kind without the first cell */
    size_t counted;          /* number of cells after the first that are consecutive numbers */
    double first;            /* the number in the second cell */
};

static enum kind find_kind(const char *text, size_t bytes, double *number)
{
    char copy[NT_CSV_CELL_MAX + 1], *cell;
    struct nt_err err = {0};
    bool quoted;
    if (bytes > NT_CSV_CELL_MAX)
        return OTHER;
    memcpy(copy, text, bytes);
    cell = nt_csv_cell_clean(copy, &bytes, &quoted);
    if (cell == NULL || memchr(cell, '\0', bytes) != NULL)
        return OTHER;
    if (bytes == 0)
        return EMPTY;
    if (nt_csv_cell_is_none(cell, bytes))
        return NONE;
    if (nt_csv_number_read(cell, bytes, true, number) != NT_CSV_NO_NUMBER)
        return NUMBER;
    return nt_host_name_check(cell, &err) == 0 ? NAME : OTHER;
}

static void view_cell(struct view *v, const char *text, size_t bytes)
{
    double number = 0;
    enum kind kind = find_kind(text, bytes, &number);
    if (v->cells < sizeof v->kind / sizeof *v->kind)
        v->kind[v->cells] = kind;
    v->last = kind;
    if (v->cells == 1)
        v->first = number;
    if (v->cells > 0) {
        v->count[kind]++;
        v->counted += kind == NUMBER && number == v->first + (double)(v->cells - 1);
    }
    v->cells++;
}

/* Reads the line at text; ignores a cell that is incomplete in head. */
static struct view view_line(const char *text, const char *end, char separator)
{
    struct view v = {.kind = {OTHER, OTHER, OTHER, OTHER}};
    bool quoted = false;
    for (const char *at = text, *stop; at <= end; at = stop + 1) {
        if (separator == ' ' && at < end && *at == '#') { /* a comment behind the cells */
            v.whole = memchr(at, '\n', (size_t)(end - at)) != NULL;
            break;
        }
        stop = nt_csv_cell_end(at, end, separator, &quoted);
        v.whole = stop < end && *stop == '\n';
        if (stop == end)
            break;
        size_t bytes = (size_t)(stop - at);
        bytes -= v.whole && bytes > 0 && stop[-1] == '\r' ? 1 : 0;
        if (separator != ' ' || bytes > 0 ||
            at == text) /* a space at the end of a line is no separator */
            view_cell(&v, at, bytes);
        if (v.whole)
            break;
    }
    return v;
}

/* Returns whether the line is a pair. first: number of cells before the pair. */
static bool is_pair(const struct view *v, size_t first)
{
    return v->whole && v->cells == first + 3 && (first == 0 || v->kind[0] == NUMBER) &&
           v->kind[first] == NAME && v->kind[first + 1] == NAME && v->kind[first + 2] == NUMBER;
}

/* Returns whether the only empty cell is after the last separator. */
static bool is_trailing(const struct view *v)
{
    return v->whole && v->cells > 2 && v->last == EMPTY && v->count[EMPTY] == 1;
}

/* Returns whether the line is a row. strict: the first cell must not be part of a sentence, which
 * spaces would split. */
static bool is_row(const struct view *v, bool strict)
{
    bool named = v->count[NAME] > 0;
    return v->cells > 1 && v->count[OTHER] == 0 &&
           !(named && v->count[EMPTY] + v->count[NUMBER] > is_trailing(v)) &&
           (!strict || v->kind[0] != OTHER);
}

static const char separators[] = ";,\t ";

static bool find_pairs(const char *first, const char *second, const char *end,
                       struct nt_csv_dialect *d)
{
    for (const char *s = separators; *s != '\0'; s++) {
        struct view v = view_line(first, end, *s), next = view_line(second, end, *s);
        for (size_t index = 0; index <= 1; index++) {
            bool pair = is_pair(&v, index);
            bool titles = v.whole && (v.cells == 3 || v.cells == next.cells);
            if (!pair && !(titles && is_pair(&next, index)))
                continue;
            *d = (struct nt_csv_dialect){.separator = *s,
                                         .form = NT_CSV_PAIRS,
                                         .headed = !pair,
                                         .indexed = index == 1,
                                         .cells = v.cells};
            return true;
        }
    }
    return false;
}

/* Returns the next non-empty line after the one at text, or end. */
static const char *find_second(const char *text, const char *end)
{
    const char *feed = memchr(text, '\n', (size_t)(end - text));
    const char *line = feed == NULL ? end : feed + 1;
    for (const char *at = line; at < end && memchr(" \t\r\n", *at, 4) != NULL; at++)
        line = *at == '\n' ? at + 1 : line;
    return line;
}

/* Returns whether a row of hosts is followed by a row of as many values. */
static bool is_unnamed(const struct view *names, const struct view *row)
{
    return names->kind[0] == NAME && names->whole && row->whole && row->cells == names->cells &&
           row->kind[0] != NAME && row->kind[0] != OTHER &&
           row->count[NAME] + row->count[OTHER] == 0;
}

static bool find_rows(const char *first, const char *end, bool strict, struct nt_csv_dialect *d)
{
    const char *second = find_second(first, end);
    for (const char *s = separators; *s != '\0'; s++) {
        struct view v = view_line(first, end, *s);
        if (!is_row(&v, strict || (*s == ' ' && (*first == ',' || *first == ';'))))
            continue;
        d->separator = *s;
        d->form = v.count[NAME] > 0 ? NT_CSV_MATRIX : NT_CSV_BARE;
        d->cells = v.whole ? v.cells : 0;
        d->trailing = d->form == NT_CSV_MATRIX && is_trailing(&v);
        d->numbered = d->form == NT_CSV_BARE && v.counted + 1 == v.cells && v.kind[0] != NUMBER &&
                      (v.first == 0 || v.first == 1);
        d->first = d->numbered ? (size_t)v.first : 0;
        struct view next = view_line(second, end, *s);
        d->unnamed = d->form == NT_CSV_MATRIX && is_unnamed(&v, &next);
        return true;
    }
    return false;
}

struct nt_csv_dialect nt_csv_dialect_find(const char *head, size_t bytes)
{
    struct nt_csv_dialect d = {0};
    const char *end = head + bytes, *second = find_second(head, end);
    if (find_pairs(head, second, end, &d) || find_rows(head, end, true, &d) ||
        find_rows(head, end, false, &d))
        return d;
    double number;
    struct nt_word rest = {head, bytes};
    size_t first = nt_word_cut(&rest, '\n').bytes;
    first -= first > 0 && head[first - 1] == '\r' ? 1 : 0;
    enum kind kind = find_kind(head, first, &number);
    struct nt_csv_dialect triangle = {0}; /* it starts with one value, and has no names */
    if ((kind == NUMBER || kind == NONE) && find_rows(second, end, true, &triangle) &&
        triangle.form == NT_CSV_BARE) {
        triangle.cells = 1;
        triangle.numbered = false;
        return triangle;
    }
    for (const char *s = separators; *s != '\0' && d.separator == '\0'; s++)
        if (memchr(head, *s, first) != NULL)
            d.separator = *s;
    return d;
}
