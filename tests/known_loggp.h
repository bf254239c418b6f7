/* SPDX-License-Identifier: Apache-2.0 */
/* A network whose LogGP is known: the reference for planner and fit. Messages are played one by
 * one, not by the formula that the fit inverts. */
#ifndef KNOWN_LOGGP_H
#define KNOWN_LOGGP_H

#include <math.h>
#include <string.h>

#include "prtt.h"
#include "rng.h"

struct known_regime {
    double to_bytes; /* up to this size, included */
    double o_send, o_recv, L, g, G;
    double gap; /* us per byte in a train; what G is to a single message */
};

struct known_loggp {
    size_t regimes;
    struct known_regime regime[4];
    double noise;    /* relative sd of a measured figure */
    double outliers; /* share of figures that are half as long again */
    struct nt_rng rng;
};

static inline const struct known_regime *known_regime(const struct known_loggp *k, double bytes)
{
    size_t i = 0;
    while (i + 1 < k->regimes && bytes > k->regime[i].to_bytes)
        i++;
    return &k->regime[i];
}

static inline double known_time(const struct known_loggp *k, double bytes)
{
    const struct known_regime *r = known_regime(k, bytes);
    return r->o_send + r->L + r->o_recv + (bytes - 1) * r->G;
}

/* The sender's processor, its network, the flight and the receiver's processor, each in turn. With
 * a hold from the end of the last send on. */
static inline double known_prtt(const struct known_loggp *k, double bytes, unsigned n, double delay,
                                double hold)
{
    const struct known_regime *r = known_regime(k, bytes);
    double flight = r->L + (bytes - 1) * r->G, begins = 0, processor = 0, network = 0, receiver = 0;
    for (unsigned i = 0; i < n; i++) {
        begins = fmax(processor, network);
        processor = begins + r->o_send + delay;
        network = begins + r->g + (bytes - 1) * r->gap;
        receiver = fmax(receiver, begins + r->o_send + flight) + r->o_recv;
    }
    double sent = begins + r->o_send, answer = receiver + r->o_send + flight;
    return (hold > 0 ? fmax(answer - sent, hold) : answer) + r->o_recv;
}

static inline struct nt_prtt known_message(struct known_loggp *k, double bytes, unsigned n,
                                           double delay, double hold)
{
    double time = known_prtt(k, bytes, n, delay, hold);
    double seen = time * (1 + k->noise * nt_rng_normal(&k->rng));
    if (nt_rng_uniform(&k->rng) < k->outliers)
        seen *= 1.5;
    return (struct nt_prtt){.bytes = bytes,
                            .count = n,
                            .delay_us = delay,
                            .hold_us = hold,
                            .time_us = seen,
                            .se_us = k->noise * time};
}

/* TCP as it is seen: short messages store and forward over three links, then a bounded buffer,
 * then a rendezvous with its handshake. */
static inline struct known_loggp known_tcp(double noise, double outliers, uint64_t seed)
{
    struct known_loggp k = {.regimes = 3,
                            .regime = {{1460, 6, 9, 195, 14, 0.12, 0.04},
                                       {8192, 7, 11, 250, 16, 0.045, 0.042},
                                       {INFINITY, 8, 14, 620, 410, 0.0425, 0.0425}},
                            .noise = noise,
                            .outliers = outliers};
    nt_rng_init(&k.rng, seed);
    return k;
}

#endif
