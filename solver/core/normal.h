/* SPDX-License-Identifier: Apache-2.0 */
/* Normal equations of least squares: A = sum of v v' over sparse rows v, symmetric and positive
 * definite, and what follows from its inverse (variances).
 *
 * The columns with few neighbours (host links) are eliminated sparsely in order of least degree;
 * what remains when that no longer saves work is one dense block (dense.h). Paths through a network
 * leave a block of about half the links or less, which saves nine tenths of the dense work.
 *
 * CHOLMOD 3.0.14 was measured beside it (tests/bench libraries, up to 1296 unknowns): to factor
 * took us 0.3 to 1.8 times its time, to give the variances 0.3 to 0.95 (it has no selected inverse;
 * this is the same method over its factor, which keeps no dense block), the whole inverse 0.07 to
 * 0.4 times, and 0.2 to 1 with OpenBLAS below both. Its supernodal part is under the GPL.
 * Tests: test_plan_routes.c. */
#ifndef NT_NORMAL_H
#define NT_NORMAL_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

enum { NT_NORMAL_DENSE_MAX = 8192 }; /* the dense block: 512 MB */

/* A sparse matrix by rows: row i has value[k] in column[k] for k in start[i]..start[i+1]-1, a
 * column at most once a row. */
struct nt_rows {
    struct nt_arena memory; /* of the arrays; first, for nt_object_create */
    size_t rows, columns;
    size_t *start;
    uint32_t *column;
    double *value;
};

int nt_rows_create(size_t rows, size_t columns, size_t entries, struct nt_rows **out,
                   struct nt_err *err);
void nt_rows_destroy(struct nt_rows *rows);

struct nt_normal;

/* Factors A. NT_ERR_INPUT when the dense block would pass NT_NORMAL_DENSE_MAX, or A is not positive
 * definite (a column without rows, or dependent ones). */
int nt_normal_create(const struct nt_rows *rows, struct nt_normal **out, struct nt_err *err);
void nt_normal_destroy(struct nt_normal *normal);

/* The diagonal of the inverse of A into variance[columns]; costs little more than factoring.
 * Uses up the factor: the normal can only be destroyed afterwards. */
int nt_normal_variances(struct nt_normal *normal, double *variance, struct nt_err *err);

/* The whole inverse, columns * columns, both triangles; owned by the caller (free). Uses up the
 * factor as nt_normal_variances does. */
int nt_normal_inverse(struct nt_normal *normal, double **inverse, struct nt_err *err);

#endif
