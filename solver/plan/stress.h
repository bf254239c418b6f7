/* SPDX-License-Identifier: Apache-2.0 */
/* Which stress kernels run on a network (Navaridas, Miguel-Alonso, "Realistic Evaluation of
 * Interconnection Networks Using Synthetic Traffic", section 3), and among which hosts. */
#ifndef NT_STRESS_H
#define NT_STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "sweep.h"
#include "workload.h"

enum {
    NT_STRESS_KERNELS = 6,    /* without a choice */
    NT_STRESS_CHOSEN_MAX = 8, /* kernels that a user may name */
    NT_STRESS_HOSTS_MAX = 64, /* a host has an endpoint for each other */
    NT_STRESS_MESSAGES = 4,   /* that a host sends in kernels whose number is free, on average */
    NT_STRESS_SEED = 1,       /* of the random destinations in them */
};

struct nt_stress_settings {
    const struct nt_workload *kernel; /* chosen of them: kernel, and what of bytes, messages, tasks
                                         and compute is not 0; the others are chosen here */
    size_t chosen;                    /* 0: a2a, o2a, a2o, sr:4, sr:32, gups */
    double rate_MBps; /* what a host's link carries, for the size of messages; NaN: unknown */
    double seconds;   /* that all of them may take; messages are smaller if it is short */
};

/* Hosts that are not missing take part, up to NT_STRESS_HOSTS_MAX spread over them. Orders of
 * NT_ORDER_KERNEL in phase "kernels"; pair k of an order is {h, h}: host h is participant k.
 * batches: repetitions at most. settings are copied. */
int nt_stress_create(const struct nt_sweep_setup *setup, const struct nt_stress_settings *settings,
                     struct nt_planner **out, struct nt_err *err);

/* How many orders there will be, and about how long each takes, on a network that is congested. */
void nt_stress_need(const struct nt_planner *planner, size_t *rounds, double *window_s);

#endif
