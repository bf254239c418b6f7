/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of hosts, as CSV in the dialects of programs and countries (csv_dialect.h), or as a list
 * of pairs.
 *
 * Matrix: the first row has a cell that is empty or names what is measured, and then the hosts; a
 * first row that has hosts only, as R writes it, is one, too. Each further row: a host name, then
 * its values; rows may come in any order, each host has one. Or all of them have values only, in
 * the order of the first. An empty cell is not measured; the
 * diagonal is passed over. Rows may be those of a triangle: below the diagonal, or above it and
 * moved to the left.
 * Pairs: HOST HOST VALUE a line, or a number before them. Values alone are a matrix of hosts that
 * are named elsewhere. Blanks around a cell, blank lines, CR LF and lines that begin with # are
 * fine. Bounds: NT_HOSTS_MAX hosts (NT_CSV_PAIR_HOSTS_MAX in pairs), NT_CSV_CELL_MAX bytes a cell.
 * Memory follows what has really come, never what the first row announces, and a line without end
 * fails at its first impossible cell: cells are read, not lines.h's lines, as a row has no bound of
 * bytes.
 */
#ifndef NT_MATRIX_CSV_H
#define NT_MATRIX_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "csv_dialect.h"
#include "err.h"
#include "matrix.h"
#include "name_file.h"
#include "names.h"

enum { NT_CSV_PAIR_HOSTS_MAX = 8192 };

/* What was measured between hosts. */
struct nt_named_matrix {
    struct nt_names host; /* matrix->n of them */
    struct nt_matrix *matrix;
    double message_bytes;      /* of bandwidths: all were measured with messages up to it, or longer
                                  ones; of PARUS's latencies; NaN: not in the text */
    struct nt_matrix **larger; /* larger_sizes of them: the same hosts with larger messages, */
    double *larger_bytes;      /* of so many bytes */
    size_t larger_sizes;
    bool contended; /* all hosts sent at the same time */
};

/* A table of these hosts, whose names it takes over, in which nothing is measured yet. */
int nt_named_matrix_create(struct nt_names *hosts, enum nt_matrix_kind kind,
                           struct nt_named_matrix **out, struct nt_err *err);
void nt_named_matrix_destroy(struct nt_named_matrix *table);

/* Exchanges matrix with that of larger messages of this size; false: there is none. */
bool nt_named_matrix_choose(struct nt_named_matrix *table, double message_bytes);

/* What a text does not say of itself. */
struct nt_csv_given {
    double factor;   /* makes us or MB/s of a value; 0: as the first cell says, or 1 */
    bool round_trip; /* values are both ways together */
    const struct nt_name_file *names; /* of hosts, for values without; borrowed; NULL: none */
};

/* Reading in pieces of any size; file names it in errors (FILE:LINE: ...). */
struct nt_csv_reader;
int nt_csv_reader_create(const char *file, enum nt_matrix_kind kind, struct nt_csv_reader **out,
                         struct nt_err *err);
/* Before the first piece. */
void nt_csv_reader_give(struct nt_csv_reader *r, const struct nt_csv_given *given);
int nt_csv_reader_feed(struct nt_csv_reader *r, const char *text, size_t bytes, struct nt_err *err);
int nt_csv_reader_finish(struct nt_csv_reader *r, struct nt_named_matrix **out, struct nt_err *err);
void nt_csv_reader_destroy(struct nt_csv_reader *r);

/* A new matrix with the hosts in the order of names from one in another; hosts that from does not
 * have are not measured, one that is not in names is NT_ERR_INPUT. */
int nt_matrix_arrange(const struct nt_matrix *from, const struct nt_names *from_names,
                      const struct nt_names *names, struct nt_matrix **out, struct nt_err *err);

/* The text, the caller's (free). Figures so that the same float is read back. */
int nt_matrix_csv_write(const struct nt_matrix *matrix, const char *const *host_name, char **text,
                        size_t *bytes, struct nt_err *err);

#endif
