/* SPDX-License-Identifier: Apache-2.0 */
/* A network from bandwidths of pairs alone, where they show one.
 * Tests: test_solve_rates.c. */
#ifndef NT_SOLVE_RATES_H
#define NT_SOLVE_RATES_H

#include <stdint.h>

#include "err.h"
#include "map.h"
#include "matrix.h"
#include "model.h"

/* A pair gets what the narrowest link on its way has, so the times of a byte between hosts form an
 * ultrametric where links get narrower, to a flow alone, towards the top: they are inferred as
 * latencies are (nt_infer_latency), and the figures dropped. Links have no latency then.
 *
 * *out: a tree of the groups of hosts that have more bandwidth among themselves than with others;
 * family undetermined, without links, where there are none: a network whose upper links are wide
 * enough shows nothing. A host that gets from nobody more than others get across groups may be
 * anywhere: with one no group is stated as more than half certain. */
int nt_solve_rates(const struct nt_matrix *bandwidth, uint64_t seed, struct nt_model **out,
                   struct nt_err *err);

/* What such a map cannot show, and the hosts whose every pair is narrower than is usual. bandwidth:
 * in the order of the map's hosts. */
int nt_solve_rates_warn(struct nt_map *map, const struct nt_matrix *bandwidth, struct nt_err *err);

#endif
