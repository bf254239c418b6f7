/* SPDX-License-Identifier: Apache-2.0 */
/* Normal equations of least squares that may leave an unknown open: dense.h with a ridge.
 * Tests: test_few_hosts.c. */
#ifndef NT_CHOLESKY_H
#define NT_CHOLESKY_H

#include <stddef.h>

#include "err.h"

enum { NT_CHOLESKY_MAX = 8192 };

/* matrix: n*n row-major, lower half used, replaced by what nt_cholesky_invert takes; right: n,
 * replaced by the solution. Unknowns that nothing measures come out as 0. */
int nt_cholesky_solve(double *matrix, double *right, size_t n, struct nt_err *err);

/* What nt_cholesky_solve left becomes the inverse, both halves. */
int nt_cholesky_invert(double *factor, size_t n, struct nt_err *err);

#endif
