/* SPDX-License-Identifier: Apache-2.0 */
#include "text_table.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_LEAST = 16, GAP = 2 };

void nt_text_table_fini(struct nt_text_table *rows)
{
    for (size_t k = 0; k < rows->count; k++) {
        free(rows->row[k].art);
        free(rows->row[k].label);
    }
    free(rows->row);
    *rows = (struct nt_text_table){0};
}

struct nt_row *nt_text_table_add(struct nt_text_table *rows, enum nt_style style, char *art,
                                 char *label, struct nt_err *err)
{
    struct nt_row *grown = rows->row;
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity * 2 + 32;
        grown = realloc(rows->row, capacity * sizeof *grown);
        if (grown != NULL) {
            rows->row = grown;
            rows->capacity = capacity;
        }
    }
    if (grown == NULL || art == NULL || label == NULL) {
        free(art);
        free(label);
        nt_err_memory(err);
        return NULL;
    }
    struct nt_row *row = &rows->row[rows->count++];
    *row = (struct nt_row){.style = style, .art = art, .label = label};
    return row;
}

/* Columns on the screen: bytes that continue a UTF-8 character take none. */
static size_t text_columns(const char *text)
{
    size_t wide = 0;
    for (; *text != '\0'; text++)
        wide += ((unsigned char)*text & 0xc0) != 0x80;
    return wide;
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

struct widths {
    size_t label, cell[NT_ROW_CELLS];
};

static struct widths measure_widths(const struct nt_text_table *rows,
                                    const struct nt_terminal *terminal)
{
    struct widths w = {0};
    size_t notes = 0;
    for (size_t k = 0; k < rows->count; k++) {
        const struct nt_row *row = &rows->row[k];
        size_t label = text_columns(row->art) + text_columns(row->label);
        w.label = label > w.label ? label : w.label;
        for (size_t c = 0; c < NT_ROW_CELLS; c++) {
            size_t wide = text_columns(row->cell[c]);
            if (row->style != NT_STYLE_HEAD && wide > w.cell[c])
                w.cell[c] = wide;
        }
        size_t note = text_columns(row->note);
        notes = note > notes ? note : notes;
    }
    for (size_t k = 0; k < rows->count; k++)
        for (size_t c = 0; c < NT_ROW_CELLS && rows->row[k].style == NT_STYLE_HEAD; c++) {
            size_t wide = text_columns(rows->row[k].cell[c]);
            if (w.cell[c] > 0 && wide > w.cell[c])
                w.cell[c] = wide;
        }
    size_t taken = notes > 0 ? notes + GAP : 0;
    for (size_t c = 0; c < NT_ROW_CELLS; c++)
        taken += w.cell[c] > 0 ? w.cell[c] + GAP : 0;
    size_t left = terminal->width > taken + LABEL_LEAST ? terminal->width - taken : LABEL_LEAST;
    w.label = w.label > left ? left : w.label;
    return w;
}

/* The label, cut so that art and label fit. Labels are names: a byte is a column. */
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

static void put_row(struct nt_strbuf *d, const struct nt_row *row, const struct widths *w,
                    const struct nt_terminal *terminal)
{
    size_t from = d->used;
    nt_strbuf_puts(d, nt_style_begin(row->style, terminal));
    put_label(d, row, w->label);
    for (size_t c = 0; c < NT_ROW_CELLS; c++) {
        if (w->cell[c] == 0)
            continue;
        size_t wide = text_columns(row->cell[c]);
        put_spaces(d, GAP + (w->cell[c] > wide ? w->cell[c] - wide : 0));
        nt_strbuf_puts(d, row->cell[c]);
    }
    if (row->note[0] != '\0') {
        put_spaces(d, GAP);
        nt_strbuf_puts(d, row->note);
    }
    while (!d->failed && d->used > from && d->text[d->used - 1] == ' ')
        d->used--;
    nt_strbuf_puts(d, nt_style_end(terminal));
    nt_strbuf_puts(d, "\n");
}

void nt_text_table_put(const struct nt_text_table *rows, const struct nt_terminal *terminal,
                       struct nt_strbuf *buf)
{
    struct widths w = measure_widths(rows, terminal);
    for (size_t k = 0; k < rows->count; k++)
        put_row(buf, &rows->row[k], &w, terminal);
}
