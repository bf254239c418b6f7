/* SPDX-License-Identifier: Apache-2.0 */
#include "dense.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <lapacke.h>

#include "panels.h"

/* A block of columns at a time: LAPACK factors the diagonal, the products take most of the time. */
enum { WIDTH = 64 };

struct scratch {
    size_t n;
    double *panels; /* of n rows or NT_PANEL_DEPTH columns of WIDTH */
    double *side;   /* n * WIDTH: a block of columns */
    double corner[WIDTH * WIDTH];
};

static void scratch_destroy(struct scratch *scratch)
{
    if (scratch == NULL)
        return;
    free(scratch->panels);
    free(scratch->side);
    free(scratch);
}

static struct scratch *scratch_create(size_t n, struct nt_err *err)
{
    size_t rows = n > NT_PANEL_DEPTH ? n : NT_PANEL_DEPTH;
    struct scratch *scratch = calloc(1, sizeof *scratch);
    if (scratch != NULL) {
        scratch->n = n;
        scratch->panels = malloc(nt_panels_size(rows, WIDTH) * sizeof *scratch->panels);
        scratch->side = malloc((n + 1) * WIDTH * sizeof *scratch->side);
    }
    if (scratch != NULL && scratch->panels != NULL && scratch->side != NULL)
        return scratch;
    scratch_destroy(scratch);
    (void)nt_err_memory(err);
    return NULL;
}

/* corner := the inverse of the triangle at l, zeros above it. */
static int invert_corner(struct scratch *scratch, const double *l, size_t wide, struct nt_err *err)
{
    memset(scratch->corner, 0, sizeof scratch->corner);
    for (size_t j = 0; j < wide; j++)
        memcpy(scratch->corner + j * WIDTH + j, l + j * scratch->n + j, (wide - j) * sizeof *l);
    const lapack_int n = (lapack_int)wide, width = WIDTH;
    lapack_int info;
    LAPACK_dtrtri("L", "N", &n, scratch->corner, &width, &info);
    if (info != 0)
        return nt_err_set(err, NT_ERR_INPUT, "a factor of %zu is singular", scratch->n);
    return 0;
}

static void clear_block(double *a, size_t ld, size_t rows, size_t columns)
{
    for (size_t j = 0; j < columns; j++)
        memset(a + j * ld, 0, rows * sizeof *a);
}

/* Below the corner at a: L21 := A21 inverse(L11)'; then A22 -= L21 L21'. */
static int factor_below(struct scratch *scratch, double *a, size_t wide, size_t below,
                        struct nt_err *err)
{
    size_t n = scratch->n;
    double *side = a + wide;
    if (invert_corner(scratch, a, wide, err) != 0)
        return -1;
    for (size_t j = 0; j < wide; j++)
        memcpy(scratch->side + j * below, side + j * n, below * sizeof *a);
    clear_block(side, n, below, wide);
    nt_panels_pack((struct nt_strided){scratch->corner, 1, WIDTH}, wide, wide, scratch->panels);
    nt_panels_multiply(side, n, (struct nt_strided){scratch->side, 1, below}, below,
                       scratch->panels, wide, wide, 1, false);
    struct nt_strided l21 = {side, 1, n};
    nt_panels_pack(l21, below, wide, scratch->panels);
    nt_panels_multiply(side + wide * n, n, l21, below, scratch->panels, below, wide, -1, true);
    return 0;
}

