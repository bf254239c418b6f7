/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidths of the links of a tree from the bandwidths of pairs, each measured alone.
 * Tests: test_solve.c. */
#ifndef NT_LINK_BANDWIDTH_H
#define NT_LINK_BANDWIDTH_H

#include <stdbool.h>

#include "err.h"
#include "matrix.h"
#include "model.h"

/* A pair has the smallest bandwidth on its path. So a link, in each direction, has at least the
 * most that a pair through it reached; where it is the narrowest on some pair's path, or as narrow
 * as the narrowest, it has the median of those pairs. Any other is marked at_least. Links without
 * any measured pair stay NaN. bandwidth is over the model's hosts, both directions or one (then
 * taken for both). 1: done; 0: the links are no tree, nothing was set. */
int nt_link_bandwidth(struct nt_model *model, const struct nt_matrix *bandwidth,
                      struct nt_err *err);

/* Bandwidths become lower bounds: of links between switches, which flows shared where all hosts
 * sent at the same time; with hosts, of all. The number of such links. */
size_t nt_link_bandwidth_bound(struct nt_model *model, bool hosts);

#endif
