/* SPDX-License-Identifier: Apache-2.0 */
/* Plan, measure, estimate: the sweep of Liu et al. (NPC 2018) on a network whose routes are known.
 * A minimal set of pairs in link-disjoint rounds, each measured once; from it the latencies of the
 * links. It takes the fewest pairs, and needs to know the network's shape: no probe can follow it,
 * so that it stands here, for comparison.
 * Tests: bats/commands.bats. */
#ifndef NT_SWEEP_PMM_H
#define NT_SWEEP_PMM_H

#include "sweep_sim.h"

/* Refuses with NT_ERR_INPUT what plan_model.h refuses, and more links than an estimate has memory
 * for. Its network has the latencies that were estimated; NaN where the pairs do not determine
 * them. */
extern const struct nt_sweep_kind nt_sweep_kind_pmm;

#endif
