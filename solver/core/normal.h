/* SPDX-License-Identifier: Apache-2.0 */
/* Normal equations of least squares: A = sum of v v' over sparse rows v, symmetric and positive
 * definite, and variances from the inverse of A. SuiteSparse orders the columns (AMD) and factors A
 * (LDL); no other file uses it. CHOLMOD is not faster and is partly under the GPL.
 * Tests: test_plan_routes.c. */
#ifndef NT_NORMAL_H
#define NT_NORMAL_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

enum { NT_NORMAL_ENTRIES_MAX = 1 << 26 }; /* of the factor: 768 MB */

/* A sparse matrix by rows: row i has value[k] in column[k] for k in start[i]..start[i+1]-1. A
 * column occurs at most once per row. */
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

/* Writes the diagonal of the inverse of A to variance[columns]. NT_ERR_INPUT: the factor would need
 * more than NT_NORMAL_ENTRIES_MAX entries, or A is not positive definite (a column without rows, or
 * dependent columns). */
int nt_normal_variances(const struct nt_rows *rows, double *variance, struct nt_err *err);

/* The whole inverse, columns * columns, both triangles; the caller frees it. Errors as for
 * nt_normal_variances. */
int nt_normal_inverse(const struct nt_rows *rows, double **inverse, struct nt_err *err);

#endif
