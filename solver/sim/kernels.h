/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates stress kernels (core/workload.h) on a known network.
 *
 * Every host runs its own program of sends and waits: a send does not block, a wait blocks until
 * that message has arrived, and operations after a wait start later (causality). Messages are
 * divided into packets, which take a static route. The injection port, each arc and the consumption
 * port are FIFO resources that serve one packet at a time at their rate; packets that request one
 * at the same instant are ordered at random. Cut-through: the head of a packet continues an arc's
 * latency after the resource is granted.
 *
 * Buffers: with buffer_packets 0, queues are not limited. Otherwise each arc has room for that many
 * packets at its far end, and a packet gets an arc only if there is room. A packet that enters a
 * dimension of a torus needs one more free place (the bubble, Puente et al. 2001), so that rings
 * never deadlock. */
#ifndef NT_KERNELS_H
#define NT_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "network.h"
#include "workload.h"

struct nt_kernel_result {
    double time_us; /* time until the last program ends */
    size_t messages;
    struct nt_message *message; /* in the order of the algorithm; owned */
    uint64_t packets, packet_hops;
    double busiest; /* share of the time during which the busiest arc is used */
};

/* Runs a kernel. The same seed gives the same result. NT_ERR_USAGE: sizes out of range (at most
 * 2^24 messages, 2^27 packets). NT_ERR_INPUT: a message has no path. */
int nt_kernel_run(const struct nt_network *network, const struct nt_workload *workload,
                  struct nt_kernel_result *result, struct nt_err *err);
void nt_kernel_result_fini(struct nt_kernel_result *result);

#endif
