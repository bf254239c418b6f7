/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the latencies of links, of runs of links and of all pairs from noisy measurements over
 * known routes: robust least squares with standard errors and suspects (Liu et al., NPC 2018,
 * section 3.2, step d).
 *
 * There, "the non-zero columns of a row" of the row canonical form are an aggregated link, which
 * can be a difference of links. Here an aggregate is a contiguous run of links of a path whose sum
 * follows from the measurements, while no shorter run from either of its ends does. */
#ifndef NT_ESTIMATE_ROUTES_H
#define NT_ESTIMATE_ROUTES_H

#include "err.h"
#include "estimate.h"
#include "routes.h"

/* The caller frees *out. NT_ERR_INPUT: no measurement, or more connected unknowns than can be
 * solved. */
int nt_estimate_routes(const struct nt_routes *routes, const struct nt_measured *measured,
                       struct nt_estimate **out, struct nt_err *err);

#endif
