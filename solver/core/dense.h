/* SPDX-License-Identifier: Apache-2.0 */
/* Dense symmetric algebra: the only file of core/ that calls LAPACK, for the blocks on the
 * diagonal; the products between them are panels.h's. Matrices are n*n, the lower triangle
 * in column order (element i,j with i >= j at [j*n + i]). */
#ifndef NT_DENSE_H
#define NT_DENSE_H

#include <stddef.h>

#include "err.h"

/* Replaces the lower triangle by its Cholesky factor L. NT_ERR_INPUT when the matrix is not
 * positive definite. */
int nt_dense_factor(double *a, size_t n, struct nt_err *err);

/* x := inverse(L L') x for one right-hand side. */
void nt_dense_solve(const double *l, size_t n, double *x);

/* Replaces L by inverse(L L'), both triangles. NT_ERR_INPUT when L is singular. */
int nt_dense_invert(double *l, size_t n, struct nt_err *err);

/* y += a x, the same for four x at once, and the sum of x y: in blocks that a compiler turns into
 * vector code by itself. */
void nt_dense_add(double *restrict y, double a, const double *restrict x, size_t n);
void nt_dense_add4(double *restrict y, const double a[4], const double *const x[4], size_t n);
double nt_dense_dot(const double *restrict x, const double *restrict y, size_t n);

#endif
