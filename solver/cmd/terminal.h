/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the terminal, and tables in its width.
 * Tests: bats/show.bats, bats/commands.bats. */
#ifndef NT_TERMINAL_H
#define NT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "memory.h"
#include "strbuf.h"
#include "wrap.h"

struct nt_terminal {
    size_t width;     /* columns of standard output; 80 when unknown */
    bool interactive; /* standard output is a terminal */
    bool colour;      /* a terminal, and NO_COLOR is not set */
    bool unicode;     /* the locale's characters are UTF-8 */
};

void nt_terminal_look(struct nt_terminal *terminal);

/* One line on a terminal's standard error that the next one replaces; NULL takes it away.
 * Nothing when standard error is no terminal. */
void nt_terminal_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- tables ----
 *
 * A row has a label, aligned figures and a note. A table that is too wide for the terminal gives
 * up, one after the other: the ends of notes (besides), errors (" +-0.5"), notes beside their rows
 * (those without besides get lines of their own), the column NT_ROW_SPARE; then it cuts labels. */

enum { NT_ROW_CELLS = 4, NT_ROW_SPARE = 2, NT_ROW_CELL_BYTES = 32, NT_ROW_NOTE_BYTES = 96 };

enum nt_style { NT_STYLE_PLAIN, NT_STYLE_HEAD, NT_STYLE_SWITCH, NT_STYLE_BAD, NT_STYLE_FAINT };

struct nt_row {
    enum nt_style style;
    const char *art, *label; /* what draws the tree, never cut; the name behind it. The table's */
    char cell[NT_ROW_CELLS][NT_ROW_CELL_BYTES]; /* "" is blank; a column without any is left out */
    char note[NT_ROW_NOTE_BYTES];
    char besides[NT_ROW_NOTE_BYTES]; /* the end of the note, if there is room */
};

/* {0} is empty. Errors are kept inside until it is put. */
struct nt_text_table {
    size_t count, room;
    struct nt_row *row;
    struct nt_arena memory;
    bool failed;        /* no memory: rows are lost */
    struct nt_row lost; /* the last of them */
};

/* A new row at the end, with copies of art and label. Valid until the next one. */
struct nt_row *nt_text_table_add(struct nt_text_table *rows, enum nt_style style, const char *art,
                                 const char *label);

/* The row of the headings. */
struct nt_row *nt_text_table_add_head(struct nt_text_table *rows, const char *label,
                                      const char *const titles[NT_ROW_CELLS]);
void nt_text_table_fini(struct nt_text_table *rows);

/* Within the terminal's width, from 40 columns on. */
void nt_text_table_put(const struct nt_text_table *rows, const struct nt_terminal *terminal,
                       struct nt_strbuf *buf);

/* The escape that begins a style, and the one that ends any; "" without colour. */
const char *nt_style_begin(enum nt_style style, const struct nt_terminal *terminal);
const char *nt_style_end(const struct nt_terminal *terminal);

#endif
