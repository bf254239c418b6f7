/* SPDX-License-Identifier: Apache-2.0 */
/* Scores a graph of switches: ln p(readings, graph). The evidence of all chains of partitions
 * (tiers.h) is on the same scale. Hosts on one switch are a unit. The latency of a pair is the sum
 * of both hosts' ends and of one length for each link on the shortest path between their units:
 *
 *     y_ij = b + h_i + h_j + L hops(i, j) + e_ij
 *
 * with the priors, the noise and the outliers of score.h; L is half normal as a tier's step is. It
 * is integrated by Laplace's method around the given length. One host per unit is a network of
 * hosts that are linked to each other.
 * Tests: test_switch_graph.c. */
#ifndef NT_GRAPH_SCORE_H
#define NT_GRAPH_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "pairs.h"

/* The prior probability that the network is a graph of one of the families, or an irregular one. */
#define NT_GRAPH_PRIOR 0.057
/* Ring, mesh, torus, hypercube, full mesh, irregular, links of some hops, any. */
enum { NT_GRAPH_FAMILIES = 8 };
enum { NT_GRAPH_HOPS_MAX = 16 }; /* of a pair of units, where any are possible */

struct nt_switch_graph {
    uint32_t units;
    const uint32_t *unit; /* hosts of the caller; UINT32_MAX: without readings */
    const uint16_t *hops; /* units * units; 0 between two units: not known */
    double link_us;       /* length of a link */
    size_t links;
    bool regular; /* of a family: the order of the units is all that there is to choose */
    bool any;     /* of none: the pairs have hops of their own, whatever makes them */
};

/* ln of the odds of one switch against the network of any hops (any, one host per unit), if the
 * levels of the readings are no hops: paths inside differ so, or, where nothing shows the noise,
 * its distribution is any, and the levels are its histogram. sd_us: of readings around the levels.
 */
double nt_graph_levels_odds(const struct nt_switch_graph *graph, const struct nt_pairs *readings,
                            double sd_us);

int nt_graph_score(const struct nt_switch_graph *graph, const struct nt_pairs *readings,
                   double *score, struct nt_err *err);

#endif
