/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics and the few distributions that tests of measurements need. Knows numbers only.
 */
#ifndef NT_STATS_H
#define NT_STATS_H

#include <stddef.h>

/* Selection (Hoare 1961): the k-th smallest of n > k values, which are reordered. No NaN. */
float nt_stats_select(float *values, size_t n, size_t k);

/* Middle value, mean of the two middle ones for an even n; NaN for none. Reorders. No NaN. */
float nt_stats_median(float *values, size_t n);

/* Quantile q in [0,1] of n > 0 values, interpolated between neighbours. Reorders. No NaN. */
float nt_stats_quantile(float *values, size_t n, double q);

struct nt_weighted {
    float value, weight;
};

/* Smallest value at which half of the weight is reached, the middle when it is reached exactly
 * between two; NaN for none. Reorders. */
float nt_stats_weighted_median(struct nt_weighted *values, size_t n);

/* 1.4826 times the median distance from the median: the sd of normal values. Reorders, and
 * replaces the values by those distances. */
float nt_stats_mad(float *values, size_t n);

double nt_normal_cdf(double z);
double nt_normal_quantile(double p);             /* p in (0,1) */
double nt_student_quantile(double p, double df); /* p in (0,1), df > 0 */

#endif
