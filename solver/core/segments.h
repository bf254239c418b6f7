/* SPDX-License-Identifier: Apache-2.0 */
/* A curve of a few straight pieces: where the pieces change is found, not given.
 *
 * The pieces may jump where they meet, as the time of a message does where a protocol changes.
 * Least squares over all divisions by dynamic programming (R. Bellman, On the approximation of
 * curves by line segments using dynamic programming, CACM 4, 1961), the number of pieces by a
 * price for each. Knows numbers only. */
#ifndef NT_SEGMENTS_H
#define NT_SEGMENTS_H

#include <stddef.h>

#include "err.h"

enum { NT_SEGMENTS_POINTS_MAX = 512, NT_SEGMENTS_MAX = 8 };

/* A measured point; sd is its standard deviation, above 0. */
struct nt_point {
    double x, y, sd;
};

/* y = level + slope * (x - at) over the points first..first+count-1. */
struct nt_line {
    size_t first, count;
    double at, level, slope;
    double level_se, slope_se; /* from the residuals, or from sd where they say nothing */
    double r2;                 /* explained share of the weighted squares, 0..1 */
    double squares;            /* sum of ((y - line) / sd)^2 */
};

/* The weighted line through the points, never falling: a slope below 0 becomes 0. One point, or
 * points at one x: slope 0. count > 0. */
void nt_line_fit(const struct nt_point *point, size_t count, double at, struct nt_line *out);

/* Divides the points (x rising) into at most most pieces of at least least points each (fewer
 * only when there are fewer in all) so that squares plus a price a piece is smallest; the price
 * grows with the logarithm of the points (G. Schwarz, Estimating the dimension of a model, 1978).
 * out has room for NT_SEGMENTS_MAX; all lines have the given at. O(n^3). */
int nt_segments_fit(const struct nt_point *point, size_t n, double at, size_t least, size_t most,
                    struct nt_line *out, size_t *lines, struct nt_err *err);

#endif
