/* SPDX-License-Identifier: Apache-2.0 */
#include "noise_prior.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "stats.h"

/* Noise: no measurement of microseconds is better than 0.15 % of a latency. Readings of 0.5 to 5 %
 * were measured; its prior is around that, by Student's distribution of its logarithm. */
static const double sd_least = 0.0015;
static const double noise_median = 0.015, noise_spread = 1;
/* If repeated readings show the noise, s is log-normal around it and the permanent differences of
 * paths. */
static const double sd_spread = 0.7;
/* sd of rounding to a step: 0.29 of it when values spread over several, up to 0.5 when they lie at
 * the edge between two; the middle. */
static const double rounding_sd = 0.4;

/* Links of a tier are switches and cables of one kind, so that few are much shorter than the
 * others, even if they differ: one in ten is shorter than a quarter of their mean. */
static const double short_rate = 0.1, short_part = 0.25;

/* One host in a hundred is far, and in most networks none (Beta). */
static const double far_shape = 0.3, far_prior = 30;

double nt_far_odds(double some, double hosts)
{
    return nt_log_beta(far_shape + some + 1, far_prior + hosts - some - 1) -
           nt_log_beta(far_shape + some, far_prior + hosts - some);
}

/* A normal distribution with the variance of the weights by which Student's distribution with one
 * degree of freedom is fitted (Lange, Little and Taylor, 1989). */
struct nt_far_prior nt_far_prior_of(const double *longer, const bool *far, uint32_t hosts)
{
    const double scale = NT_FAR_SCALE * NT_FAR_SCALE;
    double count = 0, square = 0, cauchy = 0;
    for (uint32_t i = 0; i < hosts; i++) {
        if (!far[i])
            continue;
        double x = longer[i] * longer[i];
        count++;
        square += x;
        cauchy -= log(M_PI * NT_FAR_SCALE * (1 + x / scale));
    }
    if (count == 0)
        return (struct nt_far_prior){NT_FAR_SCALE, 0};
    double variance = (scale + square / count) / 2;
    double normal = -count / 2 * log(2 * M_PI * variance) - square / (2 * variance);
    return (struct nt_far_prior){sqrt(variance), cauchy - normal};
}

struct nt_noise_prior nt_noise_prior_of(const struct nt_pairs *pairs)
{
    return (struct nt_noise_prior){
        .likely = log(hypot(pairs->noise, NT_PATHS_SD)),
        .spread = pairs->noise > 0 ? sd_spread : (double)INFINITY,
        .least = fmax(sd_least, rounding_sd * pairs->quantum),
    };
}

double nt_log_normal(double value, double median, double spread)
{
    double z = log(value / median) / spread;
    return -z * z / 2 - log(spread * sqrt(2 * M_PI));
}

/* ln of Student's distribution of ln value, with 3 degrees of freedom: some networks are far from
 * the usual ones. */
double nt_log_student(double value, double median, double spread)
{
    double z = log(value / median) / spread;
    return -2 * log1p(z * z / 3) + log(2 / (M_PI * sqrt(3)) / spread);
}

double nt_noise_log_prior(const struct nt_pairs *pairs, double sd)
{
    const struct nt_noise_prior prior = nt_noise_prior_of(pairs);
    if (isinf(prior.spread))
        return nt_log_student(sd, noise_median, noise_spread);
    return nt_log_normal(sd, exp(prior.likely), prior.spread);
}

/* The ln s of the largest s^-count exp(-square / 2 s^2) times the prior, by Newton's method. */
double nt_noise_mode(double count, double square, const struct nt_noise_prior *prior)
{
    double u = 0.5 * log(fmax(square / count, DBL_MIN)), weight = 1 / prior->spread / prior->spread;
    for (int round = 0; round < 4 && weight > 0; round++) {
        double part = square * exp(-2 * u);
        u += (part - count - weight * (u - prior->likely)) / (2 * part + weight);
    }
    return u;
}

/* ln of the integral over ln s of s^-count exp(-square / 2 s^2) times the prior. */
double nt_noise_integral(double count, double square, const struct nt_noise_prior *prior)
{
    bool known = isfinite(prior->spread);
    double mode = nt_noise_mode(count, square, prior), low = log(prior->least);
    double step = 1 / sqrt(2 * count), sum = 0, top = 0;
    double from = mode - 3 * step > low ? mode - 3 * step : low;
    for (int k = -1; k < 8; k++) { /* first at the top */
        double u = k < 0 ? fmax(mode, low) : from + k * step;
        double z = known ? (u - prior->likely) / prior->spread : 0;
        double value = -count * u - square / 2 * exp(-2 * u) - z * z / 2;
        if (k < 0)
            top = value;
        else
            sum += k == 0 ? exp(value - top) / 2 : exp(value - top);
    }
    if (known)
        return top + log(sum * step / (prior->spread * sqrt(2 * M_PI)));
    return top + log(sum * step) + nt_log_student(exp(fmax(mode, low)), noise_median, noise_spread);
}

/* ln(2 Phi(z)): a length is over 0. Far below, by the first terms of its asymptotic series. */
double nt_log_twice_phi(double z)
{
    double x = -z / M_SQRT2;
    if (x < -6) /* 2, to the last digit */
        return M_LN2;
    if (x < 5)
        return log(erfc(x));
    return -x * x - log(x * sqrt(M_PI)) + log1p(-0.5 / (x * x));
}

double nt_log_outlier(double over, double mean)
{
    const double c = NT_TAIL_SCALE;
    if (over > 0)
        return log(2 / M_PI * c / (c * c + over * over));
    return mean > 0 ? -log(mean) : -(double)INFINITY; /* no latency is under 0 */
}

/* ln p of k outliers among all readings, whose rate is Beta(shape, prior). */
static double rate_prior(size_t k, double shape, double prior, size_t all)
{
    return nt_log_beta(shape + (double)k, prior + (double)(all - k)) - nt_log_beta(shape, prior);
}

/* Readings that pairs left out earlier (pairs.h) are too high as well. */
double nt_log_outliers(const struct nt_pairs *p, size_t high, size_t low)
{
    return rate_prior(high + p->uppers, 1, NT_TAIL_RATE_PRIOR, p->count + p->uppers) +
           rate_prior(low, NT_LOW_SHAPE_PRIOR, NT_LOW_RATE_PRIOR, p->count);
}

double nt_log_is_link(double length, double error, double mean)
{
    return nt_log_sum(log(short_rate) + nt_log_twice_phi(length / error),
                      log(1 - short_rate) + nt_log_twice_phi((length - short_part * mean) / error));
}
