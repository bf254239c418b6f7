/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

enum { BLOCK = 256 };

static int add_slot(struct nt_clustering *m, struct nt_cells *cells, uint32_t *slot,
                    struct nt_err *err)
{
    if (m->slots == m->capacity) {
        size_t capacity = m->capacity > 0 ? 2 * m->capacity : 64;
        struct nt_cells **block = realloc(m->block, capacity * sizeof(struct nt_cells *));
        if (block == NULL)
            return nt_err_memory(err);
        m->block = block;
        m->capacity = capacity;
    }
    *slot = (uint32_t)m->slots;
    m->block[m->slots++] = cells;
    return 0;
}

/* Where the clusters of a block are. */
static void note_clusters(struct nt_clustering *m, uint32_t slot)
{
    const struct nt_cells *c = m->block[slot];
    for (uint32_t k = 0; k < c->clusters; k++) {
        if (c->cluster[k].merged || c->cluster[k].size == 0)
            continue;
        uint32_t root = nt_clusters_find(&m->clusters, c->level, c->cluster[k].seat[0]);
        m->block_of[c->level][root] = slot;
        m->place_of[c->level][root] = k;
    }
}

static int add_seat(struct nt_cluster *k, uint32_t seat, struct nt_err *err)
{
    uint32_t *grown = realloc(k->seat, ((size_t)k->size + 1) * sizeof *grown);
    if (grown == NULL)
        return nt_err_memory(err);
    k->seat = grown;
    k->low = k->size == 0 || seat < k->low ? seat : k->low;
    k->high = k->size == 0 || seat > k->high ? seat : k->high;
    k->seat[k->size++] = seat;
    return 0;
}

/* ---- cutting ----------------------------------------------------------------------------------
 */

/* Numbers the clusters among sorted seats in place_of, by their first seat; returns how many. */
static size_t number_clusters(struct nt_clustering *m, size_t level, const uint32_t *seat, size_t n)
{
    size_t roots = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t root = nt_clusters_find(&m->clusters, level, seat[i]);
        if (root == seat[i]) /* the smallest is met first, and is among them */
            m->place_of[level][root] = (uint32_t)roots++;
    }
    return roots;
}

static int make_blocks(struct nt_clustering *m, size_t level, size_t clusters, size_t blocks,
                       uint32_t *first, struct nt_err *err)
{
    for (size_t b = 0; b < blocks; b++) {
        struct nt_cells *c;
        uint32_t slot = 0;
        if (nt_cells_create(clusters * (b + 1) / blocks - clusters * b / blocks, &c, err) < 0)
            return -1;
        c->level = level;
        c->group = m->groups;
        c->last = blocks == 1;
        if (add_slot(m, c, &slot, err) < 0) {
            nt_cells_destroy(c);
            return -1;
        }
        if (b == 0)
            *first = slot;
    }
    m->groups++;
    return 0;
}

