/* SPDX-License-Identifier: Apache-2.0 */
/* Average linkage of units by their mean distance, optionally within parents (Sokal, Michener,
 * 1958; by chains of nearest neighbours: Murtagh, The Computer Journal 26, 1983).
 * Tests: test_search.c, test_tiers.c. */
#ifndef NT_MERGES_H
#define NT_MERGES_H

#include <stddef.h>
#include <stdint.h>

struct nt_merge {
    uint32_t a, b; /* the units that represent the two joining clusters */
    double height;
};

/* sum, count: units * units, symmetric, of the readings between two units; destroyed. parent: only
 * units with equal parents are joined; NULL: all can be. merge: room for units. room: working
 * memory, 2 * units elements. Returns the number of merges, ascending by height. */
size_t nt_merges_find(uint32_t units, float *sum, float *count, const uint32_t *parent,
                      struct nt_merge *merge, uint32_t *room);

/* Writes the clusters after this number of merges to group[units], as numbers below units. */
void nt_merges_cut(const struct nt_merge *merge, size_t merges, uint32_t units, uint32_t *group);

#endif
