/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares that a few wrong measurements hardly move.
 *
 * Huber's estimate (1981; 1.345 standard deviations, residuals divided by sqrt(1 - leverage), scale
 * by the median) finds the measurements whose deleted residual passes 4; these get weight 1e-4
 * instead of none, so that the rank stays, and the rest is fitted by plain least squares. Standard
 * errors come from the residual sum over the freedom of the kept rows: that has the right coverage,
 * the textbook error of Huber's estimate has not.
 * Tests: test_estimate_routes.c. */
#ifndef NT_ROBUST_H
#define NT_ROBUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "normal.h"

struct nt_robust {
    struct nt_arena memory; /* of the rows and x; first, for nt_object_create */
    size_t rows, unknowns;
    double *x;        /* unknowns */
    double *inverse;  /* unknowns^2: times sigma^2 the covariance of x */
    double *residual; /* rows: measured - fitted */
    double *leverage; /* rows: v inverse v' */
    bool *rejected;   /* rows */
    size_t rejections, freedom;
    double sigma; /* NaN without freedom */
};

/* measured[rows->rows]; the rows have full rank. */
int nt_robust_fit(const struct nt_rows *rows, const double *measured, struct nt_robust **out,
                  struct nt_err *err);
void nt_robust_destroy(struct nt_robust *robust);

/* v inverse v' for a sparse v of n entries: value[k] in column[k]. */
double nt_robust_variance(const struct nt_robust *robust, const uint32_t *column,
                          const double *value, size_t n);

#endif
