/* SPDX-License-Identifier: Apache-2.0 */
#include "merges.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* The nearest unit that remains, by a row of distances; UINT32_MAX: none. Ties are resolved for the
 * previous unit, if it is among them, then for the first. */
static uint32_t nearest(uint32_t units, const float *row, const uint32_t *gone, uint32_t before)
{
    uint32_t found = UINT32_MAX;
    float least = INFINITY;
    for (uint32_t b = 0; b < units; b++)
        if (row[b] < least && !gone[b]) {
            least = row[b];
            found = b;
        }
    return found != UINT32_MAX && before != UINT32_MAX && row[before] <= least ? before : found;
}

static int by_height(const void *x, const void *y)
{
    const struct nt_merge *a = x, *b = y;
    return NT_ORDER(a->height, b->height, NT_ORDER(a->a, b->a, NT_ORDER(a->b, b->b, 0)));
}

/* sum becomes the distances of units: mean readings, infinite where there are none. */
static void find_distances(uint32_t units, float *sum, const float *count, const uint32_t *parent)
{
    for (uint32_t a = 0; a < units; a++)
        for (uint32_t b = 0; b < units; b++) {
            size_t at = (size_t)a * units + b;
            bool any = a != b && count[at] > 0 && (parent == NULL || parent[a] == parent[b]);
            sum[at] = any ? sum[at] / count[at] : (float)INFINITY;
        }
}

static void join(uint32_t units, float *distance, float *count, uint32_t *gone, uint32_t a,
                 uint32_t b)
{
    gone[b] = 1;
    for (uint32_t j = 0; j < units; j++) {
        size_t at = (size_t)a * units + j, other = (size_t)b * units + j;
        if (gone[j] || j == a || !isfinite(distance[other]))
            continue;
        float all = count[at] + count[other], mean = distance[other];
        if (isfinite(distance[at]))
            mean = (distance[at] * count[at] + distance[other] * count[other]) / all;
        distance[at] = distance[(size_t)j * units + a] = mean;
        count[at] = count[(size_t)j * units + a] = all;
    }
}

size_t nt_merges_find(uint32_t units, float *sum, float *count, const uint32_t *parent,
                      struct nt_merge *merge, uint32_t *room)
{
    size_t merges = 0, length = 0;
    uint32_t next = 0, *chain = room, *gone = room + units;
    find_distances(units, sum, count, parent);
    memset(gone, 0, units * sizeof *gone);
    while (true) {
        while (length == 0 && next < units && gone[next])
            next++;
        if (length == 0 && next >= units)
            break;
        if (length == 0)
            chain[length++] = next;
        uint32_t a = chain[length - 1], before = length > 1 ? chain[length - 2] : UINT32_MAX;
        uint32_t b = nearest(units, sum + (size_t)a * units, gone, before);
        if (b == UINT32_MAX) { /* nothing to join with: finished with it */
            gone[a] = 1;
            length--;
        } else if (b == before) {
            uint32_t low = a < b ? a : b, high = a < b ? b : a;
            merge[merges++] = (struct nt_merge){low, high, (double)sum[(size_t)a * units + b]};
            join(units, sum, count, gone, low, high);
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