int nt_dense_factor(double *a, size_t n, struct nt_err *err)
{
    if (n == 0)
        return 0;
    if (n > SHRT_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu unknowns in one block, at most %d", n, SHRT_MAX);
    struct scratch *scratch = scratch_create(n, err);
    int rc = scratch == NULL ? -1 : 0;
    for (size_t k = 0; k < n && rc == 0; k += WIDTH) {
        size_t wide = n - k < WIDTH ? n - k : WIDTH;
        double *corner = a + k * n + k;
        const lapack_int columns = (lapack_int)wide, rows = (lapack_int)n;
        lapack_int info;
        LAPACK_dpotrf("L", &columns, corner, &rows, &info);
        if (info != 0)
            rc = nt_err_set(err, NT_ERR_INPUT, "a matrix of %zu is not positive definite", n);
        else if (k + wide < n)
            rc = factor_below(scratch, corner, wide, n - k - wide, err);
    }
    scratch_destroy(scratch);
    return rc;
}

void nt_dense_solve(const double *l, size_t n, double *x)
{
    const lapack_int rows = (lapack_int)n, one = 1;
    lapack_int info;
    if (n != 0)
        LAPACK_dpotrs("L", &rows, &one, l, &rows, x, &rows, &info);
}

/* c := factor a b over a long depth; b lies depth x columns. */
static void multiply_long(struct scratch *scratch, double *c, struct nt_strided a, size_t rows,
                          struct nt_strided b, size_t columns, size_t depth, double factor)
{
    for (size_t p = 0; p < depth; p += NT_PANEL_DEPTH) {
        size_t deep = depth - p < NT_PANEL_DEPTH ? depth - p : NT_PANEL_DEPTH;
        struct nt_strided turned = {b.at + p * b.down, b.right, b.down};
        nt_panels_pack(turned, columns, deep, scratch->panels);
        nt_panels_multiply(c, scratch->n, (struct nt_strided){a.at + p * a.right, a.down, a.right},
                           rows, scratch->panels, columns, deep, factor, false);
    }
}

static void mirror_block(double *a, size_t n, size_t rows, size_t columns)
{
    for (size_t j = 0; j < columns; j++)
        for (size_t i = j + 1; i < rows; i++)
            a[i * n + j] = a[j * n + i];
}

/* The columns at the corner a, when all behind them are done (Z22, both triangles):
 * M = L21 inverse(L11), Z21 = -Z22 M, Z11 = inverse(L11)' inverse(L11) - M' Z21. */
static int invert_columns(struct scratch *scratch, double *a, size_t wide, size_t below,
                          struct nt_err *err)
{
    size_t n = scratch->n;
    double *side = a + wide, *m = scratch->side;
    struct nt_strided corner = {scratch->corner, 1, WIDTH}, turned = {scratch->corner, WIDTH, 1};
    if (invert_corner(scratch, a, wide, err) != 0)
        return -1;
    nt_panels_pack(turned, wide, wide, scratch->panels);
    clear_block(m, below, below, wide);
    nt_panels_multiply(m, below, (struct nt_strided){side, 1, n}, below, scratch->panels, wide,
                       wide, 1, false);
    clear_block(side, n, below, wide);
    multiply_long(scratch, side, (struct nt_strided){side + wide * n, 1, n}, below,
                  (struct nt_strided){m, 1, below}, wide, below, -1);
    clear_block(a, n, wide, wide);
    multiply_long(scratch, a, turned, wide, corner, wide, wide, 1);
    multiply_long(scratch, a, (struct nt_strided){m, below, 1}, wide,
                  (struct nt_strided){side, 1, n}, wide, below, -1);
    mirror_block(a, n, wide + below, wide);
    return 0;
}

int nt_dense_invert(double *l, size_t n, struct nt_err *err)
{
    if (n == 0)
        return 0;
    struct scratch *scratch = scratch_create(n, err);
    int rc = scratch == NULL ? -1 : 0;
    for (size_t k = (n - 1) / WIDTH * WIDTH + WIDTH; k > 0 && rc == 0; k -= WIDTH) {
        size_t first = k - WIDTH, wide = n - first < WIDTH ? n - first : WIDTH;
        rc = invert_columns(scratch, l + first * n + first, wide, n - first - wide, err);
    }
    scratch_destroy(scratch);
    return rc;
}

/* y += a x for four x at once: y is read and written once. */
void nt_dense_add4(double *restrict y, const double a[4], const double *const x[4], size_t n)
{
    const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (size_t k = i; k < i + 4; k++)
            y[k] += (a0 * x0[k] + a1 * x1[k]) + (a2 * x2[k] + a3 * x3[k]);
    }
    for (; i < n; i++)
        y[i] += (a0 * x0[i] + a1 * x1[i]) + (a2 * x2[i] + a3 * x3[i]);
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
