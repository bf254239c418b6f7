/* Dense normal equations; the only file of infer/ that knows LAPACK. */
#include "cholesky.h"

#include <lapacke.h>
#include <stdlib.h>

int nt_cholesky_solve(double *matrix, double *right, size_t n, struct nt_err *err)
{
    if (n == 0)
        return 0;
    if (n > NT_CHOLESKY_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu unknowns, at most %d", n, (int)NT_CHOLESKY_MAX);
    /* a ridge far below any figure: directions that nothing measures stay where they are */
    double most = 0;
    for (size_t k = 0; k < n; k++)
        most = matrix[k * n + k] > most ? matrix[k * n + k] : most;
    for (size_t k = 0; k < n; k++)
        matrix[k * n + k] += most * 1e-10 + 1e-300;
    lapack_int m = (lapack_int)n;
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', m, matrix, m) != 0 ||
        LAPACKE_dpotrs(LAPACK_ROW_MAJOR, 'L', m, 1, matrix, m, right, 1) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%zu normal equations are not definite", n);
    return 0;
}

int nt_cholesky_invert(double *factor, size_t n, struct nt_err *err)
{
    if (n > 0 && LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, factor, (lapack_int)n) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%zu normal equations have no inverse", n);
    return 0;
}
