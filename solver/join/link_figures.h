/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies and bandwidths of the links of a known tree.
 * Tests: test_solve.c, test_link_latency_plan.c. */
#ifndef NT_LINK_FIGURES_H
#define NT_LINK_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"
#include "samples.h"

/* Limits of the number of links, since the inverse of the equations has links * links elements.
 * Trees with more links than the first are not solved. With more links than the second, solving
 * takes longer than a budget allows. */
enum { NT_LINK_LATENCY_LINKS_MAX = 4096, NT_LINK_LATENCY_LINKS_SOON = 1200 };

/* Sets latency_us and latency_se_us of every link by robust least squares over the paths of
 * measured pairs (infer/estimate_routes.h), from the phases that were planned for it
 * (plan/link_latency_plan.h). phase: names of these phases, NULL after the last. lowest: use only
 * the lowest of several readings of a pair. vertex[h]: the host of the model for host h of the
 * samples. 1: done; 0: nothing changed, because there is no such phase, the model is not a tree or
 * has too many links, a link would have no latency, the phase ended before every link was
 * determined, or, without lowest, the model's standard errors are smaller. */
int nt_link_latency(const struct nt_samples *samples, const uint32_t *vertex,
                    const char *const *phase, bool lowest, struct nt_model *model,
                    struct nt_err *err);

/* Sets the bandwidths of links from the bandwidths of pairs, each measured alone. A pair has the
 * smallest bandwidth on its path. So a link, in each direction, has at least the largest bandwidth
 * of a pair through it. If it is the narrowest link on the path of some pairs, or equally narrow,
 * it has the median of these pairs; else it is marked at_least. Links without a measured pair have
 * NaN. bandwidth: over the hosts of the model, both directions, or one that is used for both. 1:
 * done; 0: the links are not a tree, and nothing changed. */
int nt_link_bandwidth(struct nt_model *model, const struct nt_matrix *bandwidth,
                      struct nt_err *err);

/* Marks bandwidths as lower bounds: those of links between switches, which flows shared if all
 * hosts sent at the same time; with hosts, of all links. Returns the number of these links. */
size_t nt_link_bandwidth_bound(struct nt_model *model, bool hosts);

#endif
