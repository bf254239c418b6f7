/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the pairs of a plan (core/plan.h) in its rounds: Liu et al., NPC 2018, section 3.2,
 * where pairs of one round share no link. A round begins when all of the one before has ended.
 * Tests: test_sweep_planned.c. */
#ifndef NT_SWEEP_PLANNED_H
#define NT_SWEEP_PLANNED_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "plan.h"
#include "sweep.h"

/* A pass gives each pair one more reading, which lowers the standard errors with the root of their
 * number and shows the noise to a minimal plan, which has no other freedom; 64 lower them to an
 * eighth, four times as many would be needed for half of that. */
enum { NT_PLANNED_PASSES = 64 };

/* Phase "plan": orders of latency, setup->passes over the plan at most. Hosts that are lost are
 * left out with their pairs. plan: of setup->hosts hosts, borrowed. */
int nt_sweep_planned_create(const struct nt_sweep_setup *setup, const struct nt_plan *plan,
                            struct nt_planner **out, struct nt_err *err);

/* How many pairs of the plan have no reading. */
size_t nt_sweep_planned_left(const struct nt_planner *planner);

/* Every pair was ordered once: what follows repeats them. */
bool nt_sweep_planned_repeats(const struct nt_planner *planner);

#endif
