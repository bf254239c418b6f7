/* SPDX-License-Identifier: Apache-2.0 */
/* A table for people: a label, figures that are aligned, a note.
 *
 * Where the terminal is too narrow it gives up, one after the other: what notes say besides, errors
 * (" +-0.5"), notes beside their rows (they get lines of their own, but for those that have more to
 * say), the column NT_ROW_SPARE; and only then labels are cut.
 * Tests: bats/show.bats, bats/commands.bats. */
#ifndef NT_TEXT_TABLE_H
#define NT_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "strbuf.h"
#include "terminal.h"

enum { NT_ROW_CELLS = 4, NT_ROW_SPARE = 2, NT_ROW_CELL_BYTES = 32, NT_ROW_NOTE_BYTES = 96 };

enum nt_style { NT_STYLE_PLAIN, NT_STYLE_HEAD, NT_STYLE_SWITCH, NT_STYLE_BAD, NT_STYLE_FAINT };

struct nt_row {
    enum nt_style style;
    char *art;                                  /* what draws the tree, never cut; owned */
    char *label;                                /* owned */
    char cell[NT_ROW_CELLS][NT_ROW_CELL_BYTES]; /* "" is blank; a column without any is left out */
    char note[NT_ROW_NOTE_BYTES];
    char besides[NT_ROW_NOTE_BYTES]; /* goes on with the note where there is room */
};

struct nt_text_table {
    size_t count, capacity;
    struct nt_row *row;
};

/* A new row at the end; takes art and label (from malloc, NULL: memory ran out before). NULL with
 * an error for want of memory. Valid until the next one. */
struct nt_row *nt_text_table_add(struct nt_text_table *rows, enum nt_style style, char *art,
                                 char *label, struct nt_err *err);
void nt_text_table_fini(struct nt_text_table *rows);

/* Within the terminal's width, from 40 columns on. */
void nt_text_table_put(const struct nt_text_table *rows, const struct nt_terminal *terminal,
                       struct nt_strbuf *buf);

/* Lines of at most width columns, broken at blanks, the rest set in. Colours take no columns. A
 * word that is wider stays whole. */
void nt_text_put_wrapped(struct nt_strbuf *buf, const char *text, size_t width, size_t indent);

/* The escape that begins a style, and the one that ends any; "" without colour. */
const char *nt_style_begin(enum nt_style style, const struct nt_terminal *terminal);
const char *nt_style_end(const struct nt_terminal *terminal);

#endif
