/* SPDX-License-Identifier: Apache-2.0 */
#include "merges.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static double distance(const float *sum, const float *count, size_t at)
{
    return count[at] > 0 ? (double)sum[at] / (double)count[at] : (double)INFINITY;
}

/* The nearest live unit of the same parent; UINT32_MAX: none. Ties go to the one before, if it is
 * among them, then to the first. */
static uint32_t nearest(uint32_t units, const float *sum, const float *count,
                        const uint32_t *parent, uint32_t a, uint32_t before, double *height)
{
    uint32_t found = UINT32_MAX;
    *height = (double)INFINITY;
    for (uint32_t b = 0; b < units; b++) {
        if (b == a || count[(size_t)b * units + b] < 0 ||
            (parent != NULL && parent[a] != parent[b]))
            continue;
        double d = distance(sum, count, (size_t)a * units + b);
        if (d < *height || (d <= *height && b == before && isfinite(d))) {
            *height = d;
            found = b;
        }
    }
    return found;
}

static int by_height(const void *x, const void *y)
{
    const struct nt_merge *a = x, *b = y;
    if (a->height != b->height)
        return a->height < b->height ? -1 : 1;
    return a->a != b->a ? (a->a < b->a ? -1 : 1) : (a->b > b->b) - (a->b < b->b);
}

static void join(uint32_t units, float *sum, float *count, uint32_t a, uint32_t b)
{
    for (uint32_t j = 0; j < units; j++) {
        size_t at = (size_t)a * units + j, back = (size_t)j * units + a;
        if (j == a || j == b)
            continue;
        sum[at] = sum[back] = sum[at] + sum[(size_t)b * units + j];
        count[at] = count[back] = count[at] + count[(size_t)b * units + j];
    }
    count[(size_t)b * units + b] = -1; /* no longer there */
}

size_t nt_merges_find(uint32_t units, float *sum, float *count, const uint32_t *parent,
                      struct nt_merge *merge, uint32_t *chain)
{
    size_t merges = 0, length = 0;
    uint32_t next = 0;
    for (uint32_t a = 0; a < units; a++)
        count[(size_t)a * units + a] = 0;
    while (true) {
        while (length == 0 && next < units && count[(size_t)next * units + next] < 0)
            next++;
        if (length == 0 && next >= units)
            break;
        if (length == 0)
            chain[length++] = next;
        double height;
        uint32_t a = chain[length - 1], before = length > 1 ? chain[length - 2] : UINT32_MAX;
        uint32_t b = nearest(units, sum, count, parent, a, before, &height);
        if (b == UINT32_MAX) { /* nothing to join with: finished with it */
            count[(size_t)a * units + a] = -1;
            length--;
        } else if (b == before) {
            uint32_t low = a < b ? a : b, high = a < b ? b : a;
            merge[merges++] = (struct nt_merge){low, high, height};
            join(units, sum, count, low, high);
            length -= 2;
        } else if (length < units) {
            chain[length++] = b;
        } else { /* means of unequal counts may run in a circle: begin again */
            length = 0;
            count[(size_t)a * units + a] = -1;
        }
    }
    qsort(merge, merges, sizeof *merge, by_height);
    return merges;
}

static uint32_t root_of(uint32_t *group, uint32_t a)
{
    while (group[a] != a)
        a = group[a] = group[group[a]];
    return a;
}

void nt_merges_cut(const struct nt_merge *merge, size_t merges, uint32_t units, uint32_t *group)
{
    for (uint32_t a = 0; a < units; a++)
        group[a] = a;
    for (size_t k = 0; k < merges; k++) {
        uint32_t a = root_of(group, merge[k].a), b = root_of(group, merge[k].b);
        group[a > b ? a : b] = a < b ? a : b;
    }
    for (uint32_t a = 0; a < units; a++)
        group[a] = root_of(group, a);
}
