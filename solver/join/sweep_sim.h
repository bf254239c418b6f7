/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep against a known network: the same planner that a probe follows on the wire, answered with
 * simulated measurements. Shows how many rounds a planner needs and whether its network is right.
 */
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

/* What a latency is measured with: batches of pings. */
enum { NT_SWEEP_SIM_BATCHES = 3, NT_SWEEP_SIM_PINGS = 10 };

/* What a planner may use from the start. The network is for a sweep with known routes. */
struct nt_sweep_input {
    const struct nt_network *network;
    const uint32_t *order; /* the network's hosts as their names would order them; NULL: as is */
    uint64_t seed;
    const struct nt_belief *belief; /* of the hosts as numbered; only nt_sweep_kind_prior uses it */
};

struct nt_sweep_kind {
    const char *name; /* that users give it */
    int (*create)(const struct nt_sweep_input *input, struct nt_planner **out, struct nt_err *err);
    /* The planner's own network when it has ended; NULL: inferred from all measured pairs. */
    int (*solve)(struct nt_planner *planner, struct nt_model **out, struct nt_err *err);
    /* The fewest rounds that a planner of this kind could do with on the network. */
    uint64_t (*bound_rounds)(const struct nt_model *truth);
};

/* The sweeps that a probe can follow. */
extern const struct nt_sweep_kind nt_sweep_kind_all, nt_sweep_kind_adaptive,
    nt_sweep_kind_sequential;

/* An adaptive one that starts from a belief. */
extern const struct nt_sweep_kind nt_sweep_kind_prior;

struct nt_sweep_run {
    uint64_t rounds, pairs; /* pairs: measurements ordered, over all rounds */
    uint64_t tests;         /* rounds of them that verify what was found */
    uint64_t bound_rounds;
    bool exact;             /* the network found has the shape of the truth */
    double slowest_s;       /* the longest that a round was planned for */
    double planning_s;      /* spent in the planner and in solving, by the caller's clock */
    struct nt_model *model; /* owned: what was found */
};

/* order, belief: as in nt_sweep_input.
 * Orders of latency and of bandwidth (flows of a round share, max-min fair) are answered; those of
 * PRTT and of kernels stay without results. now_s may be NULL: planning_s is then 0.
 * NT_ERR_INPUT when a planner without solve is to do more hosts than a matrix should hold. */
int nt_sweep_simulate(const struct nt_sweep_kind *kind, const struct nt_network *network,
                      const struct nt_measure_noise *noise, const uint32_t *order,
                      const struct nt_belief *belief, double (*now_s)(void),
                      struct nt_sweep_run *run, struct nt_err *err);

/* Simulated measurements of the order, as nt_sweep_simulate answers it: results has room for
 * order->pairs; *n of them are set. */
int nt_order_answer(const struct nt_network *network, const struct nt_measure_noise *noise,
                    const struct nt_order *order, uint32_t round, struct nt_result *results,
                    size_t *n, struct nt_err *err);

/* The record that a sweep of all pairs would write: each pair once in a round of disjoint pairs,
 * measured from both ends; with bandwidth, a second phase in which the pairs of a round run at
 * the same time, first one way, then the other, each for window_s seconds; with bandwidth and
 * several rails, phase "rails", of rail0, rail1, .... At most NT_SAMPLES_SIM_HOSTS hosts. */
enum { NT_SAMPLES_SIM_HOSTS = 4096 };
int nt_samples_simulate(const struct nt_network *network, const struct nt_measure_noise *noise,
                        const char *const *host_name, double window_s, struct nt_samples **out,
                        struct nt_err *err);

#endif
