/* SPDX-License-Identifier: Apache-2.0 */
/* The prior of the noise s of a reading, relative to the median reading, and densities that the
 * score (score.h) is made of.
 * Tests: test_score.c. */
#ifndef NT_NOISE_PRIOR_H
#define NT_NOISE_PRIOR_H

#include "pairs.h"

/* s is under a half. */
#define NT_NOISE_MOST 0.5
/* Paths of one kind differ lastingly by 0.5 to 4 % of a latency in 95 of 100 networks: the median
 * and the spread of the logarithm. */
#define NT_PATHS_SD 0.014
#define NT_PATHS_SPREAD 0.53

/* Hosts with a link of their own, as a slow cable makes it, longer by a half of a latency. */
#define NT_FAR_SD 0.5
/* ln of the prior odds of one more, beside some of hosts. */
double nt_far_odds(double some, double hosts);
/* The host that is not far and has the longest link, if it is over those of most by three sd of an
 * end or more; else UINT32_MAX. order: room for hosts. */
uint32_t nt_far_host(const double *length, const bool *far, uint32_t hosts, double sd,
                     float *order);

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

#endif
