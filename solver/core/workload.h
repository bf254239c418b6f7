/* SPDX-License-Identifier: Apache-2.0 */
/* Stress kernels: what each task sends and waits for. The simulator and the probes run them, the
 * map predicts them, and all read them from one text.
 *
 * a2a, o2a, a2o, sr:W and gups are those of Navaridas and Miguel-Alonso, "Realistic Evaluation of
 * Interconnection Networks Using Synthetic Traffic", section 3, figures 1 to 4. The others are the
 * traffic of independent sources that section 2 names: hot spot, hot region, and the permutations
 * of Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), table 3.1, on
 * the b bits of the number of a task. Uniform traffic is gups. Tests: test_workload.c,
 * test_kernels.c. */
#ifndef NT_WORKLOAD_H
#define NT_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum nt_kernel {
    NT_KERNEL_A2A,    /* all to all: t sends to t+1, t+2, ..., then waits for all */
    NT_KERNEL_O2A,    /* one to all: task 0 to each */
    NT_KERNEL_A2O,    /* all to one: each to task 0 */
    NT_KERNEL_SR,     /* random pairs in waves of W; the next wave after the own receptions */
    NT_KERNEL_GUPS,   /* random pairs, one wave */
    NT_KERNEL_HOT,    /* the same, but for P percent of the messages, which go to task 0 */
    NT_KERNEL_REGION, /* the same, but for P percent, which go to the first eighth of the tasks */
    NT_KERNEL_TRANSPOSE,  /* to the task whose number has the halves of the bits exchanged */
    NT_KERNEL_COMPLEMENT, /* all bits inverted */
    NT_KERNEL_REVERSE,    /* the bits in reversed order */
    NT_KERNEL_SHUFFLE,    /* the bits rotated by one to the left */
    NT_KERNELS
};

struct nt_workload {
    enum nt_kernel kernel;
    uint32_t wave;       /* sr */
    uint32_t percent;    /* hot, region: 1 to 100 */
    uint32_t messages;   /* that all tasks send, of kernels whose number is free; 0: 10,000 random
                            ones, one of each task in a permutation */
    uint32_t tasks;      /* spread over the hosts; 0: as many as hosts, or as the kernel can have */
    double bytes;        /* of a message */
    double compute_us;   /* that each task computes after each wave */
    double packet_bytes; /* 0: a message is one packet */
    double port_MBps;    /* of injection and of consumption; 0: the fastest arc at the host */
    uint32_t buffer_packets;
    bool consume_all; /* a host takes in from all its links at once, not through one port */
    bool adaptive; /* grids: of the minimal ways on, the one that fewest packets wait for, instead
                      of the static route; queues are unbounded then */
    uint64_t seed;
};

enum { NT_WORKLOAD_NAME_BYTES = 32, NT_WORKLOAD_MESSAGES_MAX = 1 << 24 };

/* KERNEL[,bytes=N][,messages=N][,tasks=N][,compute=US], KERNEL: a2a, o2a, a2o, sr:W, gups, hot:P,
 * region:P, transpose, complement, reverse or shuffle. What the text does not give stays as it is.
 * NT_ERR_USAGE. */
int nt_workload_parse(const char *text, struct nt_workload *workload, struct nt_err *err);

/* KERNEL[,compute=US], which nt_workload_parse reads: bytes, messages and tasks are told apart. */
void nt_workload_name(const struct nt_workload *workload, char name[NT_WORKLOAD_NAME_BYTES]);

/* Random pairs, of which any number may be sent. */
bool nt_workload_is_random(const struct nt_workload *workload);

/* How many tasks there are on so many hosts: 0 if the kernel cannot have as many as were asked for,
 * or if they are more than hosts. Permutations have 2, 4, 8, ..., transpose 4, 16, 64, ... */
size_t nt_workload_tasks(const struct nt_workload *workload, size_t hosts);

/* Of n tasks on hosts, where task t is: spread over them. */
static inline size_t nt_workload_host(size_t t, size_t tasks, size_t hosts)
{
    return t * hosts / tasks;
}

struct nt_message {
    uint32_t from, to; /* hosts */
    double sent_us, received_us;
};

/* What each host of a kernel does, in order. Operation k of host h: op[first[h] + k] = 2 * message
 * + (1 for a wait), or NT_PROGRAM_COMPUTE, which is odd, too. */
#define NT_PROGRAM_COMPUTE UINT32_MAX
struct nt_program {
    size_t hosts, messages, ops;
    struct nt_message *message;
    uint32_t *first; /* hosts + 1 */
    uint32_t *op;
};

/* The same workload and hosts give the same program. NT_ERR_USAGE: more than
 * NT_WORKLOAD_MESSAGES_MAX messages, no waves, or tasks that these hosts cannot have. */
int nt_program_create(size_t hosts, const struct nt_workload *workload, struct nt_program *program,
                      struct nt_err *err);
void nt_program_fini(struct nt_program *program);

#endif
