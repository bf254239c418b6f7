/* SPDX-License-Identifier: Apache-2.0 */
/* Dragonflies (J. Kim, W. Dally, S. Scott, D. Abts, ISCA 2008) from latencies under minimal
 * routing.
 *
 * Routers are the sets of hosts that a tree has on one switch. What their distance exceeds that of
 * two hosts of one router by has one local link between routers of a group, and between groups a
 * global link with a local one before or behind it where the router has none to that group. So the
 * nearest other routers form a graph; its links that share neighbours make the groups, which must
 * be cliques, and between each two groups the nearest routers have the global links. Taken where
 * all pairs of groups are joined and the distances of router pairs are what these links add up to;
 * adaptive routing, or a job with one router a group, does not show that, and the network stays
 * what it was.
 * Tests: test_infer_direct.c. */
#ifndef NT_DRAGONFLY_H
#define NT_DRAGONFLY_H

#include "err.h"
#include "matrix.h"
#include "model.h"

enum { NT_DRAGONFLY_ROUTERS_MAX = 512 };

/* model: one that does not fit the readings: a tree with shortcuts, an irregular graph, or one that
 * is undetermined; any other stays as it is. Replaced by a dragonfly if the readings fit one:
 * dimension[] are groups, routers per group and hosts per router, at most as many as were seen. A
 * failure leaves it. */
int nt_dragonfly_try(const struct nt_matrix *latency, struct nt_model **model, struct nt_err *err);

#endif
