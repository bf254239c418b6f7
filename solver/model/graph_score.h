/* SPDX-License-Identifier: Apache-2.0 */
/* Scores a graph of switches: ln p(readings, graph), on the same scale as the evidence of all
 * chains of partitions (tiers.h). The hosts on one switch are a unit. The latency of a pair is the
 * sum of both hosts' ends and of one length per link on the shortest path between their units:
 *
 *     y_ij = b + h_i + h_j + L hops(i, j) + e_ij
 *
 * with the priors, the noise and the outliers of score.h. L is half normal, like the length of a
 * tier, and integrated by Laplace's method around the given length. With one host per unit, the
 * graph is a network of hosts that are linked to each other.
 * Tests: test_switch_graph.c. */
#ifndef NT_GRAPH_SCORE_H
#define NT_GRAPH_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "pairs.h"

/* The prior probability that the network is a graph of one of the families, or an irregular one. */
#define NT_GRAPH_PRIOR 0.057
/* Ring, mesh, torus, hypercube, full mesh, irregular, links of some hops, any hops. */
enum { NT_GRAPH_FAMILIES = 8 };
enum { NT_GRAPH_HOPS_MAX = 16 }; /* hops of a pair of units, if any number is allowed */

struct nt_switch_graph {
    uint32_t units;
    const uint32_t *unit; /* per host of the caller; UINT32_MAX: no readings */
    const uint16_t *hops; /* units * units; 0 between two units: unknown */
    double link_us;       /* length of a link */
    size_t links;
    bool regular; /* the graph belongs to a family, so that only the order of the units is free */
    bool any;     /* the pairs have any hops, without a graph */
};

/* ln of the odds of one switch against the network of any hops (any set, one host per unit), if the
 * levels of the readings are no hops. Either paths inside the switch differ by these levels, or, if
 * the noise is unknown, its distribution has these levels as its histogram. sd_us: of readings
 * around the levels. */
double nt_graph_levels_odds(const struct nt_switch_graph *graph, const struct nt_pairs *readings,
                            double sd_us);

/* If a screen finds that a score is below least by more than 1 per host, *score is the screen's
 * value. least: -INFINITY for none. */
int nt_graph_score(const struct nt_switch_graph *graph, const struct nt_pairs *readings,
                   double least, double *score, struct nt_err *err);

#endif
