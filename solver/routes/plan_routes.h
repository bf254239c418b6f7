/* SPDX-License-Identifier: Apache-2.0 */
/* From routes to a plan of measurements (Liu et al., NPC 2018): a minimal set of pairs or, with
 * redundancy, a larger, well-conditioned set, in link-disjoint rounds. */
#ifndef NT_PLAN_ROUTES_H
#define NT_PLAN_ROUTES_H

#include <stdint.h>

#include "err.h"
#include "plan.h"
#include "routes.h"

/* redundancy: number of pairs per independent pair, 1 (minimal) or more; if it exceeds the pairs,
 * all are used. Equal routes, redundancies and seeds give equal plans. NT_ERR_INPUT: no pairs, or a
 * redundancy that is not a number from 1 to 10^6. The caller frees *out. */
int nt_plan_routes(const struct nt_routes *routes, double redundancy, uint64_t seed,
                   struct nt_plan **out, struct nt_err *err);

#endif
