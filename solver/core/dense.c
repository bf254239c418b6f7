#include "dense.h"

#include <limits.h>

#include <lapacke.h>

int nt_dense_factor(double *a, size_t n, struct nt_err *err)
{
    if (n == 0)
        return 0;
    if (n > SHRT_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu unknowns in one block, at most %d", n, SHRT_MAX);
    lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, a, (lapack_int)n);
    if (info != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "a matrix of %zu is not positive definite", n);
    return 0;
}

void nt_dense_solve(const double *l, size_t n, double *x)
{
    if (n != 0)
        (void)LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, 1, l, (lapack_int)n, x,
                                  (lapack_int)n);
}

int nt_dense_invert(double *l, size_t n, struct nt_err *err)
{
    if (n == 0)
        return 0;
    lapack_int info = LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, l, (lapack_int)n);
    if (info != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "a factor of %zu is singular", n);
    return 0;
}

enum { BLOCK = 8 };

void nt_dense_add(double *restrict y, double a, const double *restrict x, size_t n)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        for (size_t k = 0; k < BLOCK; k++)
            y[i + k] += a * x[i + k];
    }
    for (; i < n; i++)
        y[i] += a * x[i];
}

double nt_dense_dot(const double *restrict x, const double *restrict y, size_t n)
{
    double part[BLOCK] = {0}, sum = 0;
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        for (size_t k = 0; k < BLOCK; k++)
            part[k] += x[i + k] * y[i + k];
    }
    for (; i < n; i++)
        sum += x[i] * y[i];
    for (size_t k = 0; k < BLOCK; k++)
        sum += part[k];
    return sum;
}
