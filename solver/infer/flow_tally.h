/* SPDX-License-Identifier: Apache-2.0 */
/* One round of flows over a tree whose links' bandwidths are known: what each link and switch
 * carried, and how many of its flows got less than any link on their ways explains (odd ones).
 * Private to infer/.
 * Tests: test_flow_links.c, test_switch_throughput.c. */
#ifndef NT_INFER_FLOW_TALLY_H
#define NT_INFER_FLOW_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "flow_links.h"
#include "memory.h"
#include "model.h"
#include "rooted_tree.h"

#define NT_FLOW_NEARLY_FULL                                                                        \
    0.8                       /* of what a link has: with noise of a tenth it may be full, and     \
                                 explains why its flows have no more */
#define NT_FLOW_ODD_SHARE 0.8 /* of the flows over a link or switch that are not explained */

struct nt_carried {
    double MBps;
    uint32_t flows, odd;
};

struct nt_flow_tally {
    const struct nt_model *model; /* borrowed */
    struct nt_rooted_tree *rooted;
    struct nt_carried *link;   /* by channel */
    struct nt_carried *vertex; /* what came into it */
    uint32_t *path;
    uint32_t (*both)[2]; /* by channel: flows that also go over either of two */
    struct nt_arena memory;
};

int nt_flow_tally_init(struct nt_flow_tally *tally, const struct nt_model *model,
                       struct nt_err *err);
void nt_flow_tally_fini(struct nt_flow_tally *tally);

/* In place of what there was. Nothing in networks that are no tree. */
void nt_flow_tally_load(struct nt_flow_tally *tally, const struct nt_flow_round *round);

/* Whether the flows of the round just loaded that go over channels x and y go, nearly all of both,
 * over a third one too. */
bool nt_flow_tally_meet(struct nt_flow_tally *tally, const struct nt_flow_round *round, uint32_t x,
                        uint32_t y);

/* Of a channel; NaN: not known. */
static inline double nt_flow_tally_bandwidth(const struct nt_flow_tally *tally, uint32_t channel)
{
    const struct nt_link *l = &tally->model->link[channel / 2];
    return channel % 2 == 0 ? l->bandwidth_MBps : l->bandwidth_back_MBps;
}

static inline bool nt_carried_is_odd(const struct nt_carried *carried)
{
    return carried->flows > 0 && (double)carried->odd >= NT_FLOW_ODD_SHARE * carried->flows;
}

#endif
