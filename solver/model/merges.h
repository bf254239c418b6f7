/* SPDX-License-Identifier: Apache-2.0 */
/* Average linkage of units by their mean distance, within parents (Sokal, Michener, 1958; by
 * chains of nearest neighbours: Murtagh, The Computer Journal 26, 1983).
 * Tests: test_search.c, test_tiers.c. */
#ifndef NT_MERGES_H
#define NT_MERGES_H

#include <stddef.h>
#include <stdint.h>

struct nt_merge {
    uint32_t a, b; /* units that stand for the clusters which join */
    double height;
};

/* sum and count: units * units, symmetric, of the readings between two units; destroyed. parent:
 * units with others are never joined; NULL: all may. merge: room for units. Returns the number of
 * merges, ascending by height. room: 2 * units. */
size_t nt_merges_find(uint32_t units, float *sum, float *count, const uint32_t *parent,
                      struct nt_merge *merge, uint32_t *room);

/* The clusters after the first merges: group[units], numbers under units. */
void nt_merges_cut(const struct nt_merge *merge, size_t merges, uint32_t units, uint32_t *group);

#endif
