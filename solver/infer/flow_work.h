/* SPDX-License-Identifier: Apache-2.0 */
/* What flow_links.c and flow_network.c share.
 * Tests: test_compare.c. */
#ifndef NT_FLOW_WORK_H
#define NT_FLOW_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"
#include "rooted_tree.h"

/* What is known of a channel (one direction of a link). */
struct flow_channel {
    double most, second; /* the best rounds, MB/s; NaN: never used */
    double value, se;    /* the mean of the rounds near the best, its standard error */
    uint64_t flows;      /* which flows the best round had over it */
    double loaded;       /* the least that the same flows had in another round; NaN */
    bool certified;      /* was a bottleneck */
    bool alone;          /* certified, and nothing else could have been it */
    unsigned odd;        /* rounds in which much of it was not explained */
};

struct flow_work {
    struct nt_model *model; /* the copy that is being filled */
    struct nt_rooted_tree *rooted;
    struct flow_channel *channel; /* 2 * links of them */
    double noise;                 /* sd of a flow's rate, relative */
};

/* Bounds, oversubscription, suspects and bisection from the channels. A channel that was odd in
 * fewer rounds than that is not. */
int nt_flow_finish(struct flow_work *w, unsigned odd_rounds, struct nt_err *err);

#endif
