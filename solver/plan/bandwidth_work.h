/* What bandwidth.c, bandwidth_program.c and bandwidth_look.c share. */
#ifndef NT_BANDWIDTH_WORK_H
#define NT_BANDWIDTH_WORK_H

#include "bandwidth.h"
#include "bandwidth_draft.h"

enum nt_bw_kind {
    WARM_UP,
    SHIFT,
    SHIFT_AGAIN,
    LINKS,
    FAN,
    SPILL,
    FAN_AGAIN,
    PAIRS,
    SHIFT_LADDER,
    LADDER
};

struct nt_bw_step {
    enum nt_bw_kind kind;
    uint32_t height, index, parity;
    bool back; /* the other direction */
};

struct nt_bw {
    struct nt_planner base;
    struct nt_bandwidth_options options;
    struct nt_hang *hang;
    struct nt_draft draft;
    struct nt_fan fan;
    uint32_t *colour; /* links between hosts: in which round of disjoint links; else UINT32_MAX */
    size_t steps, steps_cap, step;
    struct nt_bw_step *plan;
    double *most;      /* channels: the most that a round carried; NaN */
    double *load;      /* channels: of a round */
    uint32_t *channel; /* room for a path */
    bool *marked;      /* vertices */
    float *value;      /* vertices: scratch for medians */
    double rate_MBps;  /* of a flow, median of the rounds at host links; NaN */
};

/* bandwidth_program.c: all steps in their order, from the network alone. */
int nt_bw_program(struct nt_bw *b, struct nt_err *err);
const char *nt_bw_phase(const struct nt_bw_step *step);

/* bandwidth_look.c: rounds that follow from what was found. Hosts below their leaf's limit with
 * the best partner; turn tells repetitions apart. into: towards the hosts. */
void nt_bw_draw_again(struct nt_bw *b, size_t turn, bool into);

/* Marks groups below parents of the height that carried less than another one and less than their
 * hosts could; in what is to take their flows, those known to be narrow get fewer. */
void nt_bw_look_at_groups(struct nt_bw *b, uint32_t height, bool into);

/* The value of the middle or just above it: of two, the larger. Reorders. */
double nt_bw_upper_median(float *value, size_t n);

#endif
