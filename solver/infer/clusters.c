/* SPDX-License-Identifier: Apache-2.0 */
#include "clusters.h"

#include <stdbool.h>
#include <stdlib.h>

int nt_clusters_init(struct nt_clusters *c, size_t seats, size_t levels, struct nt_err *err)
{
    bool allocated = true;
    *c = (struct nt_clusters){.seats = seats, .levels = levels};
    for (size_t l = 0; l < levels; l++)
        allocated &= (c->up[l] = calloc(seats + 1, sizeof *c->up[l])) != NULL;
    if (!allocated) {
        nt_clusters_fini(c);
        return nt_err_memory(err);
    }
    for (size_t l = 0; l + 1 < levels; l++)
        for (uint32_t i = 0; i < seats; i++)
            c->up[l][i] = i;
    return 0;
}

void nt_clusters_fini(struct nt_clusters *c)
{
    for (size_t l = 0; l < NT_CLASSES_MAX; l++)
        free(c->up[l]);
    *c = (struct nt_clusters){0};
}

uint32_t nt_clusters_find(const struct nt_clusters *c, size_t level, uint32_t seat)
{
    uint32_t *up = c->up[level];
    while (up[seat] != seat) {
        up[seat] = up[up[seat]];
        seat = up[seat];
    }
    return seat;
}

void nt_clusters_unite(struct nt_clusters *c, size_t level, uint32_t a, uint32_t b)
{
    for (size_t l = level; l < c->levels; l++) {
        uint32_t x = nt_clusters_find(c, l, a), y = nt_clusters_find(c, l, b);
        if (x < y)
            c->up[l][y] = x;
        else if (y < x)
            c->up[l][x] = y;
    }
}

size_t nt_clusters_meet(const struct nt_clusters *c, uint32_t a, uint32_t b)
{
    size_t l = 0;
    while (l + 1 < c->levels && nt_clusters_find(c, l, a) != nt_clusters_find(c, l, b))
        l++;
    return l;
}
