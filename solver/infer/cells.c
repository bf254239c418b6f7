/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"

#include <stdlib.h>
#include <string.h>

static size_t cells_of(size_t clusters)
{
    return clusters > 0 ? clusters * (clusters - 1) / 2 : 0;
}

int nt_cells_append(struct nt_cells *c, size_t clusters, struct nt_err *err)
{
    size_t had = c->clusters, all = had + clusters;
    if (all > NT_CELLS_CLUSTERS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu clusters of hosts in one tier: at most %d", all,
                          (int)NT_CELLS_CLUSTERS_MAX);
    struct nt_cluster *cluster = realloc(c->cluster, (all + 1) * sizeof *cluster);
    if (cluster != NULL)
        c->cluster = cluster;
    float *sum = realloc(c->sum, (cells_of(all) + 1) * sizeof *sum);
    if (sum != NULL)
        c->sum = sum;
    uint8_t *count = realloc(c->count, cells_of(all) + 1);
    if (count != NULL)
        c->count = count;
    if (cluster == NULL || sum == NULL || count == NULL)
        return nt_err_memory(err);
    memset(cluster + had, 0, clusters * sizeof *cluster);
    memset(sum + cells_of(had), 0, (cells_of(all) - cells_of(had)) * sizeof *sum);
    memset(count + cells_of(had), 0, cells_of(all) - cells_of(had));
    for (size_t k = had; k < all; k++)
        cluster[k].origin = UINT32_MAX;
    c->clusters = all;
    return 0;
}

int nt_cells_create(size_t clusters, struct nt_cells **out, struct nt_err *err)
{
    struct nt_cells *c = calloc(1, sizeof *c);
    if (c == NULL)
        return nt_err_memory(err);
    c->planned = SIZE_MAX;
    c->fresh = true;
    if (nt_cells_append(c, clusters, err) < 0) {
        nt_cells_destroy(c);
        return -1;
    }
    *out = c;
    return 0;
}

void nt_cells_destroy(struct nt_cells *c)
{
    if (c == NULL)
        return;
    for (size_t k = 0; k < c->clusters; k++)
        free(c->cluster[k].seat);
    free(c->cluster);
    free(c->sum);
    free(c->count);
    free(c);
}

static void count_up(uint8_t *count, unsigned by)
{
    *count = (uint8_t)(*count + by > UINT8_MAX ? UINT8_MAX : *count + by);
}

void nt_cells_add(struct nt_cells *c, uint32_t a, uint32_t b, double llr)
{
    size_t at = nt_cell_at(a, b);
    c->sum[at] += (float)llr;
    count_up(&c->count[at], 1);
}

void nt_cells_miss(struct nt_cells *c, uint32_t a, uint32_t b)
{
    if (!c->missed)
        count_up(&c->count[nt_cell_at(a, b)], 1);
    c->missed = !c->missed;
}

int64_t nt_cells_merge(struct nt_cells *c, uint32_t a, uint32_t b, struct nt_err *err)
{
    if (c->cluster[a].size < c->cluster[b].size) {
        uint32_t t = a;
        a = b;
        b = t;
    }
    struct nt_cluster *to = &c->cluster[a], *from = &c->cluster[b];
    uint32_t *seat = realloc(to->seat, (to->size + from->size) * sizeof *seat);
    if (seat == NULL)
        return nt_err_memory(err);
    memcpy(seat + to->size, from->seat, from->size * sizeof *seat);
    to->seat = seat;
    to->size += from->size;
    free(from->seat);
    to->open |= from->open;
    to->low = from->low < to->low ? from->low : to->low;
    to->high = from->high > to->high ? from->high : to->high;
    *from = (struct nt_cluster){.merged = true};
    for (uint32_t k = 0; k < c->clusters; k++) {
        if (c->cluster[k].merged || k == a)
            continue;
        c->sum[nt_cell_at(a, k)] += c->sum[nt_cell_at(b, k)];
        count_up(&c->count[nt_cell_at(a, k)], c->count[nt_cell_at(b, k)]);
    }
    return a;
}
