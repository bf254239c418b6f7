/* SPDX-License-Identifier: Apache-2.0 */
/* The prior of the noise s of a reading, relative to the median reading, and densities that the
 * score (score.h) is made of.
 * Tests: test_score.c. */
#ifndef NT_NOISE_PRIOR_H
#define NT_NOISE_PRIOR_H

#include <stdbool.h>
#include <stdint.h>

#include "pairs.h"

/* s is under a half. */
#define NT_NOISE_MOST 0.5
/* Paths of one kind differ lastingly by 0.5 to 4 % of a latency in 95 of 100 networks: the median
 * and the spread of the logarithm. */
#define NT_PATHS_SD 0.014
#define NT_PATHS_SPREAD 0.53

/* What the link of a host that is far is longer by has Cauchy's distribution: half of these links
 * are longer by over a half of a latency. So a slow cable, which adds less than a latency, and a
 * slow host, which adds many, have one prior. */
#define NT_FAR_SCALE 0.5
/* The score can hold normal distributions only (nt_score_set_far): the standard deviation of the
 * one that stands for Cauchy's at what these links are longer by, and the sum of ln of the ratio of
 * the densities there. */
struct nt_far_prior {
    double sd, log_ratio;
};
/* longer[hosts]: by how much each link is longer (nt_score_farthest). */
struct nt_far_prior nt_far_prior_of(const double *longer, const bool *far, uint32_t hosts);
/* ln of the prior odds of one more, beside some of hosts. */
double nt_far_odds(double some, double hosts);

/* The prior of ln s: normal, or Student's with spread infinite. */
struct nt_noise_prior {
    double likely, spread, least;
};

struct nt_noise_prior nt_noise_prior_of(const struct nt_pairs *pairs);
/* ln p(ln s) */
double nt_noise_log_prior(const struct nt_pairs *pairs, double sd);

/* The ln s of the largest s^-count exp(-square / 2 s^2) times the prior. */
double nt_noise_likeliest(double count, double square, const struct nt_noise_prior *prior);
/* ln of the integral of that over ln s. */
double nt_noise_integral(double count, double square, const struct nt_noise_prior *prior);

/* ln of the normal distribution of ln value. */
double nt_log_normal(double value, double median, double spread);
/* ln of Student's distribution of ln value, with 3 degrees of freedom. */
double nt_log_student(double value, double median, double spread);
/* ln(2 Phi(z)) */
double nt_log_twice_phi(double z);
/* ln density of a reading that is wrong, over its mean: half Cauchy, or uniform down to 0. */
double nt_log_wrong(double over, double mean);
/* ln of the probability that a length, normal with this error, is one of a link: it is over 0, and
 * mostly no small part of the mean of the other links of its tiers. */
double nt_log_is_link(double length, double error, double mean);

#endif
