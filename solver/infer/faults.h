/* SPDX-License-Identifier: Apache-2.0 */
/* Which links are degraded, from the figures of a model.
 *
 * Latencies of all links and rates of hosts' links are judged by sound_links.h: a finding is stated
 * if no sound network of tiers and of adapter generations explains the figure. Rates of links
 * between switches are compared with those of the same kind, as sound_links.h tells kinds apart, by
 * the logarithm. The spread of a kind is estimated from its undisturbed members (median absolute
 * deviation), as if four more had been seen at 2 %, and the confidence is the posterior probability
 * of a fault (fault_odds.h). A finding is stated from NT_FAULT_CONFIDENCE on, and only while the
 * undisturbed members are the majority: otherwise the usual rate is not known.
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

struct nt_faults_found {
    struct nt_fault *fault;
    size_t count;
    struct nt_population population[NT_POPULATIONS_MAX];
    size_t populations;      /* 0: hosts' links do not differ */
    uint32_t *population_of; /* by host; UINT32_MAX: none */
    bool *odd; /* by host: differs from all others, by a fault or by another adapter */
};

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
 * found: at most NT_FAULTS_MAX faults, the surest first within a kind; released by
 * nt_faults_found_fini. A host's link has the host as alternative. */
int nt_faults_find(const struct nt_model *model, bool marked, struct nt_faults_found *found,
                   struct nt_err *err);
void nt_faults_found_fini(struct nt_faults_found *found);

#endif
