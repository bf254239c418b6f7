/* SPDX-License-Identifier: Apache-2.0 */
/* How a text of cells is written: which separator, which form, which units, decimal points or
 * commas. Programs and countries differ in that. Knows cells, not what is made of them.
 * Tests: test_matrix_csv.c. */
#ifndef NT_CSV_DIALECT_H
#define NT_CSV_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

#include "matrix.h"

enum { NT_CSV_CELL_MAX = 255, NT_CSV_HEAD_MAX = 4096 };

/* ---- cells ---- */

/* The separator, blank or line end at which the cell that goes on at text ends, or end. What is in
 * double quotes ends no cell; *quoted: the text before was, and is, in them. A separator ' ' stands
 * for blanks and tabs. */
const char *nt_csv_cell_end(const char *text, const char *end, char separator, bool *quoted);

/* Without blanks around it and quotes, doubled ones once; in place, terminated: there is room for
 * one byte behind the cell. *quoted: it had quotes. NULL: they are not closed at the cell's end. */
char *nt_csv_cell_clean(char *cell, size_t *bytes, bool *quoted);

/* "NA" and other words for a value that was not measured. */
bool nt_csv_cell_is_none(const char *cell, size_t bytes);

enum nt_csv_number {
    NT_CSV_NO_NUMBER,
    NT_CSV_NUMBER,
    NT_CSV_COMMA, /* with a decimal comma */
    NT_CSV_EITHER /* such as 1,234: a decimal comma, or a thousand and more; value is the former */
};
enum nt_csv_number nt_csv_number_read(const char *cell, size_t bytes, bool comma, double *value);

/* ---- units ---- */

/* ns, us, ms, s; MB/s, MiB/s, GB/s, GiB/s, Gbit/s, Mbit/s, and other spellings of them. *factor
 * makes us or MB/s of a value. */
bool nt_unit_named(const char *name, size_t bytes, enum nt_matrix_kind *kind, double *factor);

/* What the words of a title say, as in "latency [ms]" or "rtt_us". */
struct nt_csv_title {
    bool unit; /* one is in it, of values of this kind */
    enum nt_matrix_kind kind;
    double factor;
    bool round_trip; /* RTT is in it */
};
struct nt_csv_title nt_csv_title_read(const char *text, size_t bytes);

/* ---- the first lines ---- */

enum nt_csv_form {
    NT_CSV_UNKNOWN, /* separator: the likeliest, or 0 */
    NT_CSV_MATRIX,  /* hosts in the first row and column */
    NT_CSV_BARE,    /* values only */
    NT_CSV_PAIRS,   /* HOST HOST VALUE, or with a number before them */
};

struct nt_csv_dialect {
    char separator; /* ' ': any number of blanks and tabs */
    enum nt_csv_form form;
    bool headed;   /* pairs: the first line names the columns */
    bool indexed;  /* pairs: their number is the first cell */
    bool trailing; /* rows: a separator ends each line, too */
    bool unnamed;  /* matrix: only the first row has hosts, the others have values alone */
    bool numbered; /* bare: as a matrix, with 0, 1, 2 ... or 1, 2, 3 ... in place of hosts */
    size_t first;  /* numbered: the number of the first */
    size_t cells;  /* of the first line; 0: it does not end in the head */
};

/* head begins with a line that is neither blank nor a comment. */
struct nt_csv_dialect nt_csv_dialect_find(const char *head, size_t bytes);

#endif
