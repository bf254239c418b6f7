/* SPDX-License-Identifier: Apache-2.0 */
/* A round of flows while it is planned: which hosts are free, which pairs are chosen. Used by
 * bandwidth.c.
 * Tests: test_bandwidth.c. */
#ifndef NT_FLOW_SCHEDULE_H
#define NT_FLOW_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "only_paths.h"
#include "rooted_tree.h"

struct nt_flow_schedule {
    const struct nt_rooted_tree *rooted; /* borrowed */
    double max_load;                     /* in (0, 1] */
    bool *missing;                       /* hosts: take no part at all; the owner sets it */
    double *quality; /* vertices: what it receives, relative to its class: 1 if unknown */
    size_t pairs;
    uint32_t (*pair)[2];
    bool *busy;             /* hosts: have a partner in this round */
    bool *closed;           /* vertices: no host below receives in this round */
    uint32_t *receivers;    /* vertices: hosts below that could still receive */
    uint32_t *load;         /* vertices: flows into it */
    uint32_t *list;         /* room for vertices: scratch */
    uint32_t *list2;        /* as well */
    struct nt_arena memory; /* of all arrays */
};

int nt_flow_schedule_init(struct nt_flow_schedule *d, const struct nt_rooted_tree *rooted,
                          double max_load, struct nt_err *err);
void nt_flow_schedule_fini(struct nt_flow_schedule *d);

/* A new round. turn: swaps all pairs, so that who was to send receives. */
void nt_flow_schedule_clear(struct nt_flow_schedule *d);
void nt_flow_schedule_turn(struct nt_flow_schedule *d);

/* False when one of the two is missing or has a partner. */
bool nt_flow_schedule_join(struct nt_flow_schedule *d, uint32_t from, uint32_t to);

/* Takes the pairs from that one on back. */
void nt_flow_schedule_undo(struct nt_flow_schedule *d, size_t first);

/* Neighbours among the hosts of each switch: places 0-1, 2-3, ... (parity 0) or 1-2, 3-4, ... and
 * the last with the first (parity 1); of three hosts also the last with the first (parity 2), else
 * one slow host in the middle would be their only partner. At most `most` pairs a switch. */
void nt_flow_schedule_shift(struct nt_flow_schedule *d, int parity, size_t most);

/* Hosts at one switch send to those at another, as many as both have. Returns how many. */
size_t nt_flow_schedule_between(struct nt_flow_schedule *d, uint32_t from, uint32_t to);

/* Those whose only path goes over that channel between switches: the hosts of its two ends and of
 * their neighbours, so that it has more flows than any other on their paths. Returns how many.
 * switches: room for nt_rooted_tree_room; channel: as well. */
size_t nt_flow_schedule_over(struct nt_flow_schedule *d, const struct nt_only_paths *paths,
                             uint32_t over, uint32_t *switches, uint32_t *channel);

/* A tree only: parents are the switches that have switches below them. Which groups send when. */
struct nt_fan {
    uint32_t *bin;          /* vertices: in which turn the group below it sends */
    uint32_t *bins;         /* vertices: turns at this parent; 0: no parent */
    bool *tight;            /* vertices: one group has more than 0.45 of the hosts, so that half of
                               its flows go outside; never the top, which has no outside */
    uint32_t *height;       /* vertices: 1 where there are only hosts below, 0 for a host */
    uint32_t *seat;         /* vertices: number among the tight parents of its height */
    uint32_t highest;       /* height of the top */
    struct nt_arena memory; /* of all arrays */
};
int nt_fan_init(struct nt_fan *f, const struct nt_rooted_tree *rooted, struct nt_err *err);
void nt_fan_fini(struct nt_fan *f);

/* At every parent of the height that is not tight the groups of the turn send to the others. */
void nt_flow_schedule_fan(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                          uint32_t turn);

/* At the tight parents of the height with a seat of this parity; the others' hosts receive. */
void nt_flow_schedule_spill(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                            uint32_t turn, uint32_t parity);

/* The groups marked send to the rest of what is below their parent of the height; at most 0.45 of
 * the hosts there. */
void nt_flow_schedule_again(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                            const bool *marked);

/* Groups below each parent of the height in pairs as in nt_flow_schedule_shift, at most `most`
 * flows a pair of groups; a parent's own hosts are a group. Returns the largest number of flows
 * that a pair of groups could have had. */
size_t nt_flow_schedule_pairs(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                              int parity, size_t most);

#endif
