/* SPDX-License-Identifier: Apache-2.0 */
/* From routes to a plan of measurements (Liu et al., NPC 2018): a minimal set or,
 * with redundancy, a well-conditioned larger one, in link-disjoint rounds. */
#ifndef NT_PLAN_ROUTES_H
#define NT_PLAN_ROUTES_H

#include <stdint.h>

#include "err.h"
#include "plan.h"
#include "routes.h"

/* redundancy: how many pairs for each independent one, 1 (minimal) or more; more than there are
 * pairs means all. The same routes, redundancy and seed give the same plan.
 * NT_ERR_INPUT: no pair at all, or a redundancy that is not a number from 1 to 10^6. */
int nt_plan_routes(const struct nt_routes *routes, double redundancy, uint64_t seed,
                   struct nt_plan **out, struct nt_err *err);

#endif
