/* SPDX-License-Identifier: Apache-2.0 */
/* Stress kernels (core/workload.h) on a known network.
 *
 * What is modelled. Every host runs its own program of sends and waits: a send does not block, a
 * wait blocks until that message is there, and what comes after a wait is not sent before it
 * (causality). Messages are cut into packets. A packet takes its static route; injection port,
 * each arc and consumption port are FIFO resources that serve one packet at a time at their rate;
 * among packets that ask at the same instant lots are drawn. Cut-through: a packet's head goes on
 * as soon as the resource is granted, an arc's latency later.
 * Buffers: with buffer_packets 0 queues are unbounded. Otherwise each arc has room for that many
 * packets at its far end; a packet gets an arc only when there is room for it, and those that
 * enter a dimension of a torus only when one more stays free (the bubble, Puente et al. 2001), so
 * that rings never lock. */
#ifndef NT_KERNELS_H
#define NT_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "network.h"
#include "workload.h"

struct nt_kernel_result {
    double time_us; /* until the last program has ended */
    size_t messages;
    struct nt_message *message; /* owned; in the order of the algorithm */
    uint64_t packets, packet_hops;
    double busiest; /* share of the time that the busiest arc was in use */
};

/* The same seed gives the same result. NT_ERR_USAGE for sizes out of range (at most 2^24
 * messages, 2^27 packets), NT_ERR_INPUT where a message has no path. */
int nt_kernel_run(const struct nt_network *network, const struct nt_workload *workload,
                  struct nt_kernel_result *result, struct nt_err *err);
void nt_kernel_result_fini(struct nt_kernel_result *result);

#endif
