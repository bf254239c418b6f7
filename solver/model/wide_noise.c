/* SPDX-License-Identifier: Apache-2.0 */
#include "wide_noise.h"

#include <math.h>

#include "pairs.h"

/* Distribution of the difference between two readings of a pair, in its usual sd: the noise is the
 * usual one, or wide, or one reading is of the tail. */
enum { USUAL, WIDE, TAIL, NOISES };

struct noises {
    double share[NOISES], factor; /* sd of wide noise over the usual */
    double tail;                  /* scale of the tail */
};

enum { BINS = 400 }; /* of differences, up to 40 sd */
static const double bin_sds = 0.1;

static double densities(const struct noises *n, double sds, double p[NOISES])
{
    const double peak = sqrt(2 / M_PI);
    double far = sds / n->factor;
    p[USUAL] = n->share[USUAL] * peak * exp(-sds * sds / 2);
    p[WIDE] = n->share[WIDE] * peak / n->factor * exp(-far * far / 2);
    p[TAIL] = n->share[TAIL] * 2 / M_PI * n->tail / (n->tail * n->tail + sds * sds);
    return p[USUAL] + p[WIDE] + p[TAIL];
}

/* Fits the shares and the factor to the numbers of differences, from the given ones. Each of
 * the two readings of a difference can be of the tail: the prior rate counts twice. Returns ln of
 * the likelihood. */
static double fit_noises(struct noises *n, const double *count)
{
    enum { ROUNDS = 40 };
    const double least_factor = 1.5; /* less is the same noise */
    double log_p = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double sum[NOISES] = {[USUAL] = NT_TAIL_RATE_PRIOR - 1, [TAIL] = 2};
        double p[NOISES], square = 0, all = 0;
        log_p = 0;
        for (int k = 0; k < BINS; k++) {
            if (count[k] <= 0)
                continue;
            double sds = (k + 0.5) * bin_sds, any = densities(n, sds, p);
            for (int c = 0; c < NOISES; c++)
                sum[c] += count[k] * p[c] / any;
            square += count[k] * p[WIDE] / any * sds * sds;
            log_p += count[k] * log(any);
        }
        if (sum[WIDE] > 0)
            n->factor = fmax(sqrt(square / sum[WIDE]), least_factor);
        for (int c = 0; c < NOISES; c++)
            all += sum[c];
        for (int c = 0; c < NOISES; c++)
            n->share[c] = sum[c] / all;
    }
    return log_p;
}

struct nt_wide_noise nt_wide_noise_fit(const float *differ, size_t pairs, double sd, double tail)
{
    const double prior = log(1.0 / 20); /* ln odds that a network has wide noise */
    double count[BINS] = {0}, unit = M_SQRT2 * sd;
    struct noises one = {.share = {0.95, 0, 0.05}, .factor = 1, .tail = tail / unit};
    struct noises two = {.share = {0.9, 0.05, 0.05}, .factor = 3, .tail = tail / unit};
    for (size_t k = 0; k < pairs; k++)
        count[(size_t)fmin((double)differ[k] / unit / bin_sds, BINS - 1)]++;
    double gain = fit_noises(&two, count) - fit_noises(&one, count);
    if (gain + prior <= log((double)pairs)) /* two parameters */
        return (struct nt_wide_noise){0};
    return (struct nt_wide_noise){two.share[WIDE], two.factor};
}

double nt_wide_noise_log(const struct nt_wide_noise *wide, double over, double sd)
{
    if (!(wide->share > 0))
        return -(double)INFINITY;
    double far = over / (sd * wide->factor);
    return log(wide->share / (1 - wide->share)) - far * far / 2 - log(sd * wide->factor) -
           0.5 * log(2 * M_PI);
}

double nt_wide_noise_limit(const struct nt_wide_noise *wide, double near, double lever)
{
    if (!(wide->share > 0))
        return INFINITY;
    double least = log((1 - wide->share) / wide->share) + log(wide->factor) - near;
    return fmax(least, 0) / (1 - (1 - lever) / (wide->factor * wide->factor));
}
