/* SPDX-License-Identifier: Apache-2.0 */
#include "merges.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* In a table of distances, sum is the distance: the mean reading. */

/* The nearest unit that remains, by a row of distances; UINT32_MAX: none. Ties are resolved for the
 * previous unit, if it is among them, then for the first. */
static uint32_t nearest(uint32_t units, const struct nt_merge_entry *row, const uint32_t *gone,
                        uint32_t before)
{
    uint32_t found = UINT32_MAX;
    float least = INFINITY;
    for (uint32_t b = 0; b < units; b++)
        if (row[b].sum < least && !gone[b]) {
            least = row[b].sum;
            found = b;
        }
    return found != UINT32_MAX && before != UINT32_MAX && row[before].sum <= least ? before : found;
}

static int by_height(const void *x, const void *y)
{
    const struct nt_merge *a = x, *b = y;
    return NT_ORDER(a->height, b->height, NT_ORDER(a->a, b->a, NT_ORDER(a->b, b->b, 0)));
}

size_t nt_merges_pitch(uint32_t units)
{
    const size_t line = 64 / sizeof(struct nt_merge_entry);
    return ((units / line + 1) | 1) * line;
}

/* Infinite where there are no readings. */
static void find_distances(uint32_t units, struct nt_merge_entry *table, const uint32_t *parent)
{
    for (uint32_t a = 0; a < units; a++) {
        struct nt_merge_entry *row = table + a * nt_merges_pitch(units);
        for (uint32_t b = 0; b < units; b++) {
            bool any = a != b && row[b].count > 0 && (parent == NULL || parent[a] == parent[b]);
            row[b].sum = any ? row[b].sum / row[b].count : (float)INFINITY;
        }
    }
}

static void join(uint32_t units, struct nt_merge_entry *table, uint32_t *gone, uint32_t a,
                 uint32_t b)
{
    size_t pitch = nt_merges_pitch(units);
    struct nt_merge_entry *at = table + a * pitch, *other = table + b * pitch;
    gone[b] = 1;
    for (uint32_t j = 0; j < units; j++) {
        if (gone[j] || j == a || !isfinite(other[j].sum))
            continue;
        struct nt_merge_entry all = {other[j].sum, at[j].count + other[j].count};
        if (isfinite(at[j].sum))
            all.sum = (at[j].sum * at[j].count + other[j].sum * other[j].count) / all.count;
        at[j] = table[j * pitch + a] = all;
    }
}

size_t nt_merges_find(uint32_t units, struct nt_merge_entry *table, const uint32_t *parent,
                      struct nt_merge *merge, uint32_t *room)
{
    size_t merges = 0, length = 0;
    uint32_t next = 0, *chain = room, *gone = room + units;
    find_distances(units, table, parent);
    memset(gone, 0, units * sizeof *gone);
    while (true) {
        while (length == 0 && next < units && gone[next])
            next++;
        if (length == 0 && next >= units)
            break;
        if (length == 0)
            chain[length++] = next;
        uint32_t a = chain[length - 1], before = length > 1 ? chain[length - 2] : UINT32_MAX;
        const struct nt_merge_entry *row = table + a * nt_merges_pitch(units);
        uint32_t b = nearest(units, row, gone, before);
        if (b == UINT32_MAX) { /* nothing to join with: finished with it */
            gone[a] = 1;
            length--;
        } else if (b == before) {
            uint32_t low = a < b ? a : b, high = a < b ? b : a;
            merge[merges++] = (struct nt_merge){low, high, (double)row[b].sum};
            join(units, table, gone, low, high);
            length -= 2;
        } else if (length < units) {
            chain[length++] = b;
        } else { /* means of unequal counts may run in a circle: begin again */
            length = 0;
            gone[a] = 1;
        }
    }
    qsort(merge, merges, sizeof *merge, by_height);
    return merges;
}

void nt_merges_cut(const struct nt_merge *merge, size_t merges, uint32_t units, uint32_t *group)
{
    nt_sets_init(group, units);
    for (size_t k = 0; k < merges; k++) {
        uint32_t a = nt_sets_find(group, merge[k].a), b = nt_sets_find(group, merge[k].b);
        group[a > b ? a : b] = a < b ? a : b;
    }
    for (uint32_t a = 0; a < units; a++)
        group[a] = nt_sets_find(group, a);
}
