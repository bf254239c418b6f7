/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of hosts: as CSV in the dialects of programs and countries (csv_dialect.h), or as a list
 * of pairs.
 *
 * Matrix: the first row has a cell that is empty or names the measurement, then the hosts; or hosts
 * only, as R writes it. Each further row has a host name, then its values. Rows may be in any
 * order, one per host; or all of them contain values only, in the order of the first row. An empty
 * cell is not measured; the diagonal is ignored. Rows may form a triangle: below the diagonal, or
 * above it and moved to the left.
 *
 * Pairs: HOST HOST VALUE per line, optionally with a number before them. Values alone are a matrix
 * whose hosts are named elsewhere.
 *
 * Spaces around a cell, empty lines, CR LF and lines that start with # are accepted. Limits:
 * NT_HOSTS_MAX hosts (NT_CSV_PAIR_HOSTS_MAX in pairs), NT_CSV_CELL_MAX bytes per cell. Memory is in
 * proportion to the data received, not to the first row, and a line without end fails at its first
 * impossible cell. Cells are read instead of the lines of lines.h, because the length of a row is
 * not limited. */
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

/* A matrix of measurements between named hosts. */
struct nt_named_matrix {
    struct nt_names host; /* matrix->n names */
    struct nt_matrix *matrix;
    /* Of bandwidths: all were measured with messages of up to that size or larger; of latencies:
     * the message size; NaN: not in the text */
    double message_bytes;
    struct nt_matrix **larger; /* larger_sizes matrices of the same hosts with larger messages */
    double *larger_bytes;      /* their message sizes */
    size_t larger_sizes;
    bool contended; /* all hosts sent at the same time */
};

/* Creates a table of these hosts, whose names it takes over, without measurements. */
int nt_named_matrix_create(struct nt_names *hosts, enum nt_matrix_kind kind,
                           struct nt_named_matrix **out, struct nt_err *err);
void nt_named_matrix_destroy(struct nt_named_matrix *table);

/* Exchanges matrix with the matrix of that larger message size; false: there is none. */
bool nt_named_matrix_choose(struct nt_named_matrix *table, double message_bytes);

/* Facts that a text may not contain. */
struct nt_csv_given {
    double factor; /* factor from a value to us or MB/s; 0: as the first cell states, otherwise 1 */
    bool round_trip;                  /* values are sums of both directions */
    const struct nt_name_file *names; /* names of hosts, for a text without; borrowed; NULL: none */
};

/* Reads in pieces of any size. file is the name in errors (FILE:LINE: ...). */
struct nt_csv_reader;
int nt_csv_reader_create(const char *file, enum nt_matrix_kind kind, struct nt_csv_reader **out,
                         struct nt_err *err);
/* Sets the given facts. Call it before the first piece. */
void nt_csv_reader_set_given(struct nt_csv_reader *r, const struct nt_csv_given *given);
int nt_csv_reader_feed(struct nt_csv_reader *r, const char *text, size_t bytes, struct nt_err *err);
int nt_csv_reader_finish(struct nt_csv_reader *r, struct nt_named_matrix **out, struct nt_err *err);
void nt_csv_reader_destroy(struct nt_csv_reader *r);

/* Creates a matrix with the hosts in the order of names from one in another order. Hosts that are
 * not in from are not measured; a host that is not in names is NT_ERR_INPUT. */
int nt_matrix_arrange(const struct nt_matrix *from, const struct nt_names *from_names,
                      const struct nt_names *names, struct nt_matrix **out, struct nt_err *err);

/* Writes a matrix. The caller frees the text. Values have enough digits to restore the same
 * float. */
int nt_matrix_csv_write(const struct nt_matrix *matrix, const char *const *host_name, char **text,
                        size_t *bytes, struct nt_err *err);

#endif
