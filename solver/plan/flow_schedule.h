/* SPDX-License-Identifier: Apache-2.0 */
/* One round of flows during planning: free hosts and chosen pairs. Used by bandwidth.c only.
 * Tests: test_bandwidth.c. */
#ifndef NT_FLOW_SCHEDULE_H
#define NT_FLOW_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "rooted_tree.h"
#include "unique_paths.h"

struct nt_flow_schedule {
    const struct nt_rooted_tree *rooted; /* borrowed */
    double max_load;                     /* in (0, 1] */
    bool *missing;                       /* per host: takes no part; set by the owner */
    double *quality; /* per vertex: bandwidth of its link relative to its class; 1 if unknown */
    size_t pairs;
    uint32_t (*pair)[2];
    bool *busy;             /* per host: has a partner in this round */
    bool *closed;           /* per vertex: no host below it receives in this round */
    uint32_t *receivers;    /* per vertex: hosts below that can still receive */
    uint32_t *load;         /* per vertex: flows into it */
    uint32_t *list;         /* per vertex; working memory */
    uint32_t *list2;        /* per vertex; working memory */
    struct nt_arena memory; /* of all arrays */
};

int nt_flow_schedule_init(struct nt_flow_schedule *d, const struct nt_rooted_tree *rooted,
                          double max_load, struct nt_err *err);
void nt_flow_schedule_fini(struct nt_flow_schedule *d);

/* clear: begins a new round. turn: swaps the hosts of all pairs, so that senders receive. */
void nt_flow_schedule_clear(struct nt_flow_schedule *d);
void nt_flow_schedule_swap(struct nt_flow_schedule *d);

/* Adds a pair. false: one of its hosts is missing or has a partner. */
bool nt_flow_schedule_add(struct nt_flow_schedule *d, uint32_t from, uint32_t to);

/* Removes all pairs from this index on. */
void nt_flow_schedule_undo(struct nt_flow_schedule *d, size_t first);

/* Pairs neighbours among the hosts of each switch: positions 0-1, 2-3, ... (parity 0), or 1-2, 3-4,
 * ... and the last with the first (parity 1). With three hosts, also the last with the first
 * (parity 2), because otherwise a slow host in the middle would be the only partner of both. At
 * most most pairs per switch. */
void nt_flow_schedule_shift(struct nt_flow_schedule *d, int parity, size_t most);

/* Hosts of one switch send to those of another, as many as both have. Returns the number of
 * pairs. */
size_t nt_flow_schedule_between(struct nt_flow_schedule *d, uint32_t from, uint32_t to);

/* Adds flows whose only path uses the channel over between switches: from the hosts of its two ends
 * and of their neighbours, so that it has more flows than any other channel of their paths. Returns
 * the number of pairs. switches, channel: room for nt_rooted_tree_room. */
size_t nt_flow_schedule_over(struct nt_flow_schedule *d, const struct nt_unique_paths *paths,
                             uint32_t over, uint32_t *switches, uint32_t *channel);

/* For trees: which groups send in which turn. Parents are the switches with switches below them. */
struct nt_fan {
    uint32_t *bin;  /* per vertex: turn in which the group below it sends */
    uint32_t *bins; /* per vertex: turns at this parent; 0: no parent */
    /* Per vertex: one group has more than 0.45 of the hosts, so that half of its flows leave the
     * parent; never the root */
    bool *tight;
    uint32_t *height;       /* per vertex: 1 if only hosts are below, 0 for a host */
    uint32_t *seat;         /* per vertex: number among the tight parents of its height */
    uint32_t highest;       /* height of the root */
    struct nt_arena memory; /* of all arrays */
};
int nt_fan_init(struct nt_fan *f, const struct nt_rooted_tree *rooted, struct nt_err *err);
void nt_fan_fini(struct nt_fan *f);

/* At every parent of this height that is not tight, the groups of this turn send to the others. */
void nt_flow_schedule_fan(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                          uint32_t turn);

/* As above at the tight parents of this height whose seat has this parity; the hosts of the others
 * receive. */
void nt_flow_schedule_spill(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                            uint32_t turn, uint32_t parity);

/* The marked groups send to the other hosts below their parent of this height; at most 0.45 of
 * these hosts. */
void nt_flow_schedule_repeat(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                             const bool *marked);

/* Groups below each parent of this height send in pairs as in nt_flow_schedule_shift, at most most
 * flows per pair of groups; the parent's own hosts are a group. Returns the largest possible number
 * of flows of a pair of groups. */
size_t nt_flow_schedule_pairs(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                              int parity, size_t most);

#endif
