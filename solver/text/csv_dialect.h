/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the dialect of a CSV text: separator, layout, units, decimal points or commas, which
 * differ between programs and countries. Independent of the use of the cells.
 * Tests: test_matrix_csv.c. */
#ifndef NT_CSV_DIALECT_H
#define NT_CSV_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

#include "matrix.h"

enum { NT_CSV_CELL_MAX = 255, NT_CSV_HEAD_MAX = 4096 };

/* ---- cells ---- */

/* Returns the separator, space or line end that ends the cell at text, or end. Text in double
 * quotes does not end a cell; *quoted: the text so far is within quotes, updated. A separator ' '
 * means any number of spaces and tabs. */
const char *nt_csv_cell_end(const char *text, const char *end, char separator, bool *quoted);

/* Removes surrounding spaces and quotes from a cell, in place, and replaces doubled quotes by one.
 * Terminates the cell: one byte after it must be writable. *quoted: it had quotes. Returns NULL if
 * a quote is not closed. */
char *nt_csv_cell_clean(char *cell, size_t *bytes, bool *quoted);

/* Returns whether a cell means "not measured", such as "NA". */
bool nt_csv_cell_is_none(const char *cell, size_t bytes);

enum nt_csv_number {
    NT_CSV_NO_NUMBER,
    NT_CSV_NUMBER,
    NT_CSV_COMMA, /* with a decimal comma */
    NT_CSV_EITHER /* such as 1,234: a decimal comma or a thousands separator; value assumes a comma
                   */
};
enum nt_csv_number nt_csv_number_read(const char *cell, size_t bytes, bool comma, double *value);

/* ---- units ---- */

/* Recognizes a unit: ns, us, ms, s; MB/s, MiB/s, GB/s, GiB/s, Gbit/s, Mbit/s and other spellings.
 * *factor converts a value to us or MB/s. */
bool nt_unit_named(const char *name, size_t bytes, enum nt_matrix_kind *kind, double *factor);

/* Facts from a title such as "latency [ms]" or "rtt_us". */
struct nt_csv_title {
    bool unit; /* the title contains a unit for this kind of values */
    enum nt_matrix_kind kind;
    double factor;
    bool round_trip; /* the title contains RTT */
};
struct nt_csv_title nt_csv_title_read(const char *text, size_t bytes);

/* ---- the first lines ---- */

enum nt_csv_form {
    NT_CSV_UNKNOWN, /* unknown; separator: the most likely one, or 0 */
    NT_CSV_MATRIX,  /* hosts in the first row and column */
    NT_CSV_BARE,    /* values only */
    NT_CSV_PAIRS,   /* HOST HOST VALUE, or with a number before them */
};

struct nt_csv_dialect {
    char separator; /* ' ': any number of blanks and tabs */
    enum nt_csv_form form;
    bool headed;   /* pairs: the first line contains the names of the columns */
    bool indexed;  /* pairs: the first cell is the number of the pair */
    bool trailing; /* a separator also ends each line */
    bool unnamed;  /* matrix: only the first row has hosts; the others contain values only */
    bool numbered; /* bare: a matrix with 0, 1, 2 ... or 1, 2, 3 ... instead of hosts */
    size_t first;  /* numbered: number of the first host */
    size_t cells;  /* number of cells of the first line; 0: the line does not end in head */
};

/* Detects the dialect from head, the start of the text, whose first line is neither empty nor a
 * comment. */
struct nt_csv_dialect nt_csv_dialect_find(const char *head, size_t bytes);

#endif
