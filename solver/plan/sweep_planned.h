/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the pairs of a plan (core/plan.h) in its rounds: Liu et al., NPC 2018, section 3.2,
 * where pairs of one round share no link. A round begins after all pairs of the previous round
 * ended. With flows, a round may also be the test of Bufe (Hamburg 2014, section 2.2.1): whether a
 * flow is slower if others load the shortest path. Implements sweep.h.
 * Tests: test_sweep_planned.c. */
#ifndef NT_SWEEP_PLANNED_H
#define NT_SWEEP_PLANNED_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "plan.h"
#include "sweep.h"

/* Limit of passes. Each pass adds a reading per pair. It lowers the standard errors by the square
 * root of the number of readings, and shows the noise to a minimal plan, which has no other degrees
 * of freedom. 64 passes lower the errors to an eighth; half of that would need four times as
 * many. */
enum { NT_PLANNED_PASSES = 64 };

/* Phase "plan": orders for at most setup->passes passes over the plan. flow_s 0: latencies.
 * Otherwise flows of this duration, from the first to the second host of a pair, after a phase
 * "warm-up" of a pass of latencies and a pass of flows. Lost hosts are left out with their pairs.
 * plan: of setup->hosts hosts, borrowed. The caller frees *out. */
int nt_sweep_planned_create(const struct nt_sweep_setup *setup, const struct nt_plan *plan,
                            double flow_s, struct nt_planner **out, struct nt_err *err);

/* Number of pairs of the plan without a reading of phase "plan". */
size_t nt_sweep_planned_unread(const struct nt_planner *planner);

/* Whether every pair was ordered once, so that further rounds repeat them. */
bool nt_sweep_planned_repeats(const struct nt_planner *planner);

#endif
