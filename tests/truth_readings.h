/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a known network, made as measured readings are: a log-normal core, and the
 * disturbances that measurements of real networks show. None is the solver's noise model.
 * Header only, so that each program stays one file. */
#ifndef TRUTH_READINGS_H
#define TRUTH_READINGS_H

#include "matrix.h"
#include "truth_network.h"

enum truth_kind {
    TRUTH_PLAIN,
    TRUTH_TAILS,
    TRUTH_SLOW,
    TRUTH_DRIFT,
    TRUTH_TIMER,
    TRUTH_REPEATS,
    TRUTH_LOW,
    TRUTH_SKEWED,
    TRUTH_TIERS,
    TRUTH_WAYS,
    TRUTH_OLDER,
    TRUTH_LASTING,
    TRUTH_BURSTS,
    TRUTH_ETHERNET,
    TRUTH_KINDS
};

static const char *const truth_kind_names[TRUTH_KINDS] = {
    "plain",  "tails", "slow hosts", "drift", "timer",   "repeats", "low",
    "skewed", "tiers", "ways",       "older", "lasting", "bursts",  "ethernet"};

struct truth_noise {
    double core;       /* sd of the logarithm */
    double tail;       /* share of readings with a Pareto tail (exponent 1.5, unit a fifth) */
    double low;        /* share that is 10 to 40 % low */
    double skew;       /* share of the core that is exponential, upwards */
    double tier;       /* growth of the core per link on the path */
    double way;        /* lasting difference of the two directions, sd of the logarithm */
    double lasting;    /* lasting difference of a path, sd of the logarithm */
    double drift;      /* during the sweep, relative */
    double burst;      /* factor of the core in a tenth of the rounds */
    double jitter_us;  /* mean of an exponential delay of each reading */
    double quantum_us; /* of the timer */
    size_t slow;       /* hosts that are slow for a while */
    unsigned repeats;  /* each reading is the lowest of so many */
    bool one_way;      /* one reading per pair */
};

/* What lasts through one sweep. */
struct truth_sweep {
    const struct truth_net *net;
    const struct truth_noise *noise;
    struct nt_rng *rng;
    uint32_t slow[8];
    double from[8], by[8];
    double burst_from;
};

static inline bool truth_in(struct nt_rng *rng, double share)
{
    return share > 0 && nt_rng_uniform(rng) < share;
}

static inline double truth_once(const struct truth_sweep *s, double us, size_t i, size_t j,
                                double when)
{
    const struct truth_noise *n = s->noise;
    double core = n->core, hops = s->net->hops[s->net->at[i] * s->net->switches + s->net->at[j]];
    core *= 1 + n->tier * hops;
    if (n->burst > 0 && when > s->burst_from && when < s->burst_from + 0.1)
        core *= n->burst;
    double error = (1 - n->skew) * nt_rng_normal(s->rng);
    if (n->skew > 0)
        error += n->skew * (-log(nt_rng_uniform(s->rng)));
    us *= exp(core * error) * (1 + n->drift * when);
    if (truth_in(s->rng, n->tail))
        us *= 1 + 0.2 * (pow(nt_rng_uniform(s->rng), -1 / 1.5) - 1);
    if (truth_in(s->rng, n->low))
        us *= truth_between(s->rng, 0.6, 0.9);
    if (n->jitter_us > 0)
        us += n->jitter_us * -log(nt_rng_uniform(s->rng));
    for (size_t k = 0; k < n->slow; k++)
        if ((s->slow[k] == i || s->slow[k] == j) && when > s->from[k] && when < s->from[k] + 0.25)
            us *= s->by[k];
    return us;
}

static inline double truth_reading(const struct truth_sweep *s, double us, size_t i, size_t j)
{
    /* each host has one partner per round: pairs with the same sum of numbers share one */
    size_t rounds = s->net->hosts + (s->net->hosts % 2 == 0);
    double least = INFINITY;
    for (unsigned k = 0; k < (s->noise->repeats > 0 ? s->noise->repeats : 1); k++)
        least = fmin(least, truth_once(s, us, i, j, (double)((i + j) % rounds) / (double)rounds));
    if (s->noise->quantum_us > 0)
        least = fmax(1, round(least / s->noise->quantum_us)) * s->noise->quantum_us;
    return least;
}

