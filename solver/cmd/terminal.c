/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 80, WIDTH_LEAST = 40, WIDTH_MOST = 400, PROGRESS_BYTES = 4200 };

static size_t terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    unsigned long wide = WIDTH_DEFAULT;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        wide = size.ws_col;
    else if (columns != NULL && columns[0] >= '1' && columns[0] <= '9')
        wide = strtoul(columns, NULL, 10);
    return wide < WIDTH_LEAST ? WIDTH_LEAST : wide > WIDTH_MOST ? WIDTH_MOST : wide;
}

void nt_terminal_look(struct nt_terminal *terminal)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    terminal->width = terminal_width();
    terminal->interactive = isatty(STDOUT_FILENO);
    terminal->colour = terminal->interactive && (no_colour == NULL || no_colour[0] == '\0') &&
                       term != NULL && strcmp(term, "dumb") != 0;
    /* only the characters; the decimal separator stays a point */
    terminal->unicode =
        setlocale(LC_CTYPE, "") != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void nt_terminal_progress(const char *format, ...)
{
    if (!isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    if (format != NULL) {
        char text[PROGRESS_BYTES];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        nt_text_clean(text); /* may contain a path */
        fputs(text, stderr);
    }
    fflush(stderr);
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { LABEL_LEAST = 16, GAP = 2 };

void nt_text_table_fini(struct nt_text_table *rows)
{
    nt_arena_fini(&rows->memory);
    *rows = (struct nt_text_table){0};
}

struct nt_row *nt_text_table_add(struct nt_text_table *rows, enum nt_style style, const char *art,
                                 const char *label)
{
    char *own_art = nt_arena_text(&rows->memory, art, strlen(art));
    char *own_label = nt_arena_text(&rows->memory, label, strlen(label));
    struct nt_row *grown =
        nt_arena_grow(&rows->memory, rows->row, &rows->room, rows->count + 1, sizeof *grown);
    rows->failed = rows->failed || nt_arena_check(&rows->memory, NULL) != 0;
    if (!rows->failed)
        rows->row = grown;
    struct nt_row *row = rows->failed ? &rows->lost : &rows->row[rows->count++];
    *row = (struct nt_row){.style = style, .art = own_art, .label = own_label};
    return row;
}

struct nt_row *nt_text_table_add_head(struct nt_text_table *rows, const char *label,
                                      const char *const titles[NT_ROW_CELLS])
{
    struct nt_row *row = nt_text_table_add(rows, NT_STYLE_HEAD, "", label);
    for (size_t k = 0; k < NT_ROW_CELLS; k++)
        snprintf(row->cell[k], sizeof row->cell[k], "%s", titles[k]);
    return row;
}

static size_t text_columns(const char *text)
{
    return nt_text_columns(text, strlen(text));
}

static void put_spaces(struct nt_strbuf *d, size_t n)
{
    while (n-- > 0)
        nt_strbuf_puts(d, " ");
}

const char *nt_style_begin(enum nt_style style, const struct nt_terminal *terminal)
{
    static const char *const codes[] = {"", "\033[2m", "\033[1m", "\033[1;31m", "\033[2m"};
    return terminal->colour ? codes[style] : "";
}

const char *nt_style_end(const struct nt_terminal *terminal)
{
    return terminal->colour ? "\033[0m" : "";
}

/* The columns to show. */
struct plan {
    bool details, errors, spare, notes_beside;
    size_t label, cell[NT_ROW_CELLS];
};

/* In the order of dropping columns. */
static const struct plan plans[] = {{true, true, true, true, 0, {0}},
                                    {false, true, true, true, 0, {0}},
                                    {false, false, true, true, 0, {0}},
                                    {false, false, true, false, 0, {0}},
                                    {false, false, false, false, 0, {0}}};

/* Returns the shown part of a cell: without its error if errors are dropped; for a heading above
 * values without errors only the unit. */
static const char *shown_cell(const struct nt_row *row, size_t c, const struct plan *p,
                              size_t *bytes)
{
    const char *text = row->cell[c], *blank = strrchr(text, ' ');
    *bytes = strlen(text);
    if (c == NT_ROW_SPARE && !p->spare)
        *bytes = 0;
    if (c != 0 || p->errors || blank == NULL)
        return text;
    if (row->style == NT_STYLE_HEAD) {
        *bytes = strlen(blank + 1);
        return blank + 1;
    }
    *bytes = (size_t)(blank - text);
    return text;
}

static size_t cell_columns(const struct nt_row *row, size_t c, const struct plan *p)
{
    size_t bytes;
    const char *text = shown_cell(row, c, p, &bytes);
    return nt_text_columns(text, bytes);
}

/* Returns what separates the note of a row from its detail. */
static const char *before_detail(const struct nt_row *row)
{
    return row->note[0] != '\0' && row->detail[0] != '\0' ? ", " : "";
}

static size_t note_columns(const struct nt_row *row, const struct plan *p)
{
    size_t note = text_columns(row->note);
    return p->details ? note + strlen(before_detail(row)) + text_columns(row->detail) : note;
}

/* Computes the widths of columns; a column with only a heading is omitted. Labels get the rest. */
static size_t measure_columns(const struct nt_text_table *rows, struct plan *p)
{
    size_t notes = 0, taken = 0;
    for (int heads = 0; heads < 2; heads++)
        for (size_t k = 0; k < rows->count; k++) {
            const struct nt_row *row = &rows->row[k];
            if ((row->style == NT_STYLE_HEAD) != (heads == 1))
                continue;
            for (size_t c = 0; c < NT_ROW_CELLS; c++) {
                size_t wide = cell_columns(row, c, p);
                if (wide > p->cell[c] && (heads == 0 || p->cell[c] > 0))
                    p->cell[c] = wide;
            }
        }
    for (size_t k = 0; k < rows->count && p->notes_beside; k++) {
        size_t wide = note_columns(&rows->row[k], p);
        notes = wide > notes ? wide : notes;
    }
    for (size_t c = 0; c < NT_ROW_CELLS; c++)
        taken += p->cell[c] > 0 ? p->cell[c] + GAP : 0;
    return taken + (notes > 0 ? notes + GAP : 0);
}

static size_t widest_label(const struct nt_text_table *rows)
{
    size_t most = 0;
    for (size_t k = 0; k < rows->count; k++) {
        size_t wide = text_columns(rows->row[k].art) + text_columns(rows->row[k].label);
        most = wide > most ? wide : most;
    }
    return most;
}

static struct plan choose_plan(const struct nt_text_table *rows, size_t width)
{
    size_t labels = widest_label(rows), n = sizeof plans / sizeof *plans;
    struct plan p = plans[0];
    for (size_t k = 0; k < n; k++) {
        p = plans[k];
        size_t taken = measure_columns(rows, &p);
        size_t left = width > taken + LABEL_LEAST ? width - taken : LABEL_LEAST;
        p.label = labels < left ? labels : left;
        if (labels + taken <= width)
            break;
    }
    return p;
}

/* Prints the label, cut so that lines and label fit. Labels are names, so a byte is a column. */
static void put_label(struct nt_strbuf *d, const struct nt_row *row, size_t capacity)
{
    size_t art = text_columns(row->art), label = text_columns(row->label);
    nt_strbuf_puts(d, row->art);
    if (art + label <= capacity) {
        nt_strbuf_puts(d, row->label);
        put_spaces(d, capacity - art - label);
        return;
    }
    size_t keep = capacity > art + 2 ? capacity - art - 2 : 1;
    nt_strbuf_put(d, row->label, keep);
    nt_strbuf_puts(d, "..");
}

static void put_note(struct nt_strbuf *d, const struct nt_row *row, const struct plan *p)
{
    nt_strbuf_puts(d, row->note);
    if (p->details) {
        nt_strbuf_puts(d, before_detail(row));
        nt_strbuf_puts(d, row->detail);
    }
}

/* Continues the lines of the tree in the line of a note. */
static void put_art_below(struct nt_strbuf *d, const char *art)
{
    static const char *const below[][2] = {
        {"├", "│"}, {"└", " "}, {"─", " "}, {"`", " "}, {"-", " "}};
    const size_t n = sizeof below / sizeof *below;
    while (*art != '\0') {
        size_t k = 0;
        while (k < n && strncmp(art, below[k][0], strlen(below[k][0])) != 0)
            k++;
        if (k < n)
            nt_strbuf_puts(d, below[k][1]);
        else
            nt_strbuf_put(d, art, 1);
        art += k < n ? strlen(below[k][0]) : 1;
    }
}

/* A note that is not minor is at the end of its row if the row has room, otherwise below it. */
static void put_row(struct nt_strbuf *d, const struct nt_row *row, const struct plan *p,
                    const struct nt_terminal *terminal)
{
    size_t from = d->used, taken = p->label;
    nt_strbuf_puts(d, nt_style_begin(row->style, terminal));
    put_label(d, row, p->label);
    for (size_t c = 0; c < NT_ROW_CELLS; c++) {
        if (p->cell[c] == 0)
            continue;
        taken += p->cell[c] + GAP;
        size_t bytes, wide = cell_columns(row, c, p);
        const char *text = shown_cell(row, c, p, &bytes);
        put_spaces(d, GAP + (p->cell[c] > wide ? p->cell[c] - wide : 0));
        nt_strbuf_put(d, text, bytes);
    }
    bool important = row->note[0] != '\0' && !row->minor, any = note_columns(row, p) > 0,
         room = taken + GAP + text_columns(row->note) <= terminal->width;
    if (any && (p->notes_beside || (important && room))) {
        put_spaces(d, GAP);
        put_note(d, row, p);
    }
    while (!d->failed && d->used > from && d->text[d->used - 1] == ' ')
        d->used--;
    if (important && !room && !p->notes_beside) {
        nt_strbuf_puts(d, "\n");
        put_art_below(d, row->art);
        put_spaces(d, GAP);
        put_note(d, row, p);
    }
    nt_strbuf_puts(d, nt_style_end(terminal));
    nt_strbuf_puts(d, "\n");
}

void nt_text_table_put(const struct nt_text_table *rows, const struct nt_terminal *terminal,
                       struct nt_strbuf *buf)
{
    struct plan p = choose_plan(rows, terminal->width);
    buf->failed |= rows->failed;
    for (size_t k = 0; k < rows->count; k++)
        put_row(buf, &rows->row[k], &p, terminal);
}
