/* SPDX-License-Identifier: Apache-2.0 */
/* A first placement: tasks divided over the hierarchy from the top, so that the far links are cut
 * first and seldom.
 * Tests: test_supported_tree.c. */
#ifndef NT_CONSTRUCT_H
#define NT_CONSTRUCT_H

#include "hierarchy.h"
#include "traffic.h"

enum nt_split_rule {
    NT_SPLIT_BY_RANK,  /* consecutive ranks stay together: rings, chains, recursive doubling */
    NT_SPLIT_BY_GRID,  /* stencils: boxes, cut across their longest side */
    NT_SPLIT_BY_GRAPH, /* whatever is cut least, by Scotch */
};

/* Fills rank_host (traffic->tasks of them). The hierarchy must hold the tasks. */
int nt_construct(const struct nt_hierarchy *hierarchy, const struct nt_traffic *traffic,
                 enum nt_split_rule rule, uint64_t seed, uint32_t *rank_host, struct nt_err *err);

#endif
