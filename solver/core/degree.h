/* SPDX-License-Identifier: Apache-2.0 */
/* In which order to eliminate the columns of a sparse symmetric matrix: least degree first, until
 * the next column has over half of those that remain as neighbours; these make one dense block.
 * Tests: test_plan_routes.c. */
#ifndef NT_DEGREE_H
#define NT_DEGREE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_rows;

struct nt_degree_order {
    size_t head;     /* columns to eliminate sparsely; the others are the dense block */
    uint32_t *order; /* position -> column */
    uint32_t *place; /* column -> position */
    size_t *start;   /* head + 1 */
    uint32_t *below; /* below[start[j]..start[j+1]-1]: positions after j that column j of the
                        factor reaches, rising */
};

/* Of the sum of v v' over the rows. The caller owns the four arrays (free). */
int nt_degree_order(const struct nt_rows *rows, struct nt_degree_order *out, struct nt_err *err);

#endif
