/* SPDX-License-Identifier: Apache-2.0 */
/* Which links are worse than their like, from the figures of a model.
 *
 * A link is held against the others of its class by the logarithm of its figure: hosts' links
 * against those at the same switch where there are five or more, else against all of them; links
 * between switches likewise, those between the same two tiers. The class's spread is estimated from
 * its undisturbed members (median absolute deviation), as if four more had been seen at 2 %: so two
 * members tell nothing, three show what is far off, many show what is near. The confidence is the
 * posterior probability of a fault (fault_odds.h). It is stated
 * from NT_FAULT_CONFIDENCE on, and only while the undisturbed members of the class are the
 * majority: else what is usual is not known.
 *
 * A host that a job sees alone of its leaf looks like one on a longer link. So on a switch that has
 * others below it a host's link is only slow when it is longer, by a quarter, than the longest way
 * down from there; on a single switch, when it is longer than four of the usual ones.
 *
 * What a narrow link's latency is longer by because of the frame of a ping is part of that finding.
 *
 * Bandwidths that are only lower bounds are members of their class, which is then at least so good,
 * and never worse than it. One way that is narrower than the other, where the ways of others of the
 * tier are alike, is found too.
 * Tests: test_faults.c. */
#ifndef NT_INFER_FAULTS_H
#define NT_INFER_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "fault.h"
#include "model.h"

#define NT_FAULT_CONFIDENCE 0.9
#define NT_FAULT_SLOWER 1.15   /* by less than this factor a link is not called slow, */
#define NT_FAULT_NARROWER 0.92 /* with more than this share of the usual not narrow */

/* A link as a part: the end towards the hosts is a. */
static inline struct nt_fault_part nt_fault_part_of(const struct nt_model *model, size_t link,
                                                    enum nt_fault_kind kind)
{
    const struct nt_link *l = &model->link[link];
    bool rises = nt_model_tier(model, l->a) <= nt_model_tier(model, l->b);
    return (struct nt_fault_part){kind, rises ? l->a : l->b, rises ? l->b : l->a};
}

/* marked: a link is narrow only if it is suspect in model (nt_infer_flows has judged the rounds).
 * *fault: *count of them, the surest first within a kind, at most NT_FAULTS_MAX; freed by the
 * caller. A host's link has the host as alternative. */
int nt_faults_find(const struct nt_model *model, bool marked, struct nt_fault **fault,
                   size_t *count, struct nt_err *err);

#endif
