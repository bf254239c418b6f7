/* SPDX-License-Identifier: Apache-2.0 */
/* Stress kernels: the messages that each task sends and waits for. The simulator and the probes run
 * them, the map predicts them, and all read the same text.
 *
 * a2a, o2a, a2o, sr:W and gups are from Navaridas and Miguel-Alonso, "Realistic Evaluation of
 * Interconnection Networks Using Synthetic Traffic", section 3, figures 1 to 4. The others are the
 * traffic of independent sources in section 2: hot spot, hot region, and the permutations of Dally
 * and Towles, "Principles and Practices of Interconnection Networks" (2004), table 3.1, on the b
 * bits of the number of a task. Uniform traffic is gups.
 * Tests: test_workload.c, test_kernels.c. */
#ifndef NT_WORKLOAD_H
#define NT_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum nt_kernel {
    NT_KERNEL_A2A, /* all to all: t sends to t+1, t+2, ..., then waits for all */
    NT_KERNEL_O2A, /* one to all: task 0 sends to each */
    NT_KERNEL_A2O, /* all to one: each sends to task 0 */
    /* Random pairs in waves of W; a task starts the next wave after it has received its messages */
    NT_KERNEL_SR,
    NT_KERNEL_GUPS, /* random pairs, one wave */
    NT_KERNEL_HOT,  /* as gups, but P percent of the messages go to task 0 */
    /* As gups, but P percent of the messages go to the first eighth of the tasks */
    NT_KERNEL_REGION,
    NT_KERNEL_TRANSPOSE,  /* to the task whose number has both halves of the bits exchanged */
    NT_KERNEL_COMPLEMENT, /* all bits inverted */
    NT_KERNEL_REVERSE,    /* the bits in reversed order */
    NT_KERNEL_SHUFFLE,    /* the bits rotated by one to the left */
    NT_KERNELS
};

struct nt_workload {
    enum nt_kernel kernel;
    uint32_t wave;    /* sr */
    uint32_t percent; /* hot, region: 1 to 100 */
    /* The messages of all tasks together, if the kernel leaves the number free. 0: 10,000 for
     * random pairs, one per task for a permutation. */
    uint32_t messages;
    uint32_t tasks;    /* spread over the hosts; 0: one per host, or as many as the kernel allows */
    double bytes;      /* per message */
    double compute_us; /* computation of each task after each wave */
    double packet_bytes; /* 0: a message is one packet */
    /* Injection and consumption rate of a host; 0: the fastest channel at the host */
    double port_MBps;
    uint32_t buffer_packets;
    bool consume_all; /* a host receives from all its links at once, not through one port */
    /* Tori and meshes: packets take the minimal path with the fewest waiting packets instead of
     * the static route; then queues are unbounded */
    bool adaptive;
    uint64_t seed;
};

enum {
    NT_WORKLOAD_NAME_BYTES = 32,
    NT_WORKLOAD_MESSAGES_MAX = 1 << 24,
    NT_WORKLOAD_REGION = 8 /* the hot region is one part of this number */
};

/* Reads KERNEL[,bytes=N][,messages=N][,tasks=N][,compute=US]. KERNEL: a2a, o2a, a2o, sr:W, gups,
 * hot:P, region:P, transpose, complement, reverse or shuffle. Fields that the text does not contain
 * are unchanged. NT_ERR_USAGE. */
int nt_workload_parse(const char *text, struct nt_workload *workload, struct nt_err *err);

/* Writes KERNEL[,compute=US], which nt_workload_parse reads. bytes, messages and tasks are left
 * out. */
void nt_workload_name(const struct nt_workload *workload, char name[NT_WORKLOAD_NAME_BYTES]);

/* Whether the messages are random pairs, so that their number is free. */
bool nt_workload_is_random(const struct nt_workload *workload);

/* The number of tasks on this number of hosts; 0: the kernel does not allow the requested number,
 * or it is more than hosts. Permutations allow 2, 4, 8, ..., transpose 4, 16, 64, ... */
size_t nt_workload_tasks(const struct nt_workload *workload, size_t hosts);

/* The host of task t if tasks are spread over the hosts. */
static inline size_t nt_workload_host(size_t t, size_t tasks, size_t hosts)
{
    return t * hosts / tasks;
}

struct nt_message {
    uint32_t from, to; /* hosts */
    double sent_us, received_us;
};

/* The operations of each host, in order. Operation k of host h is op[first[h] + k]: 2 * message for
 * a send, 2 * message + 1 for a wait, or NT_PROGRAM_COMPUTE. */
#define NT_PROGRAM_COMPUTE UINT32_MAX
struct nt_program {
    size_t hosts, messages, ops;
    struct nt_message *message;
    uint32_t *first; /* hosts + 1 */
    uint32_t *op;
};

/* Equal workloads and hosts give equal programs. NT_ERR_USAGE: more than NT_WORKLOAD_MESSAGES_MAX
 * messages, no waves, or a number of tasks that these hosts do not allow. The caller frees the
 * program with nt_program_fini. */
int nt_program_create(size_t hosts, const struct nt_workload *workload, struct nt_program *program,
                      struct nt_err *err);
void nt_program_fini(struct nt_program *program);

#endif
