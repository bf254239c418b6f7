/* SPDX-License-Identifier: Apache-2.0 */
/* The prior of the noise s of a reading, relative to the median reading, and densities that the
 * score (score.h) is made of.
 * Tests: test_score.c. */
#ifndef NT_NOISE_PRIOR_H
#define NT_NOISE_PRIOR_H

#include "score.h"

/* s is under a half. */
#define NT_NOISE_MOST 0.5
/* Paths of one kind differ lastingly by 0.5 to 4 % of a latency in 95 of 100 networks: the median
 * and the spread of the logarithm. */
#define NT_PATHS_SD 0.014
#define NT_PATHS_SPREAD 0.53

/* Hosts with a link of their own, longer by Cauchy's distribution around a half of a latency: by
 * that as a slow cable makes it, by many of them as a slow host does. */
#define NT_FAR_SCALE 0.5
/* The standard deviation of the normal distribution that stands for it, as bent as it is for what
 * these hosts' links are longer by, and ln of the ratio of the densities there, summed. */
struct nt_far_prior {
    double sd, log_ratio;
};
struct nt_far_prior nt_far_prior_of(const double *longer, const bool *far, uint32_t hosts);
/* ln of the prior odds of one more, beside some of hosts. */
double nt_far_odds(double some, double hosts);
/* By how much the link of each host is longer than the mean link, by the median of its readings,
 * outliers too. score: evaluated with the chain; room: for as many floats as hosts. */
void nt_far_lengths(struct nt_score *score, const struct nt_pairs *pairs,
                    const struct nt_chain *chain, float *room, double *longer);
/* The host that is not far and has the longest link, if it is over those of most by three sd of an
 * end or more; else UINT32_MAX. order: room for hosts. */
uint32_t nt_far_host(const double *longer, const bool *far, uint32_t hosts, double sd,
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
