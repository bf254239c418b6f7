/* SPDX-License-Identifier: Apache-2.0 */
/* The prior of the noise s of a reading, relative to the median reading, and densities of the score
 * (score.h).
 * Tests: test_score.c. */
#ifndef NT_NOISE_PRIOR_H
#define NT_NOISE_PRIOR_H

#include <stdbool.h>
#include <stdint.h>

#include "pairs.h"

/* upper limit of s */
#define NT_NOISE_MOST 0.5
/* Paths of one kind differ permanently by 0.5 to 4 % of a latency in 95 of 100 networks: median,
 * and sd of the logarithm. */
#define NT_PATHS_SD 0.014
#define NT_PATHS_SPREAD 0.53

/* The additional length of a far host's link has Cauchy's distribution: half of these links are
 * longer by more than half a latency. So a slow cable, which adds less than a latency, and a slow
 * host, which adds many, have one prior. */
#define NT_FAR_SCALE 0.5
/* The score allows only normal distributions (nt_score_set_far). sd: of the normal distribution
 * that replaces Cauchy's at the measured additional lengths. log_ratio: the sum of ln of the ratio
 * of both densities there. */
struct nt_far_prior {
    double sd, log_ratio;
};
/* longer[hosts]: the additional length of each link (nt_score_farthest). */
struct nt_far_prior nt_far_prior_of(const double *longer, const bool *far, uint32_t hosts);
/* ln of the prior odds of one more far host, if some of hosts are far. */
double nt_far_odds(double some, double hosts);

/* The prior of ln s: normal, or Student's if spread is infinite. */
struct nt_noise_prior {
    double likely, spread, least;
};

struct nt_noise_prior nt_noise_prior_of(const struct nt_pairs *pairs);
/* ln p(ln s) */
double nt_noise_log_prior(const struct nt_pairs *pairs, double sd);

/* The ln s that maximises s^-count exp(-square / 2 s^2) times the prior. */
double nt_noise_mode(double count, double square, const struct nt_noise_prior *prior);
/* ln of the integral of this product over ln s. */
double nt_noise_integral(double count, double square, const struct nt_noise_prior *prior);

/* ln of the normal density of ln value. */
double nt_log_normal(double value, double median, double spread);
/* ln of Student's density of ln value, with 3 degrees of freedom. */
double nt_log_student(double value, double median, double spread);
/* ln(2 Phi(z)) */
double nt_log_twice_phi(double z);
/* ln of the density of an outlier, over its mean: half Cauchy above, or uniform down to 0. */
double nt_log_outlier(double over, double mean);
/* ln of the prior of these numbers of outliers among all pairs. */
double nt_log_outliers(const struct nt_pairs *pairs, size_t high, size_t low);
/* ln of the probability that a length, normal with this error, belongs to a link. A link's length
 * is above 0, and rarely a small part of the mean of the other links of its tiers. */
double nt_log_is_link(double length, double error, double mean);

#endif
