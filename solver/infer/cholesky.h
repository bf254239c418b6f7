/* Dense symmetric positive definite systems: normal equations of least squares. */
#ifndef NT_CHOLESKY_H
#define NT_CHOLESKY_H

#include <stddef.h>

#include "err.h"

enum { NT_CHOLESKY_MAX = 8192 };

/* matrix: n*n row-major, lower half used, replaced by its Cholesky factor; right: n, replaced by
 * the solution. Unknowns that nothing measures come out as 0. */
int nt_cholesky_solve(double *matrix, double *right, size_t n, struct nt_err *err);

/* The factor that nt_cholesky_solve left becomes the lower half of the inverse. */
int nt_cholesky_invert(double *factor, size_t n, struct nt_err *err);

#endif
