/* SPDX-License-Identifier: Apache-2.0 */
/* Products of dense matrices, in tiles that stay in registers: what reference LAPACK leaves slow.
 *
 * Measured against LAPACK (tests/bench libraries; factor and inverse, CPU time of ours over its):
 * over the reference BLAS 1.2 at 64 unknowns, 0.4 at 300, 0.2 at 2000; over OpenBLAS on one thread
 * 2.2 at 300, 2.8 at 2000. A map's time does not change with any of them. OpenBLAS is 42 MB, its
 * kernels are chosen by the processor, and its packages with threads start them when the library
 * is loaded, in a job's prolog on every host: so it is no dependency, and the reference BLAS alone
 * would be slower.
 *
 * After K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008):
 * both factors are copied into panels of four rows, so that the innermost loop reads them in a
 * row.
 * Tests: test_dense.c. */
#ifndef NT_PANELS_H
#define NT_PANELS_H

#include <stdbool.h>
#include <stddef.h>

enum { NT_PANEL_ROWS = 4, NT_PANEL_DEPTH = 256 };

/* A matrix in memory: element (i, p) is at[i * down + p * right]. */
struct nt_strided {
    const double *at;
    size_t down, right;
};

/* Doubles that rows take as panels. */
static inline size_t nt_panels_size(size_t rows, size_t depth)
{
    return (rows + NT_PANEL_ROWS - 1) / NT_PANEL_ROWS * NT_PANEL_ROWS * depth;
}

/* Copies a (rows x depth) into panels. */
void nt_panels_pack(struct nt_strided a, size_t rows, size_t depth, double *panels);

/* c += factor * a b', for a rows x depth, b columns x depth in panels, depth of at most
 * NT_PANEL_DEPTH; c in column order, ld from one column to the next. lower: what lies above the
 * diagonal of c is left undefined. */
void nt_panels_multiply(double *c, size_t ld, struct nt_strided a, size_t rows, const double *b,
                        size_t columns, size_t depth, double factor, bool lower);

#endif
