/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of a model as nested groups of near hosts, over which constructive placement divides
 * tasks. The groups of a tree are its switches. The groups of another network are made by halving:
 * hosts are ordered between two distant ends and divided in the middle.
 *
 * Scotch's own mapping costs up to 14 % more on trees if it gets the tree (SCOTCH_archTleaf,
 * tests/bench place), and more without it. On direct networks it is better, and is used there
 * (scotch_split.h). A first placement divides tasks over the hierarchy from the root, so that
 * little traffic uses distant links.
 * Tests: test_place.c, test_supported_tree.c. */
#ifndef NT_HIERARCHY_H
#define NT_HIERARCHY_H

#include <stddef.h>
#include <stdint.h>

#include "distance.h"
#include "err.h"
#include "traffic.h"

struct nt_group {
    uint32_t first_child, children; /* child groups are consecutive; 0 children: a host */
    uint32_t host;                  /* host of a group without children */
    uint64_t capacity;              /* number of tasks that fit below */
    uint64_t form;                  /* equal for groups with the same shape and capacities */
    uint32_t smallest;              /* smallest index of a host below */
};

struct nt_hierarchy {
    size_t groups;
    struct nt_group *group; /* group 0 contains all hosts */
};

/* Creates the hierarchy. Hosts with capacity 0 are omitted. Children are ordered by capacity,
 * largest first, then by form, then by their smallest host. So the indices of hosts only decide
 * between equivalent groups, and a depth-first walk keeps the natural order. */
int nt_hierarchy_create(const struct nt_distance *distance, const uint32_t *capacity,
                        struct nt_hierarchy **out, struct nt_err *err);
/* Sets rank[h] to the position of host h (of hosts hosts) in a depth-first walk; omitted hosts are
 * last. */
void nt_hierarchy_rank(const struct nt_hierarchy *hierarchy, uint32_t *rank, size_t hosts);
void nt_hierarchy_destroy(struct nt_hierarchy *hierarchy);

enum nt_split_rule {
    NT_SPLIT_BY_RANK,  /* keep consecutive ranks together: rings, chains, recursive doubling */
    NT_SPLIT_BY_GRID,  /* stencils: boxes, cut across their longest side */
    NT_SPLIT_BY_GRAPH, /* minimize the divided traffic, by Scotch */
};

/* Sets rank_host for all traffic->tasks ranks. The hierarchy must have room for the tasks. */
int nt_construct(const struct nt_hierarchy *hierarchy, const struct nt_traffic *traffic,
                 enum nt_split_rule rule, uint64_t seed, uint32_t *rank_host, struct nt_err *err);

#endif
