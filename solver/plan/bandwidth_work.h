/* SPDX-License-Identifier: Apache-2.0 */
/* What bandwidth.c, bandwidth_program.c and bandwidth_followup.c share.
 * Tests: test_bandwidth.c. */
#ifndef NT_BANDWIDTH_WORK_H
#define NT_BANDWIDTH_WORK_H

#include "bandwidth.h"
#include "flow_schedule.h"
#include "memory.h"

enum nt_bw_kind {
    WARM_UP, /* all that the first round has */
    ALONE,   /* one flow of it by itself */
    SHIFT,
    SHIFT_REPEAT, /* a SHIFT in which all hosts were slower than in another one */
    SHIFT_AGAIN,
    LINKS,
    FAN,
    SPILL,
    FAN_AGAIN,
    PAIRS,
    CHECK, /* a FAN or SPILL again: a link's bandwidth is nothing that one round alone shows */
    SHIFT_LADDER,
    LADDER
};

struct nt_bw_step {
    enum nt_bw_kind kind;
    uint32_t height, index, parity;
    bool back;          /* the other direction */
    double middle_MBps; /* the middle rate of its flows, 0: not known */
};

struct nt_bw {
    struct nt_planner base;
    struct nt_bandwidth_options options;
    struct nt_rooted_tree *rooted;
    struct nt_flow_schedule schedule;
    struct nt_fan fan;
    uint32_t *colour; /* links between hosts: in which round of disjoint links; else UINT32_MAX */
    size_t steps, steps_capacity, step;
    struct nt_bw_step *plan;
    double *most;      /* channels: the most that a round carried; NaN */
    double *second;    /* channels: the most of the other rounds; NaN */
    double *load;      /* channels: of a round */
    uint32_t *channel; /* room for a path */
    bool *marked;      /* vertices */
    float *value;      /* vertices: scratch for medians */
    double rate_MBps;  /* of a flow, median of the rounds at host links; NaN */
    /* what the network carries at once, as the warm-up showed: */
    double limit_MBps;                /* INFINITY: all that hosts send */
    double together_MBps, first_MBps; /* all flows of the warm-up; the one that is then alone */
    uint32_t first[2];                /* the ends of that one; equal: none */
    /* the planned round, in parts that the network can carry: */
    uint32_t (*pair)[2]; /* hosts: the schedule's, sorted by part */
    uint32_t *part;      /* vertices: number of the part that the group below it sends in */
    double *sum;         /* hosts: what a part may come to, MB/s */
    size_t *cut;         /* parts + 1: pair[cut[k]..cut[k + 1]) is part k */
    size_t parts, next_part, most_parts;
};

/* bandwidth_program.c: all steps in their order, from the network alone. */
int nt_bw_program(struct nt_bw *b, struct nt_err *err);
const char *nt_bw_phase(const struct nt_bw_step *step);

/* bandwidth_followup.c: rounds that follow from the results. Hosts below their leaf's limit with
 * the best partner; turn numbers the repetitions. into: towards the hosts. */
void nt_bw_repeat_hosts(struct nt_bw *b, size_t turn, bool into);

/* Marks groups below parents of the height that carried less than another one and less than their
 * hosts could; in what is to take their flows, those known to be narrow get fewer. */
void nt_bw_mark_narrow_groups(struct nt_bw *b, uint32_t height, bool into);

/* Whether a group that sent (or took) in the FAN or SPILL has a link of which no two rounds agree.
 */
bool nt_bw_is_unsettled(const struct nt_bw *b, const struct nt_bw_step *step);

/* bandwidth_split.c: the schedule's pairs into b->pair and b->cut. Flows that a group sends stay
 * together; groups go into one part as long as it stays under the limit. */
void nt_bw_split(struct nt_bw *b, const struct nt_bw_step *step);

#endif
