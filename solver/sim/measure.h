/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates imperfect measurements of a known network. A value depends only on the seed and the
 * pair, so that any pair can be measured at any time, also with 65,536 hosts, and a matrix contains
 * the same values as single measurements. */
#ifndef NT_MEASURE_H
#define NT_MEASURE_H

#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "network.h"
#include "routes.h"

enum { NT_NOISE_SD_MAX = 10 }; /* of each relative standard deviation */

struct nt_measure_noise {
    double sd;          /* relative Gaussian error of each measurement */
    double host_spread; /* relative sd of a host's own link (direct networks: of its overhead) */
    double asymmetry;   /* relative sd of a link's two directions around its latency */
    /* Share of pairs whose value is wrong by a factor of 1.2 to 4 (log-uniform), equal in both
     * directions; three of four too high, one too low */
    double outliers;
    double missing; /* share of pairs that are not measured in either direction */
    uint64_t seed;
};

/* Applies host spread and asymmetry to the network's values, because they belong to the network and
 * are not noise. NT_ERR_USAGE: a negative sd, or a share outside 0..1. */
int nt_measure_apply_structure(const struct nt_measure_noise *noise, struct nt_network *network,
                               struct nt_err *err);

/* Returns measurement number repeat from a to b; NaN: missing. Each repeat draws its own
 * outliers. */
double nt_measure_latency(const struct nt_network *network, const struct nt_measure_noise *noise,
                          uint32_t a, uint32_t b, uint32_t repeat);

/* A measurement as a probe reports it: the mean of a number of consecutive batches, each with its
 * own noise, all or none of them outliers; and the standard error that they show (NaN for one
 * batch). */
struct nt_reading {
    double value_us, se_us;
};
struct nt_reading nt_measure_batches(const struct nt_network *network,
                                     const struct nt_measure_noise *noise, uint32_t a, uint32_t b,
                                     uint32_t repeat, uint32_t batches);

/* Returns 1 + sd z for the pair in this repeat: noise for values other than latencies. */
double nt_measure_factor(const struct nt_measure_noise *noise, uint32_t a, uint32_t b,
                         uint32_t repeat);

/* Creates a matrix with repeat 0 of all ordered pairs. */
int nt_measure_latencies(const struct nt_network *network, const struct nt_measure_noise *noise,
                         struct nt_matrix **out, struct nt_err *err);

/* The routes of a known network and measurements over them, as input of a plan and an estimate. */
enum { NT_NETWORK_ROUTES_HOSTS_MAX = 4096 };

/* Creates the routes of every connected pair of hosts. Links have the model's indices; after them
 * there is one link per host, model->links + h: the overhead of host h at each end, on the routes
 * of its own pairs and only if it is not zero. The reverse route is given if it uses other links.
 * NT_ERR_INPUT: too many hosts or pairs, or no pair. */
int nt_network_routes(const struct nt_network *network, struct nt_routes **out, struct nt_err *err);

/* Creates a measurement of every pair of these routes: half a round trip, with the noise of both
 * directions. Missing pairs are omitted. The caller calls nt_measured_destroy. */
int nt_network_measured(const struct nt_network *network, const struct nt_measure_noise *noise,
                        const struct nt_routes *routes, struct nt_measured **out,
                        struct nt_err *err);

#endif
