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

/* The sum and the number of the readings between two units. */
struct nt_merge_entry {
    float sum, count;
};

/* Elements from a row of a table of units to the next. Columns of rows whose distance is a power of
 * two share a few places of a cache. */
size_t nt_merges_pitch(uint32_t units);

/* table: units rows of nt_merges_pitch(units), symmetric; destroyed. parent: only units with equal
 * parents are joined; NULL: all can be. merge: room for units. room: working memory, 2 * units
 * elements. Returns the number of merges, ascending by height. */
size_t nt_merges_find(uint32_t units, struct nt_merge_entry *table, const uint32_t *parent,
                      struct nt_merge *merge, uint32_t *room);

/* Writes the clusters after this number of merges to group[units], as numbers below units. */
void nt_merges_cut(const struct nt_merge *merge, size_t merges, uint32_t units, uint32_t *group);

#endif
