/* SPDX-License-Identifier: Apache-2.0 */
/* Plan, measure, estimate: the sweep of Liu et al. (NPC 2018) on a network with known routes. It
 * measures a minimal set of pairs once each, in link-disjoint rounds, and estimates the latencies
 * of links from them. It needs the fewest pairs but must know the network, so the probe cannot use
 * it; it is here for comparison.
 * Tests: bats/commands.bats. */
#ifndef NT_SWEEP_PMM_H
#define NT_SWEEP_PMM_H

#include "sweep_sim.h"

/* NT_ERR_INPUT: a network that plan_model.h rejects, or more links than an estimate has memory for.
 * The resulting network has the estimated latencies; NaN if the pairs do not determine them. */
extern const struct nt_sweep_kind nt_sweep_kind_pmm;

#endif
