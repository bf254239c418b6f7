/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies and bandwidths of the links of a tree that is known.
 * Tests: test_solve.c, test_link_latency_plan.c, test_solve.c. */
#ifndef NT_LINK_FIGURES_H
#define NT_LINK_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"
#include "samples.h"

/* The equations' inverse is a matrix of the links: of more links than the first they are left
 * alone. Over more than the second they take longer than a budget leaves for solving. */
enum { NT_LINK_LATENCY_LINKS_MAX = 4096, NT_LINK_LATENCY_LINKS_SOON = 1200 };

/* Latencies by robust least squares over the paths of measured pairs (infer/estimate_routes.h), as
 * from the rounds that are planned for it (plan/link_latency_plan.h). Takes the readings of those
 * phases (names, NULL behind the last) and sets latency_us and latency_se_us of every link. lowest:
 * of several readings of a pair only the lowest counts, else all do. vertex[h]: the model's host of
 * the samples' host h. 1: done; 0: nothing was changed: no such phase, no tree, too many links, a
 * link that comes out at no latency, or cut off before every link could be told apart. */
int nt_link_latency(const struct nt_samples *samples, const uint32_t *vertex,
                    const char *const *phase, bool lowest, struct nt_model *model,
                    struct nt_err *err);

/* Bandwidths from those of pairs, each measured alone. A pair has the smallest bandwidth on its
 * path. So a link, in each direction, has at least the most that a pair through it reached; where
 * it is the narrowest on some pair's path, or as narrow as the narrowest, it has the median of
 * those pairs. Any other is marked at_least. Links without any measured pair stay NaN. bandwidth is
 * over the model's hosts, both directions or one (then taken for both). 1: done; 0: the links are
 * no tree, nothing was set. */
int nt_link_bandwidth(struct nt_model *model, const struct nt_matrix *bandwidth,
                      struct nt_err *err);

/* Bandwidths become lower bounds: of links between switches, which flows shared where all hosts
 * sent at the same time; with hosts, of all. The number of such links. */
size_t nt_link_bandwidth_bound(struct nt_model *model, bool hosts);

#endif
