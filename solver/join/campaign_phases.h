/* SPDX-License-Identifier: Apache-2.0 */
/* Inside join/: the phases of a campaign, in their order.
 * Tests: test_campaign.c. */
#ifndef NT_CAMPAIGN_PHASES_H
#define NT_CAMPAIGN_PHASES_H

#include "bandwidth.h"
#include "campaign.h"

/* What a phase is planned from. */
struct nt_phase_site {
    const struct nt_campaign_options *options;
    size_t hosts;
    const bool *missing; /* hosts of them */
    size_t present;
    const struct nt_model *model;    /* NULL before the latency phase has ended */
    double rate_MBps;                /* the fastest flow so far; NaN: none */
    struct nt_bandwidth_seen *flows; /* what the phases of bandwidth have shown; the campaign's */
    double left_s;                   /* of the measuring time */
    double round_overhead_s;         /* what a round of bandwidth takes beside its window */
    const struct nt_matrix *min_latency; /* of latencies; NULL: they are not of all pairs */
    const struct nt_matrix *errors;      /* of those; NULL: not known */
    unsigned passes;                     /* as often was each of them read */
    double repeats_s, ping_s; /* the time for repeats, and what a round of latencies takes */
};

/* What a phase takes. rounds 0: nothing to measure here. */
struct nt_phase_need {
    size_t rounds;
    size_t repeats;  /* of them: those that may turn out needless, and may be left out */
    double window_s; /* mean over the rounds: how long each loads the network */
    double most_s;   /* that it may take; 0: all that is left */
    enum nt_order_kind kind;
};

struct nt_phase_kind {
    const char *name;   /* in warnings */
    enum nt_level from; /* the lowest level that has it */
    bool loads;         /* loads links: not on shared hosts */
    bool wants_model;
    /* *out NULL with need->rounds 0: nothing to measure here. */
    int (*create)(const struct nt_phase_site *site, struct nt_planner **out,
                  struct nt_phase_need *need, struct nt_err *err);
    /* May be NULL: what is still to come, once the first round has shown how fast this network is.
     * Until then need is the least that it could be. */
    void (*left)(const struct nt_planner *planner, struct nt_phase_need *need);
    /* May be NULL: how long the last round took, for planners that choose by the time. */
    void (*took)(struct nt_planner *planner, double seconds);
};

/* The first of them. */
enum { NT_PHASE_LATENCY, NT_PHASE_REPEATS };

extern const struct nt_phase_kind nt_phase_kinds[];
extern const size_t nt_phase_kinds_count;

#endif
