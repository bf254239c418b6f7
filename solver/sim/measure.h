/* SPDX-License-Identifier: Apache-2.0 */
/* What an imperfect measurement of a known network gives.
 *
 * Everything is a function of the seed and the pair, so that any pair can be measured at any time,
 * at 65,536 hosts too, and a matrix holds the same values as single measurements. */
#ifndef NT_MEASURE_H
#define NT_MEASURE_H

#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "measured.h"
#include "network.h"
#include "routes.h"

struct nt_measure_noise {
    double sd;          /* of each measurement, relative, Gaussian */
    double host_spread; /* sd of a host's own link (direct: its overhead), relative */
    double asymmetry;   /* sd by which a link's two directions differ from its latency, relative */
    double outliers; /* share of pairs whose value is wrong by a factor of 1.2 to 4 (log-uniform),
                        both directions alike; three in four too high, one too low */
    double missing;  /* share of pairs that were not measured, neither way */
    uint64_t seed;
};

/* Puts host spread and asymmetry into the network's figures: they are its own, not noise.
 * NT_ERR_USAGE for a negative sd or a share outside 0..1. */
int nt_measure_settle(const struct nt_measure_noise *noise, struct nt_network *network,
                      struct nt_err *err);

/* Measurement number repeat of a to b; NaN: missing. Outliers are drawn anew each repeat. */
double nt_measure_latency(const struct nt_network *network, const struct nt_measure_noise *noise,
                          uint32_t a, uint32_t b, uint32_t repeat);

/* As a probe reports it: the mean of batches measurements made in one go, each with its own noise,
 * wrong all together or not; and the standard error that they show (NaN for one batch). */
struct nt_reading {
    double value_us, se_us;
};
struct nt_reading nt_measure_batches(const struct nt_network *network,
                                     const struct nt_measure_noise *noise, uint32_t a, uint32_t b,
                                     uint32_t repeat, uint32_t batches);

/* 1 + sd z for the pair in this repeat: noise for other figures than latencies. */
double nt_measure_factor(const struct nt_measure_noise *noise, uint32_t a, uint32_t b,
                         uint32_t repeat);

/* Repeat 0 of all ordered pairs. */
int nt_measure_latencies(const struct nt_network *network, const struct nt_measure_noise *noise,
                         struct nt_matrix **out, struct nt_err *err);

/* A known network's routes, and measurements over them, as a plan and an estimate take them. */
enum { NT_NETWORK_ROUTES_HOSTS_MAX = 4096 };

/* Every pair of hosts that has a path. Links are the model's; behind them stands one a host,
 * model->links + h: what host h itself adds at each end, on the routes of its own pairs and only
 * where it adds something. The way back is given where it passes other links than the way there.
 * NT_ERR_INPUT: too many hosts or pairs, or not one pair. */
int nt_network_routes(const struct nt_network *network, struct nt_routes **out, struct nt_err *err);

/* A measurement of every pair of these routes: half a round trip, with the noise of both ways.
 * Missing pairs are left out. Freed by nt_measured_destroy. */
int nt_network_measured(const struct nt_network *network, const struct nt_measure_noise *noise,
                        const struct nt_routes *routes, struct nt_measured **out,
                        struct nt_err *err);

#endif
