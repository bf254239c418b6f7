/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of a model as nested groups, near ones together: what constructive placement divides
 * tasks over. A tree's groups are its switches. Another network's are made by halving: hosts are
 * ordered between two far ends and cut in the middle.
 *
 * Scotch's own mapping costs up to 14 % more on trees when it knows the tree (SCOTCH_archTleaf,
 * tests/bench place), and more without. On direct networks it is better, and used there
 * (scotch_split.h).
 *
 * A first placement divides tasks over the hierarchy from the top, so that the far links are cut
 * first and seldom.
 * Tests: test_place.c, test_supported_tree.c. */
#ifndef NT_HIERARCHY_H
#define NT_HIERARCHY_H

#include <stddef.h>
#include <stdint.h>

#include "distance.h"
#include "err.h"
#include "traffic.h"

struct nt_group {
    uint32_t first_child, children; /* child groups stand together; 0 children: a host */
    uint32_t host;                  /* of a group without children */
    uint64_t capacity;              /* tasks that fit below */
    uint64_t form;                  /* the same for groups of the same shape and capacities */
    uint32_t smallest;              /* host below */
};

struct nt_hierarchy {
    size_t groups;
    struct nt_group *group; /* group 0 holds everything */
};

/* Hosts of capacity 0 are left out. Children are ordered by capacity, the largest first, then by
 * form, so that the hosts' numbers decide nothing but which of two that are alike comes first;
 * there it is the one with the smallest host, so that a depth-first walk keeps natural order. */
int nt_hierarchy_create(const struct nt_distance *distance, const uint32_t *capacity,
                        struct nt_hierarchy **out, struct nt_err *err);
/* rank[h]: the place of host h in a depth-first walk; hosts that are left out come last. hosts of
 * them. */
void nt_hierarchy_rank(const struct nt_hierarchy *hierarchy, uint32_t *rank, size_t hosts);
void nt_hierarchy_destroy(struct nt_hierarchy *hierarchy);

enum nt_split_rule {
    NT_SPLIT_BY_RANK,  /* consecutive ranks stay together: rings, chains, recursive doubling */
    NT_SPLIT_BY_GRID,  /* stencils: boxes, cut across their longest side */
    NT_SPLIT_BY_GRAPH, /* whatever is cut least, by Scotch */
};

/* Fills rank_host (traffic->tasks of them). The hierarchy must hold the tasks. */
int nt_construct(const struct nt_hierarchy *hierarchy, const struct nt_traffic *traffic,
                 enum nt_split_rule rule, uint64_t seed, uint32_t *rank_host, struct nt_err *err);

#endif
