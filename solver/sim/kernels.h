/* SPDX-License-Identifier: Apache-2.0 */
/* Stress kernels on a known network (Navaridas, Miguel-Alonso, "Realistic
 * Evaluation of Interconnection Networks Using Synthetic Traffic", section 3, figures 1-4).
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

enum nt_kernel {
    NT_KERNEL_A2A,  /* all to all: t sends to t+1, t+2, ..., then waits for all */
    NT_KERNEL_O2A,  /* one to all: host 0 to each */
    NT_KERNEL_A2O,  /* all to one: each to host 0 */
    NT_KERNEL_SR,   /* random pairs in waves of W; the next wave after the own receptions */
    NT_KERNEL_GUPS, /* random pairs, one wave */
};

struct nt_workload {
    enum nt_kernel kernel;
    uint32_t wave;       /* sr */
    uint32_t messages;   /* sr and gups: how many; 0: 10,000 */
    double bytes;        /* of a message */
    double packet_bytes; /* 0: a message is one packet */
    double port_MBps;    /* of injection and of consumption; 0: the fastest arc at the host */
    uint32_t buffer_packets;
    bool consume_all; /* a host takes in from all its links at once, not through one port */
    bool adaptive; /* grids: of the minimal ways on, the one that fewest packets wait for, instead
                      of the static route; queues are unbounded then */
    uint64_t seed;
};

struct nt_message {
    uint32_t from, to;
    double sent_us, received_us;
};

struct nt_kernel_result {
    double time_us; /* until the last program has ended */
    size_t messages;
    struct nt_message *message; /* owned; in the order of the algorithm */
    uint64_t packets, packet_hops;
    double busiest; /* share of the time that the busiest arc was in use */
};

/* "a2a", "o2a", "a2o", "sr:W", "gups"; sets kernel and wave only. NT_ERR_USAGE. */
int nt_workload_parse(const char *text, struct nt_workload *workload, struct nt_err *err);

/* The same seed gives the same result. NT_ERR_USAGE for sizes out of range (at most 2^24
 * messages, 2^27 packets), NT_ERR_INPUT where a message has no path. */
int nt_kernel_run(const struct nt_network *network, const struct nt_workload *workload,
                  struct nt_kernel_result *result, struct nt_err *err);
void nt_kernel_result_fini(struct nt_kernel_result *result);

/* What each host of a kernel does, in order. Operation k of host h: op[first[h] + k] = 2 * message
 * + (1 for a wait). */
struct nt_program {
    size_t hosts, messages, ops;
    struct nt_message *message;
    uint32_t *first; /* hosts + 1 */
    uint32_t *op;
};

int nt_program_create(size_t hosts, const struct nt_workload *workload, struct nt_program *program,
                      struct nt_err *err);
void nt_program_fini(struct nt_program *program);

#endif
