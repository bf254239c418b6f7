/* SPDX-License-Identifier: Apache-2.0 */
/* Private to import_*.c: a table of hosts that a text labels.
 * Tests: test_import.c. */
#ifndef NT_IMPORT_TABLE_H
#define NT_IMPORT_TABLE_H

#include "lines.h"
#include "matrix_csv.h"
#include "names.h"

/* Labels that occur once stay; those that occur more often (processes of one host) get "-0",
 * "-1", ... in order. Each becomes a host name or an error; line is for the message. */
int import_names_unique(char *const *label, size_t labels, const struct nt_text_line *line,
                        struct nt_names *names, struct nt_err *err);

/* A table of these hosts (copies of the names) in which nothing is measured yet. */
int import_table_create(const struct nt_names *names, enum nt_matrix_kind kind,
                        struct nt_named_matrix **out, struct nt_err *err);

#endif
