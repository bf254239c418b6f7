/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the stress kernels for a network (Navaridas, Miguel-Alonso, "Realistic Evaluation of
 * Interconnection Networks Using Synthetic Traffic", section 3), and their hosts. */
#ifndef NT_STRESS_H
#define NT_STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "sweep.h"
#include "workload.h"

enum {
    NT_STRESS_KERNELS = 6,    /* by default */
    NT_STRESS_CHOSEN_MAX = 8, /* kernels that a user can select */
    NT_STRESS_HOSTS_MAX = 64, /* each host has an endpoint per other host */
    NT_STRESS_MESSAGES = 4,   /* mean messages per host in kernels with a free number of messages */
    NT_STRESS_SEED = 1,       /* of the random destinations of these */
};

struct nt_stress_settings {
    /* Chosen elements: kernel, and bytes, messages, tasks and compute if not 0; the planner sets
     * the others */
    const struct nt_workload *kernel;
    size_t chosen;    /* 0: a2a, o2a, a2o, sr:4, sr:32, gups */
    double rate_MBps; /* of a host's link, to select the size of messages; NaN: unknown */
    double seconds;   /* limit for all kernels; messages are smaller if it is short */
};

/* Up to NT_STRESS_HOSTS_MAX hosts, evenly spread over those that are not missing, take part. Orders
 * are NT_ORDER_KERNEL in phase "kernels"; pair k of an order is {h, h}: host h is participant k.
 * batches: limit of repetitions. settings are copied. The caller frees *out. */
int nt_stress_create(const struct nt_sweep_setup *setup, const struct nt_stress_settings *settings,
                     struct nt_planner **out, struct nt_err *err);

/* Number of orders, and estimated duration of each on a congested network. */
void nt_stress_need(const struct nt_planner *planner, size_t *rounds, double *window_s);

#endif
