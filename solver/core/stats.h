/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics and distributions for tests of measurements. Knows numbers only. */
#ifndef NT_STATS_H
#define NT_STATS_H

#include <stddef.h>

/* Ratios for normal values. Sd over median absolute deviation: 1 / Phi^-1(3/4), and its inverse. Sd
 * over mean absolute deviation: sqrt(pi / 2), also the ratio of the standard errors of median and
 * mean. The last is the number of sds of a 95 % interval. */
#define NT_SD_OF_MEDIAN 1.4826
#define NT_MEDIAN_OF_SD 0.6745
#define NT_SD_OF_MEAN 1.2533
#define NT_SDS_95 1.95996
/* Efficiency of the median absolute deviation relative to the sd (Huber 1981). */
#define NT_MAD_EFFICIENCY 0.37
/* Normalisation of the standard normal density: sqrt(2 pi). */
#define NT_SQRT_2_PI 2.5066282746310002

/* For qsort and bsearch: ascending numbers, no NaN. */
int nt_compare_floats(const void *a, const void *b);
int nt_compare_doubles(const void *a, const void *b);
int nt_compare_u32(const void *a, const void *b);
int nt_compare_u64(const void *a, const void *b);

/* Selection (Hoare 1961): the k-th smallest of n > k values, which are reordered. No NaN. */
float nt_stats_select(float *values, size_t n, size_t k);

/* Median: the mean of the two middle values for an even n; NaN for n = 0. Reorders. No NaN. */
float nt_stats_median(float *values, size_t n);

/* Quantile q in [0,1] of n > 0 values, interpolated between neighbours. Reorders. No NaN. */
float nt_stats_quantile(float *values, size_t n, double q);

struct nt_weighted {
    float value, weight;
};

/* Weighted median: the smallest value at which half of the weight is reached, or the middle of two
 * values if it is reached exactly between them; NaN for n = 0. Reorders. */
float nt_stats_weighted_median(struct nt_weighted *values, size_t n);

/* The sd of normal values: 1.4826 times the median absolute deviation. Reorders, and replaces the
 * values by their deviations. */
float nt_stats_mad(float *values, size_t n);

double nt_log_sum(double a, double b);  /* ln (e^a + e^b); -INFINITY: ln 0 */
double nt_log_beta(double a, double b); /* ln of the beta function; a and b > 0 */

double nt_normal_cdf(double z);
double nt_normal_quantile(double p);             /* p in (0,1) */
double nt_student_quantile(double p, double df); /* p in (0,1), df > 0 */

#endif
