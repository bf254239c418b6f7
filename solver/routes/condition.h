/* SPDX-License-Identifier: Apache-2.0 */
/* How much a set of pairs amplifies noise.
 * Tests: test_plan_routes.c. */
#ifndef NT_CONDITION_H
#define NT_CONDITION_H

#include "err.h"
#include "plan.h"
#include "routes.h"

enum { NT_CONDITION_LINKS_MAX = 200000 };

/* Fills plan->amplification_*, whose rank is set; pair[n] are the chosen pairs of the routes.
 * Leaves NaN when no link can be distinguished or the system is too large. */
int nt_condition_measure(const struct nt_routes *routes, const uint32_t *pair, size_t n,
                         struct nt_plan *plan, struct nt_err *err);

#endif
