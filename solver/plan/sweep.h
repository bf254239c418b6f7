/* SPDX-License-Identifier: Apache-2.0 */
/* Interface of the planners of a sweep: a planner returns the next round and takes its results.
 *
 * Pure: ucx_probe/coordinator.c uses it on the wire, the simulator with 65,536 hosts. In a round a
 * host has at most one partner, except for kernels, which use all hosts.
 * Tests: test_sweep_all.c, test_disturbed.c. */
#ifndef NT_SWEEP_H
#define NT_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "workload.h"

enum nt_order_kind {
    NT_ORDER_LATENCY,   /* ping-pong of message_bytes between the pairs */
    NT_ORDER_BANDWIDTH, /* from the first to the second host of each pair, for window_s seconds */
    NT_ORDER_PRTT,      /* PRTT(count, delay_us, message_bytes), Lichei 2006 */
    NT_ORDER_KERNEL,    /* a stress kernel (Navaridas, Miguel-Alonso) over all hosts */
};

/* Message size of all latencies, small enough that its transfer time is negligible. */
enum { NT_PING_BYTES = 8 };

struct nt_order {
    enum nt_order_kind kind;
    char phase[32]; /* the purpose of the round: "latency", "host-links", ... */
    size_t pairs;
    uint32_t (*pair)[2]; /* owned by the planner, valid until its next call */
    double message_bytes;
    uint32_t batches; /* latency: batches of count pings; each batch gives one low value */
    uint32_t count;
    double window_s; /* bandwidth: duration; prtt: limit for all repetitions */
    double delay_us; /* prtt */
    /* prtt: time after its last send in which the first host does not poll; then its time counts
     * from the end of this send */
    double hold_us;
    char rail[32]; /* the network device to use; "": selected by the transport */
    char kernel[NT_WORKLOAD_NAME_BYTES];
};

struct nt_result {
    uint32_t a, b;           /* the pair as ordered */
    bool ok;                 /* false: the pair failed, and the other fields are undefined */
    double value_us;         /* as in nt_sample */
    double se_us, median_us; /* kernels: upper and lower end of the interval */
    uint32_t count;          /* 0: the pair works, but there is no value: value_us is 0 */
    double bytes;
    struct nt_sent {
        /* over TCP: segments with data, and retransmissions of these; else 0 */
        uint32_t segments, again;
    } sent[2]; /* from a to b, from b to a */
};

struct nt_planner;

struct nt_planner_ops {
    /* 1: *order is the next round; 0: the sweep is complete; -1: error */
    int (*next)(struct nt_planner *planner, struct nt_order *order, struct nt_err *err);
    /* Takes the results of the last round, in any order; some may be missing. */
    int (*tell)(struct nt_planner *planner, const struct nt_result *results, size_t n,
                struct nt_err *err);
    /* Marks this host as lost: later rounds do not use it. */
    void (*lose)(struct nt_planner *planner, uint32_t host);
    void (*destroy)(struct nt_planner *planner);
    /* The number of next rounds that do not depend on the last results and differ from the last
     * round only in their pairs: they can be ordered before its results. NULL: none. */
    size_t (*ahead)(const struct nt_planner *planner);
};

struct nt_planner {
    struct nt_arena memory; /* of arrays, for planners made by nt_object_create */
    const struct nt_planner_ops *ops;
};

/* Parameters of planners. */
struct nt_sweep_setup {
    size_t hosts;
    const bool *missing;     /* per host: takes no part; NULL: all take part */
    unsigned passes;         /* over all pairs */
    uint32_t batches, count; /* per order, initial values */
    uint64_t seed;           /* equal results and seeds give equal rounds */
};

/* Number of rounds with one partner per host: for an odd number, one host is idle in each round. */
static inline size_t nt_sweep_all_rounds(size_t hosts)
{
    return hosts < 2 ? 0 : hosts % 2 == 0 ? hosts - 1 : hosts;
}

/* Plans all pairs once per pass, in rounds of disjoint pairs (a 1-factorisation). Each pass has a
 * different order: from the second on, slow pairs share rounds, and rounds repeat few pairs of
 * earlier ones. The caller frees *out. */
int nt_sweep_all_create(const struct nt_sweep_setup *setup, struct nt_planner **out,
                        struct nt_err *err);

/* Plans the same pairs one after another, without other load on the network, like A. Bufe's tool
 * (Hamburg 2014). The caller frees *out. */
int nt_sweep_sequential_create(const struct nt_sweep_setup *setup, struct nt_planner **out,
                               struct nt_err *err);

/* For planners whose rounds do not depend on results. */
static inline int nt_planner_ignore_results(struct nt_planner *planner,
                                            const struct nt_result *results, size_t n,
                                            struct nt_err *err)
{
    (void)planner;
    (void)results;
    (void)n;
    (void)err;
    return 0;
}

static inline void nt_planner_destroy(struct nt_planner *planner)
{
    if (planner != NULL && planner->ops != NULL && planner->ops->destroy != NULL)
        planner->ops->destroy(planner);
    else
        nt_object_destroy(planner);
}

#endif