/* seat is sorted. */
static int cut_into_blocks(struct nt_clustering *m, size_t level, const uint32_t *seat, size_t n,
                           struct nt_err *err)
{
    size_t clusters = number_clusters(m, level, seat, n), blocks = (clusters + BLOCK - 1) / BLOCK;
    uint32_t first = 0;
    if (make_blocks(m, level, clusters, blocks, &first, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        size_t k = m->place_of[level][nt_clusters_find(&m->clusters, level, seat[i])];
        size_t b = (k * blocks + blocks - 1) / clusters; /* clusters*b/blocks <= k */
        while (clusters * b / blocks > k)
            b--;
        struct nt_cells *c = m->block[first + b];
        if (add_seat(&c->cluster[k - clusters * b / blocks], seat[i], err) < 0)
            return -1;
    }
    for (size_t b = 0; b < blocks; b++)
        note_clusters(m, first + (uint32_t)b);
    return 0;
}

int nt_blocks_open(struct nt_clustering *m, size_t level, const uint32_t *seat, size_t n,
                   struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *sorted = nt_arena_array(&memory, n + 1, sizeof *sorted);
    int rc = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memcpy(sorted, seat, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, nt_compare_u32);
    while (level-- > 0) {
        uint32_t root = nt_clusters_find(&m->clusters, level, sorted[0]);
        bool one = true;
        for (size_t i = 1; i < n && one; i++)
            one = nt_clusters_find(&m->clusters, level, sorted[i]) == root;
        if (one)
            continue;
        rc = cut_into_blocks(m, level, sorted, n, err);
        break;
    }
    return rc;
}

/* ---- clusters that are added ------------------------------------------------------------------
 */

/* Adds the seats' clusters behind those of the block. */
static int append_clusters(struct nt_clustering *m, uint32_t slot, const uint32_t *seat, size_t n,
                           struct nt_err *err)
{
    struct nt_cells *c = m->block[slot];
    for (size_t i = 0; i < n; i++) {
        uint32_t root = nt_clusters_find(&m->clusters, c->level, seat[i]);
        if (m->block_of[c->level][root] == NT_BLOCK_NONE) {
            if (nt_cells_append(c, 1, err) < 0)
                return -1;
            m->block_of[c->level][root] = slot;
            m->place_of[c->level][root] = (uint32_t)c->clusters - 1;
        }
        if (add_seat(&c->cluster[m->place_of[c->level][root]], seat[i], err) < 0)
            return -1;
    }
    c->fresh = true;
    c->done = false;
    return 0;
}

/* The cluster was one down to this level: a block of it and the seats' clusters. */
static int make_pair(struct nt_clustering *m, size_t level, uint32_t old, const uint32_t *seat,
                     size_t n, struct nt_err *err)
{
    uint32_t slot = 0, root = nt_clusters_find(&m->clusters, level, old);
    if (make_blocks(m, level, 1, 1, &slot, err) < 0)
        return -1;
    struct nt_cluster *k = &m->block[slot]->cluster[0];
    for (uint32_t i = 0; i < m->seats; i++)
        if (nt_clusters_find(&m->clusters, level, i) == root && add_seat(k, i, err) < 0)
            return -1;
    k->open = true;
    note_clusters(m, slot);
    return append_clusters(m, slot, seat, n, err);
}

int nt_blocks_introduce(struct nt_clustering *m, size_t level, uint32_t old, const uint32_t *seat,
                        size_t n, struct nt_err *err)
{
    while (level-- > 0) {
        uint32_t root = nt_clusters_find(&m->clusters, level, old);
        uint32_t slot = m->block_of[level][root];
        if (slot != NT_BLOCK_NONE)
            return append_clusters(m, slot, seat, n, err);
        bool one = true;
        for (size_t i = 0; i < n && one; i++)
            one = nt_clusters_find(&m->clusters, level, seat[i]) == root;
        if (!one)
            return make_pair(m, level, old, seat, n, err);
    }
    return 0;
}

/* ---- joining ----------------------------------------------------------------------------------
 */

size_t nt_blocks_clusters(const struct nt_cells *c)
{
    size_t n = 0;
    for (size_t k = 0; k < c->clusters; k++)
        n += !c->cluster[k].merged;
    return n;
}

/* Moves the clusters of one block behind those of another, with the cells between them. */
static void append_cells(struct nt_cells *to, uint32_t *at, struct nt_cells *from, uint32_t *place)
{
    for (uint32_t a = 0; a < from->clusters; a++) {
        place[a] = NT_BLOCK_NONE;
        if (from->cluster[a].merged)
            continue;
        place[a] = (*at)++;
        to->cluster[place[a]] = from->cluster[a];
        from->cluster[a] = (struct nt_cluster){.merged = true};
    }
    for (uint32_t a = 1; a < from->clusters; a++)
        for (uint32_t b = 0; b < a; b++)
            if (place[a] != NT_BLOCK_NONE && place[b] != NT_BLOCK_NONE) {
                to->sum[nt_cell_at(place[a], place[b])] = from->sum[nt_cell_at(a, b)];
                to->count[nt_cell_at(place[a], place[b])] = from->count[nt_cell_at(a, b)];
            }
}

int nt_blocks_join(struct nt_clustering *m, const uint32_t *slot, size_t n, struct nt_err *err)
{
    size_t clusters = 0, most = 0;
    struct nt_cells *joined, *first = m->block[slot[0]];
    for (size_t k = 0; k < n; k++) {
        clusters += nt_blocks_clusters(m->block[slot[k]]);
        most = most > m->block[slot[k]]->clusters ? most : m->block[slot[k]]->clusters;
    }
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *place = nt_arena_array(&memory, most + 1, sizeof *place), at = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (nt_cells_create(clusters, &joined, err) < 0)
        return -1;
    joined->level = first->level;
    joined->group = first->group;
    for (size_t k = 0; k < n; k++) {
        append_cells(joined, &at, m->block[slot[k]], place);
        nt_cells_destroy(m->block[slot[k]]);
        m->block[slot[k]] = NULL;
    }
    m->block[slot[0]] = joined;
    note_clusters(m, slot[0]);
    return 0;
}
