/* A table for people: a label that may be cut, figures that are aligned, a note. */
#ifndef NT_ROWS_H
#define NT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "draft.h"
#include "err.h"
#include "terminal.h"

enum { NT_ROW_CELLS = 4, NT_ROW_CELL_BYTES = 32, NT_ROW_NOTE_BYTES = 96 };

enum nt_style { NT_STYLE_PLAIN, NT_STYLE_HEAD, NT_STYLE_SWITCH, NT_STYLE_BAD, NT_STYLE_FAINT };

struct nt_row {
    enum nt_style style;
    char *art;                                  /* what draws the tree, never cut; owned */
    char *label;                                /* owned */
    char cell[NT_ROW_CELLS][NT_ROW_CELL_BYTES]; /* "" is blank; a column without any is left out */
    char note[NT_ROW_NOTE_BYTES];
};

struct nt_rows {
    size_t count, room;
    struct nt_row *row;
};

/* A new row at the end; takes art and label (from malloc, NULL: memory ran out before). NULL with
 * an error for want of memory. Valid until the next one. */
struct nt_row *nt_rows_add(struct nt_rows *rows, enum nt_style style, char *art, char *label,
                           struct nt_err *err);
void nt_rows_fini(struct nt_rows *rows);

/* Within the terminal's width: labels are cut to fit. */
void nt_rows_put(const struct nt_rows *rows, const struct nt_terminal *terminal,
                 struct nt_draft *draft);

/* The escape that begins a style, and the one that ends any; "" without colour. */
const char *nt_style_begin(enum nt_style style, const struct nt_terminal *terminal);
const char *nt_style_end(const struct nt_terminal *terminal);

#endif
