/* SPDX-License-Identifier: Apache-2.0 */
/* From measurements over known routes to latencies of links, of runs of links and of all pairs
 * (Liu et al., NPC 2018, section 3.2, step d), with noise: robust least squares, standard errors,
 * suspects.
 *
 * There, "the non-zero columns of a row" of the row canonical form are an aggregated link; such a
 * row can be a difference of links, so here an aggregate is a contiguous run of a path whose sum
 * follows from the measurements and no shorter run from either of its ends does. */
#ifndef NT_ESTIMATE_ROUTES_H
#define NT_ESTIMATE_ROUTES_H

#include "err.h"
#include "estimate.h"
#include "measured.h"
#include "routes.h"

/* NT_ERR_INPUT: no measurement, or more unknowns hanging together than can be solved. */
int nt_estimate_routes(const struct nt_routes *routes, const struct nt_measured *measured,
                       struct nt_estimate **out, struct nt_err *err);

#endif
