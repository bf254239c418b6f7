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
    size_t width;     /* columns of standard output; 80 if not known */
    bool interactive; /* standard output is a terminal */
    bool colour;      /* a terminal, and NO_COLOR is not set */
    bool unicode;     /* the locale's characters are UTF-8 */
};

void nt_terminal_look(struct nt_terminal *terminal);

/* Shows a line on standard error that the next call replaces; NULL removes it. Does nothing if
 * standard error is not a terminal. */
void nt_terminal_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- tables ----
 *
 * A row has a label, aligned figures and a note. A table that is too wide for the terminal gives
 * up, one after the other: the details of notes, errors (" +-0.5"), the column of notes
 * (those that are not minor remain at the ends of rows with room, or get lines of their own), the
 * column NT_ROW_SPARE; then it cuts labels. */

enum { NT_ROW_CELLS = 4, NT_ROW_SPARE = 2, NT_ROW_CELL_BYTES = 32, NT_ROW_NOTE_BYTES = 96 };

enum nt_style { NT_STYLE_PLAIN, NT_STYLE_HEAD, NT_STYLE_SWITCH, NT_STYLE_BAD, NT_STYLE_FAINT };

struct nt_row {
    enum nt_style style;
    /* Lines of the tree, never cut, and the name after them. The table owns both. */
    const char *art, *label;
    /* "": empty. A column with only empty cells is omitted. */
    char cell[NT_ROW_CELLS][NT_ROW_CELL_BYTES];
    char note[NT_ROW_NOTE_BYTES];
    char detail[NT_ROW_NOTE_BYTES]; /* shown after the note and a comma; omitted without room */
    bool minor;                     /* the whole note is omitted without room */
};

/* {0} is empty. Errors are stored until nt_text_table_put. */
struct nt_text_table {
    size_t count, room;
    struct nt_row *row;
    struct nt_arena memory;
    bool failed;        /* out of memory; rows are lost */
    struct nt_row lost; /* receives lost rows */
};

/* Adds a row with copies of art and label. Valid until the next one. */
struct nt_row *nt_text_table_add(struct nt_text_table *rows, enum nt_style style, const char *art,
                                 const char *label);

/* Adds the row of headings. */
struct nt_row *nt_text_table_add_head(struct nt_text_table *rows, const char *label,
                                      const char *const titles[NT_ROW_CELLS]);
void nt_text_table_fini(struct nt_text_table *rows);

/* Prints the table within the terminal's width, at least 40 columns. */
void nt_text_table_put(const struct nt_text_table *rows, const struct nt_terminal *terminal,
                       struct nt_strbuf *buf);

/* Return the escape sequence that starts a style, and the one that ends any style; "" without
 * colour. */
const char *nt_style_begin(enum nt_style style, const struct nt_terminal *terminal);
const char *nt_style_end(const struct nt_terminal *terminal);

#endif