/* All readings of a sweep; the caller destroys the matrix. */
static inline struct nt_matrix *truth_measure(const struct truth_net *net,
                                              const struct truth_noise *noise, struct nt_rng *rng)
{
    struct nt_matrix *x;
    struct nt_err err;
    struct truth_sweep s = {.net = net, .noise = noise, .rng = rng};
    known_must(nt_matrix_create(net->hosts, NT_MATRIX_LATENCY_US, &x, &err), &err);
    for (size_t k = 0; k < noise->slow; k++) {
        s.slow[k] = (uint32_t)nt_rng_below(rng, net->hosts);
        s.from[k] = truth_between(rng, 0, 0.75);
        s.by[k] = truth_between(rng, 1.05, 1.3);
    }
    s.burst_from = truth_between(rng, 0, 0.9);
    for (size_t i = 0; i < net->hosts; i++)
        for (size_t j = 0; j < i; j++) {
            double us = truth_us(net, i, j) * exp(noise->lasting * nt_rng_normal(rng));
            double way = exp(noise->way * nt_rng_normal(rng));
            double there = truth_reading(&s, us * way, i, j);
            double back = noise->one_way ? there : truth_reading(&s, us / way, i, j);
            nt_matrix_set(x, i, j, (float)there);
            nt_matrix_set(x, j, i, (float)back);
        }
    return x;
}

/* Noise of a pair's reading (the mean of its directions): robust sd, 1.4826 median |residual -
 * median|, of enough sweeps of the same network for 400 residuals. A timer's readings are never
 * better than 0.29 of its step, which is the sd of rounding. */
static inline double truth_noise_us(const struct truth_net *net, const struct truth_noise *noise,
                                    struct nt_rng *rng)
{
    size_t pairs = net->hosts * (net->hosts - 1) / 2, sweeps = 400 / pairs + 1, count = 0;
    double *off = truth_alloc(sweeps * pairs, sizeof *off);
    for (size_t k = 0; k < sweeps; k++) {
        struct nt_matrix *x = truth_measure(net, noise, rng);
        for (size_t i = 0; i < net->hosts; i++)
            for (size_t j = 0; j < i; j++)
                off[count++] = (double)(nt_matrix_get(x, i, j) + nt_matrix_get(x, j, i)) / 2 -
                               truth_us(net, i, j);
        nt_matrix_destroy(x);
    }
    double median = truth_median(off, count);
    for (size_t k = 0; k < count; k++)
        off[k] = fabs(off[k] - median);
    double sd = 1.4826 * truth_median(off, count);
    free(off);
    return fmax(fmax(sd, 0.29 * noise->quantum_us), 1e-6 * net->median_us);
}

/* The kinds, with figures drawn. */
static inline void truth_noise_draw(enum truth_kind kind, struct nt_rng *rng, struct truth_noise *n)
{
    static const double steps[] = {0.01, 0.05, 0.1};
    *n = (struct truth_noise){.core = truth_scale(rng, 0.004, 0.025)};
    n->one_way = kind != TRUTH_WAYS && nt_rng_below(rng, 4) == 0;
    if (kind == TRUTH_TAILS)
        n->tail = truth_between(rng, 0.01, 0.05);
    if (kind == TRUTH_SLOW)
        n->slow = truth_count(rng, 1, 3);
    if (kind == TRUTH_DRIFT)
        n->drift = truth_between(rng, 0.01, 0.04);
    if (kind == TRUTH_TIMER)
        n->quantum_us = steps[nt_rng_below(rng, 3)];
    if (kind == TRUTH_REPEATS)
        n->repeats = (unsigned)truth_count(rng, 3, 10), n->tail = 0.1, n->core *= 2;
    if (kind == TRUTH_LOW)
        n->low = truth_between(rng, 0.001, 0.008);
    if (kind == TRUTH_SKEWED)
        n->skew = truth_between(rng, 0.5, 1);
    if (kind == TRUTH_TIERS)
        n->tier = truth_between(rng, 0.3, 1), n->core /= 2;
    if (kind == TRUTH_WAYS)
        n->way = truth_between(rng, 0.005, 0.03);
    if (kind == TRUTH_LASTING)
        n->lasting = truth_between(rng, 0.01, 0.04);
    if (kind == TRUTH_BURSTS)
        n->burst = truth_between(rng, 2, 4);
    if (kind == TRUTH_ETHERNET)
        n->jitter_us = truth_between(rng, 0.005, 0.03), n->tail = 0.02;
}

#endif
