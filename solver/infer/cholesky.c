/* SPDX-License-Identifier: Apache-2.0 */
#include "cholesky.h"

#include "dense.h"

/* dense.h reads the other half. */
static void mirror_triangle(double *matrix, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            matrix[j * n + i] = matrix[i * n + j];
}

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
    mirror_triangle(matrix, n);
    if (nt_dense_factor(matrix, n, err) < 0)
        return -1;
    nt_dense_solve(matrix, n, right);
    return 0;
}

int nt_cholesky_invert(double *factor, size_t n, struct nt_err *err)
{
    return n > 0 ? nt_dense_invert(factor, n, err) : 0;
}
