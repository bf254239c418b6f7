/* SPDX-License-Identifier: Apache-2.0 */
/* Fits a curve of a few straight lines and finds where the lines change. Knows numbers only.
 *
 * The lines may be discontinuous, like the time of a message at a change of protocol. Least squares
 * over all divisions by dynamic programming (R. Bellman, On the approximation of curves by line
 * segments using dynamic programming, CACM 4, 1961), with a penalty per line. */
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
    double level_se,
        slope_se;   /* from the residuals, or from sd if the residuals do not determine them */
    double r2;      /* explained share of the weighted sum of squares, 0..1 */
    double squares; /* sum of ((y - line) / sd)^2 */
};

/* Fits a weighted line; a negative slope becomes 0. One point, or points with equal x: slope 0.
 * count > 0. */
void nt_line_fit(const struct nt_point *point, size_t count, double at, struct nt_line *out);

struct nt_segments_limits {
    double at;          /* of all lines */
    size_t least, most; /* points per line (fewer only if there are fewer); lines */
};

/* Divides the points, with rising x, into lines within the limits. Minimises squares plus a penalty
 * per line; the penalty is proportional to the logarithm of n (G. Schwarz, Estimating the dimension
 * of a model, 1978). out: room for NT_SEGMENTS_MAX. O(n^3). */
int nt_segments_fit(const struct nt_point *point, size_t n, const struct nt_segments_limits *limits,
                    struct nt_line *out, size_t *lines, struct nt_err *err);

#endif
