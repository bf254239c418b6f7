/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics and the few distributions that tests of measurements need. Knows numbers only.
 */
#ifndef NT_STATS_H
#define NT_STATS_H

#include <stddef.h>

/* Of normal values: their sd over the median size of their deviations, 1 / Phi^-1(3/4), and back;
 * over the mean size, sqrt(pi / 2), which is also the standard error of a median over that of a
 * mean; the sds that 95 % lie within. */
#define NT_SD_OF_MEDIAN 1.4826
#define NT_MEDIAN_OF_SD 0.6745
#define NT_SD_OF_MEAN 1.2533
#define NT_SDS_95 1.95996
/* A median absolute deviation is worth so many squares (Huber 1981, its efficiency). */
#define NT_MAD_WORTH 0.37
/* What the density of normal values of sd 1 is divided by: sqrt(2 pi). */
#define NT_NORMAL_TOTAL 2.5066282746310002

/* For qsort and bsearch: ascending numbers, no NaN. */
int nt_compare_floats(const void *a, const void *b);
int nt_compare_doubles(const void *a, const void *b);
int nt_compare_u32(const void *a, const void *b);
int nt_compare_u64(const void *a, const void *b);

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

double nt_log_sum(double a, double b);  /* ln (e^a + e^b); -INFINITY: ln 0 */
double nt_log_beta(double a, double b); /* ln of the beta function, both over 0 */

double nt_normal_cdf(double z);
double nt_normal_quantile(double p);             /* p in (0,1) */
double nt_student_quantile(double p, double df); /* p in (0,1), df > 0 */

#endif
