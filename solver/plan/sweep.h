/* SPDX-License-Identifier: Apache-2.0 */
/* A planner of a sweep: it takes results and gives the next round.
 *
 * Pure: driven on the wire by ucx_probe/coordinator.c and at 65,536 hosts by the simulator, through
 * this one interface. In a round a host has at most one partner (unless the order says a kernel,
 * which uses all hosts).
 * Tests: test_sweep_all.c, test_disturbed.c. */
#ifndef NT_SWEEP_H
#define NT_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

enum nt_order_kind {
    NT_ORDER_LATENCY,   /* ping-pong of message_bytes between the pairs */
    NT_ORDER_BANDWIDTH, /* from first to second of each pair, for window_s seconds */
    NT_ORDER_PRTT,      /* PRTT(count, delay_us, message_bytes), Lichei 2006 */
    NT_ORDER_KERNEL,    /* a stress kernel (Navaridas, Miguel-Alonso) over all hosts */
};

/* What a latency is of: the message that every sweep pings with, small enough that its size costs
 * nothing. */
enum { NT_PING_BYTES = 8 };

struct nt_order {
    enum nt_order_kind kind;
    char phase[32]; /* "latency", "host-links", ...: names what the round is for */
    size_t pairs;
    uint32_t (*pair)[2]; /* owned by the planner, valid until its next call */
    double message_bytes;
    uint32_t batches; /* latency: batches of count pings, each gives one low value */
    uint32_t count;
    double window_s; /* bandwidth: how long; prtt: what all its repetitions may take */
    double delay_us; /* prtt */
    double hold_us;  /* prtt: for so long after its last send the first end looks at nothing; its
                        time counts from that send's end */
    char rail[32];   /* the one network device to use; "": what the transport chooses */
    char kernel[32]; /* KERNEL[,compute=US] (core/workload.h) */
};

struct nt_result {
    uint32_t a, b;           /* the pair as ordered */
    bool ok;                 /* false: the pair failed; nothing else counts */
    double value_us;         /* as in nt_sample */
    double se_us, median_us; /* of a kernel: the high and the low end of its interval */
    uint32_t count;          /* 0: the pair is well, but there is no figure: value_us is 0 */
    double bytes;
    struct nt_sent {
        uint32_t segments, again; /* over TCP: with data, and of those sent again; else 0 */
    } sent[2];                    /* from a to b, from b to a */
};

struct nt_planner;

struct nt_planner_ops {
    /* 1: *order is the next round; 0: nothing more to measure; -1: error */
    int (*next)(struct nt_planner *planner, struct nt_order *order, struct nt_err *err);
    /* The results of the round last ordered, any order, missing ones allowed. */
    int (*tell)(struct nt_planner *planner, const struct nt_result *results, size_t n,
                struct nt_err *err);
    /* This host is lost: plan without it. */
    void (*lose)(struct nt_planner *planner, uint32_t host);
    void (*destroy)(struct nt_planner *planner);
    /* How many of the next rounds are there whatever the last ones show, each like the last but for
     * its pairs: they may be ordered before its results are told. NULL: none. */
    size_t (*ahead)(const struct nt_planner *planner);
};

struct nt_planner {
    struct nt_arena memory; /* of the arrays of those that are made by nt_object_create */
    const struct nt_planner_ops *ops;
};

/* What planners are made from. */
struct nt_sweep_setup {
    size_t hosts;
    const bool *missing;     /* hosts: takes no part; NULL: all do */
    unsigned passes;         /* over all pairs */
    uint32_t batches, count; /* of an order, at first */
    uint64_t seed;           /* the same results and seed give the same rounds */
};

/* One partner a host and round: one host rests in each round when their number is odd. */
static inline size_t nt_sweep_all_rounds(size_t hosts)
{
    return hosts < 2 ? 0 : hosts % 2 == 0 ? hosts - 1 : hosts;
}

/* All pairs once a pass, in rounds of disjoint pairs (a 1-factorisation), in another order each
 * pass: from the second on pairs that take long in the same rounds. */
int nt_sweep_all_create(const struct nt_sweep_setup *setup, struct nt_planner **out,
                        struct nt_err *err);

/* The same pairs one after another, as A. Bufe's tool measured them (Hamburg 2014): nothing else is
 * on the network while a pair is. */
int nt_sweep_sequential_create(const struct nt_sweep_setup *setup, struct nt_planner **out,
                               struct nt_err *err);

/* For planners whose rounds do not depend on results. */
static inline int nt_planner_tell_nothing(struct nt_planner *planner,
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
