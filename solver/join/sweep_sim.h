/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a sweep against a known network: the planner of the probe with simulated measurements. Shows
 * the number of rounds and whether the network is found. */
#ifndef NT_SWEEP_SIM_H
#define NT_SWEEP_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "measure.h"
#include "network.h"
#include "samples.h"
#include "sweep.h"

/* Pings per latency: batches of pings. */
enum { NT_SWEEP_SIM_BATCHES = 3, NT_SWEEP_SIM_PINGS = 10 };

/* A known network and the noise of its measurements; both borrowed. */
struct nt_noisy_network {
    const struct nt_network *network;
    const struct nt_measure_noise *noise;
};

/* The inputs of a planner. The network is for a sweep with known routes. */
struct nt_sweep_input {
    const struct nt_network *network;
    const uint32_t *order; /* the hosts in the order of their names; NULL: as numbered */
    uint64_t seed;
    /* prior of the hosts as numbered; only nt_sweep_kind_prior uses it */
    const struct nt_belief *belief;
};

struct nt_sweep_kind {
    const char *name; /* its name for users */
    int (*create)(const struct nt_sweep_input *input, struct nt_planner **out, struct nt_err *err);
    /* Makes the planner's own network at the end; NULL: it is inferred from all measured pairs. */
    int (*solve)(struct nt_planner *planner, struct nt_model **out, struct nt_err *err);
    /* Lower bound of the rounds of such a planner on the network. */
    uint64_t (*bound_rounds)(const struct nt_model *truth);
};

/* The sweeps of the probe. */
extern const struct nt_sweep_kind nt_sweep_kind_all, nt_sweep_kind_adaptive,
    nt_sweep_kind_sequential;

/* The adaptive sweep that starts from a prior. */
extern const struct nt_sweep_kind nt_sweep_kind_prior;

struct nt_sweep_run {
    uint64_t rounds, pairs; /* pairs: ordered measurements over all rounds */
    uint64_t tests;         /* of these, rounds of verification */
    uint64_t bound_rounds;
    bool exact;             /* the network has the shape of the truth */
    double slowest_s;       /* the longest planned duration of a round */
    double planning_s;      /* time in the planner and in solving, by the caller's clock */
    struct nt_model *model; /* the network that was found; owned */
};

struct nt_sweep_how {
    const uint32_t *order; /* this and belief: as in nt_sweep_input */
    const struct nt_belief *belief;
    double (*now_s)(void); /* NULL: planning_s is 0 */
};

/* how NULL: nothing of it. Latency and bandwidth orders (concurrent flows share max-min
 * fairly) are answered; PRTT and kernels get no results. NT_ERR_INPUT:
 * a planner without solve on more hosts than a matrix should have. */
int nt_sweep_simulate(const struct nt_sweep_kind *kind, const struct nt_noisy_network *from,
                      const struct nt_sweep_how *how, struct nt_sweep_run *run, struct nt_err *err);

/* Simulates the measurements of an order as nt_sweep_simulate does. results: room for order->pairs;
 * *n are set. */
int nt_order_answer(const struct nt_noisy_network *from, const struct nt_order *order,
                    uint32_t round, struct nt_result *results, size_t *n, struct nt_err *err);

/* Makes the record of a sweep of all pairs: each pair once in a round of disjoint pairs, measured
 * from both ends. With bandwidth there is a second phase in which the pairs of a round run at the
 * same time, first in one direction, then in the other, each for window_s seconds; with several
 * rails also phase "rails", of rail0, rail1, .... At most NT_SAMPLES_SIM_HOSTS hosts. The caller
 * frees *out. */
enum { NT_SAMPLES_SIM_HOSTS = 4096 };
int nt_samples_simulate(const struct nt_noisy_network *from, const char *const *host_name,
                        double window_s, struct nt_samples **out, struct nt_err *err);

#endif
