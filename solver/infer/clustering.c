/* SPDX-License-Identifier: Apache-2.0 */
#include "clustering.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

/* ---- nested clusters ---- */

int nt_clusters_init(struct nt_clusters *c, size_t seats, size_t levels, struct nt_err *err)
{
    *c = (struct nt_clusters){.seats = seats, .levels = levels};
    for (size_t l = 0; l < levels; l++)
        c->up[l] = nt_arena_array(&c->memory, seats + 1, sizeof *c->up[l]);
    if (nt_arena_check(&c->memory, err) != 0) {
        nt_clusters_fini(c);
        return -1;
    }
    for (size_t l = 0; l + 1 < levels; l++)
        for (uint32_t i = 0; i < seats; i++)
            c->up[l][i] = i;
    return 0;
}

void nt_clusters_fini(struct nt_clusters *c)
{
    nt_arena_fini(&c->memory);
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

/* ---- cells ---- */

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

void nt_cells_count_failure(struct nt_cells *c, uint32_t a, uint32_t b)
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

/* ---- blocks ---- */

enum { BLOCK_NONE = UINT32_MAX, BLOCK = 256 };

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

/* ---- cutting ---- */

/* Whether all these seats are in one cluster. */
static bool are_one(const struct nt_clustering *m, size_t level, uint32_t root,
                    const uint32_t *seat, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (nt_clusters_find(&m->clusters, level, seat[i]) != root)
            return false;
    return true;
}

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

/* Makes blocks for the inside of a cluster of level with these seats: at the next lower level that
 * divides it. */
static int open_blocks(struct nt_clustering *m, size_t level, const uint32_t *seat, size_t n,
                       struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *sorted = nt_arena_array(&memory, n + 1, sizeof *sorted);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memcpy(sorted, seat, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, nt_compare_u32);
    while (level-- > 0)
        if (!are_one(m, level, nt_clusters_find(&m->clusters, level, sorted[0]), sorted, n))
            return cut_into_blocks(m, level, sorted, n, err);
    return 0;
}

/* ---- clusters that are added ---- */

/* Adds the clusters of the seats at the end of the block. */
static int append_clusters(struct nt_clustering *m, uint32_t slot, const uint32_t *seat, size_t n,
                           struct nt_err *err)
{
    struct nt_cells *c = m->block[slot];
    for (size_t i = 0; i < n; i++) {
        uint32_t root = nt_clusters_find(&m->clusters, c->level, seat[i]);
        if (m->block_of[c->level][root] == BLOCK_NONE) {
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

/* These seats joined the opened cluster of level that contains old: adds their clusters to its
 * block. */
static int introduce_seats(struct nt_clustering *m, size_t level, uint32_t old,
                           const uint32_t *seat, size_t n, struct nt_err *err)
{
    while (level-- > 0) {
        uint32_t root = nt_clusters_find(&m->clusters, level, old);
        uint32_t slot = m->block_of[level][root];
        if (slot != BLOCK_NONE)
            return append_clusters(m, slot, seat, n, err);
        if (!are_one(m, level, root, seat, n))
            return make_pair(m, level, old, seat, n, err);
    }
    return 0;
}

/* ---- joining ---- */

static size_t count_clusters(const struct nt_cells *c)
{
    size_t n = 0;
    for (size_t k = 0; k < c->clusters; k++)
        n += !c->cluster[k].merged;
    return n;
}

/* Moves the clusters of one block to the end of another, with the cells between them. */
static void append_cells(struct nt_cells *to, uint32_t *at, struct nt_cells *from, uint32_t *place)
{
    for (uint32_t a = 0; a < from->clusters; a++) {
        place[a] = BLOCK_NONE;
        if (from->cluster[a].merged)
            continue;
        place[a] = (*at)++;
        to->cluster[place[a]] = from->cluster[a];
        from->cluster[a] = (struct nt_cluster){.merged = true};
    }
    for (uint32_t a = 1; a < from->clusters; a++)
        for (uint32_t b = 0; b < a; b++)
            if (place[a] != BLOCK_NONE && place[b] != BLOCK_NONE) {
                to->sum[nt_cell_at(place[a], place[b])] = from->sum[nt_cell_at(a, b)];
                to->count[nt_cell_at(place[a], place[b])] = from->count[nt_cell_at(a, b)];
            }
}

/* One block of several of a group, in the slot of the first. */
static int join_blocks(struct nt_clustering *m, const uint32_t *slot, size_t n, struct nt_err *err)
{
    size_t clusters = 0, most = 0;
    struct nt_cells *joined, *first = m->block[slot[0]];
    for (size_t k = 0; k < n; k++) {
        clusters += count_clusters(m->block[slot[k]]);
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

enum { JOIN = 8, MOSTLY = 50, STRAGGLER = 2, SOLID = 8 };

static const double RISK = 1e-4; /* of any wrong merge in a sweep */
static const double TESTS_A_HOST = 60;
static const double RECALL_SAME = 0.8, RECALL_CERTAIN = 0.6; /* of the limits */

/* ---- merging ---- */

/* Merges two clusters of a block; the block inside an opened cluster takes the other's hosts. */
static int unite_cells(struct nt_clustering *m, uint32_t slot, uint32_t a, uint32_t b,
                       uint32_t *stays, struct nt_err *err)
{
    struct nt_cells *c = m->block[slot];
    const struct nt_cluster *old = &c->cluster[c->cluster[b].open ? b : a];
    const struct nt_cluster *late = &c->cluster[c->cluster[b].open ? a : b];
    uint32_t seat = old->seat[0], other = late->seat[0], n = late->size;
    NT_SCOPED struct nt_arena memory = {0};
    bool inside = old->open && !late->open;
    uint32_t *seats = inside ? nt_arena_array(&memory, n, sizeof *seats) : NULL;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (inside)
        memcpy(seats, late->seat, n * sizeof *seats);
    int64_t left = nt_cells_merge(c, a, b, err);
    if (left < 0)
        return -1;
    *stays = (uint32_t)left;
    nt_clusters_unite(&m->clusters, c->level, seat, other);
    uint32_t root = nt_clusters_find(&m->clusters, c->level, seat);
    m->block_of[c->level][root] = slot;
    m->place_of[c->level][root] = *stays;
    return inside ? introduce_seats(m, c->level, seat, seats, n, err) : 0;
}

static bool is_one(const struct nt_clustering *m, const struct nt_cells *c, uint32_t a, uint32_t b)
{
    return a != b && !c->cluster[a].merged && !c->cluster[b].merged &&
           (double)c->sum[nt_cell_at(a, b)] > m->limits.same &&
           !(c->cluster[a].open &&
             c->cluster[b].open); /* two opened clusters were certainly different */
}

/* Merges two clusters, and then all clusters whose evidence now suffices. */
static int merge_cells(struct nt_clustering *m, uint32_t slot, uint32_t a, uint32_t b,
                       struct nt_err *err)
{
    struct nt_cells *c = m->block[slot];
    for (bool more = true; more;) {
        if (unite_cells(m, slot, a, b, &a, err) < 0)
            return -1;
        more = false;
        for (b = 0; b < c->clusters && !more; b++)
            more = is_one(m, c, a, b);
        b -= more;
    }
    return 0;
}

static int settle_block(struct nt_clustering *m, uint32_t slot, struct nt_err *err)
{
    struct nt_cells *c = m->block[slot];
    for (uint32_t a = 1; a < c->clusters; a++)
        for (uint32_t b = 0; b < a; b++)
            if (is_one(m, c, a, b)) {
                if (merge_cells(m, slot, a, b, err) < 0)
                    return -1;
                b = 0; /* cells of a changed */
            }
    return 0;
}

/* Merges pairs whose own readings suffice (mostly neighbours) at the start. */
static void unite_proven(struct nt_clustering *m)
{
    const struct nt_pair_reading *e = m->ledger->at;
    nt_readings_sort(m->ledger);
    for (size_t k = 0, end; k < m->ledger->count; k = end) {
        double sum[NT_CLASSES_MAX] = {0};
        size_t level = 0;
        end = nt_readings_next_pair(m->ledger, k);
        for (size_t i = k; i < end; i++)
            for (size_t l = 0; l + 1 < m->clusters.levels; l++)
                sum[l] += nt_classes_llr(m->classes, (double)e[i].ln, l);
        while (level + 1 < m->clusters.levels && sum[level] <= m->limits.same)
            level++;
        if (level + 1 < m->clusters.levels)
            nt_clusters_unite(&m->clusters, level, e[k].a, e[k].b);
    }
}

/* ---- readings of before ---- */

static void count_evidence(struct nt_clustering *m, const struct nt_pair_reading *e, size_t level)
{
    uint32_t a = nt_clusters_find(&m->clusters, level, e->a);
    uint32_t b = nt_clusters_find(&m->clusters, level, e->b);
    uint32_t slot = m->block_of[level][a];
    if (a == b || slot == BLOCK_NONE || slot != m->block_of[level][b] || !m->block[slot]->fresh)
        return;
    struct nt_cells *c = m->block[slot];
    const struct nt_cluster *x = &c->cluster[m->place_of[level][a]];
    const struct nt_cluster *y = &c->cluster[m->place_of[level][b]];
    if (x->origin == y->origin && x->origin != BLOCK_NONE)
        return; /* in their cell already */
    nt_cells_add(c, m->place_of[level][a], m->place_of[level][b],
                 nt_classes_llr(m->classes, (double)e->ln, level));
}

/* Counts earlier readings in new blocks; 1: there were some. */
static int count_before(struct nt_clustering *m, struct nt_err *err)
{
    bool levels[NT_CLASSES_MAX] = {0}, any = false;
    size_t slots = m->slots;
    for (size_t s = 0; s < slots; s++)
        if (m->block[s] != NULL && m->block[s]->fresh)
            levels[m->block[s]->level] = any = true;
    for (size_t k = 0; any && k < m->ledger->count; k++)
        for (size_t l = 0; l + 1 < m->clusters.levels; l++)
            if (levels[l])
                count_evidence(m, &m->ledger->at[k], l);
    for (uint32_t s = 0; s < slots; s++) {
        struct nt_cells *c = m->block[s];
        if (c == NULL || !c->fresh)
            continue;
        c->fresh = false;
        for (size_t k = 0; k < c->clusters; k++)
            c->cluster[k].origin = s;
        if (settle_block(m, s, err) < 0)
            return -1;
    }
    return any;
}

/* ---- after a round -------------------------------------------------------------------------- */

static size_t seats_of(const struct nt_cells *c)
{
    size_t n = 0;
    for (size_t k = 0; k < c->clusters; k++)
        n += c->cluster[k].size;
    return n;
}

/* Few pairs are left to measure: others could use the rounds. */
static bool is_idle(const struct nt_cells *c)
{
    return c->done || (c->planned != SIZE_MAX && 8 * c->planned < seats_of(c));
}

static bool cluster_answers(const struct nt_clustering *m, const struct nt_cluster *k)
{
    for (uint32_t i = 0; i < k->size; i++)
        if (!m->lost[k->seat[i]])
            return true;
    return false;
}

/* Certainly different from all others; a few stragglers may still turn out to belong to it. */
static bool is_certain(const struct nt_clustering *m, const struct nt_cells *c, uint32_t a)
{
    for (uint32_t b = 0; b < c->clusters && !c->done; b++) {
        const struct nt_cluster *y = &c->cluster[b];
        bool straggler = y->size <= STRAGGLER && c->cluster[a].size >= SOLID;
        if (a != b && !y->merged && !straggler && cluster_answers(m, y) &&
            (double)c->sum[nt_cell_at(a, b)] > m->limits.certain)
            return false;
    }
    return true;
}

/* 1 when any cluster was opened. */
static int open_certain(struct nt_clustering *m, uint32_t slot, struct nt_err *err)
{
    int any = 0;
    if (m->block[slot]->level == 0)
        return 0;
    for (uint32_t k = 0; k < m->block[slot]->clusters; k++) {
        struct nt_cells *c = m->block[slot];
        struct nt_cluster *x = &c->cluster[k];
        if (x->merged || x->open || x->size < 2 || !is_certain(m, c, k))
            continue;
        x->open = true;
        any = 1;
        if (open_blocks(m, c->level, x->seat, x->size, err) < 0)
            return -1;
    }
    return any;
}

/* The largest number of clusters that one of this number of joined blocks can have. */
static size_t widest_join(const struct nt_clustering *m, const uint32_t *slot, size_t n,
                          size_t groups)
{
    size_t widest = 0;
    for (size_t g = 0; g < groups; g++) {
        size_t clusters = 0;
        for (size_t k = n * g / groups; k < n * (g + 1) / groups; k++)
            clusters += count_clusters(m->block[slot[k]]);
        widest = clusters > widest ? clusters : widest;
    }
    return widest;
}

/* How many blocks they become: fewer by JOIN, or as much as the cells allow. */
static size_t count_joined(const struct nt_clustering *m, const uint32_t *slot, size_t n)
{
    size_t groups = (n + JOIN - 1) / JOIN;
    while (groups + 1 < n && widest_join(m, slot, n, groups) > NT_CELLS_CLUSTERS_MAX)
        groups++;
    return groups;
}

/* Joins the blocks of a group when they have little to do and there is room. 1 when it did. */
static int join_group(struct nt_clustering *m, const uint32_t *slot, size_t n, struct nt_err *err)
{
    size_t planned = 0, seats = 0;
    bool all = true, known = true;
    for (size_t k = 0; k < n; k++) {
        const struct nt_cells *c = m->block[slot[k]];
        all &= c->done;
        known &= c->planned != SIZE_MAX;
        planned += known ? c->planned : 0;
        seats += seats_of(c);
    }
    if (!all && (!known || 4 * planned >= seats))
        return 0;
    size_t groups = count_joined(m, slot, n);
    if (!all && widest_join(m, slot, n, groups) > NT_CELLS_CLUSTERS_MAX)
        return 0; /* more of them will be one */
    for (size_t g = 0; g < groups; g++) {
        size_t from = n * g / groups, count = n * (g + 1) / groups - from;
        if (count > 1 && join_blocks(m, slot + from, count, err) < 0)
            return -1;
        m->block[slot[from]]->last = groups == 1;
    }
    return 1;
}

static int advance_group(struct nt_clustering *m, const uint32_t *slot, size_t n,
                         struct nt_err *err)
{
    struct nt_cells *c = m->block[slot[0]];
    if (n > 1)
        return join_group(m, slot, n, err);
    int any = 0;
    if (!c->strict && is_idle(c)) {
        c->strict = true;
        any = 1;
        c->done = false;
        c->planned = SIZE_MAX;
    }
    int opened = c->strict ? open_certain(m, slot[0], err) : 0;
    return opened < 0 ? -1 : any | opened;
}

int nt_clustering_advance(struct nt_clustering *m, struct nt_err *err)
{
    size_t slots = m->slots, n = 0;
    int any = 0, rc = 0;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *slot = nt_arena_array(&memory, slots + 1, sizeof *slot);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t s = 0; s < slots; s++)
        if (m->block[s] != NULL)
            slot[n++] = s;
    for (size_t k = 0, end; k < n && rc >= 0; k = end) {
        uint32_t group = m->block[slot[k]]->group;
        for (end = k; end < n && m->block[slot[end]]->group == group; end++)
            ;
        rc = advance_group(m, slot + k, end - k, err);
        any |= rc;
    }
    return rc < 0 ? -1 : any;
}

/* ---- the end ---- */

/* Both remained apart, so evidence that they are one cluster lowers the certainty. Before any
 * reading, a cluster may be equal to another one, but hardly to a given one of all: prior odds of
 * one over the number of the others. */
static void add_cell_error(struct nt_clustering *m, const struct nt_cells *c, uint32_t a,
                           uint32_t b, double others)
{
    double sum = (double)c->sum[nt_cell_at(a, b)];
    double error_probability = 1 / (1 + exp(-sum) * fmax(others, 1));
    const uint32_t end[2] = {a, b};
    m->risk += error_probability;
    m->open_cells += sum > m->limits.certain;
    for (int k = 0; k < 2; k++) {
        uint32_t root = nt_clusters_find(&m->clusters, c->level, c->cluster[end[k]].seat[0]);
        float *all = &m->error_probability[c->level][root];
        *all = fminf(*all + (float)error_probability, 1);
    }
}

/* Not given up as neither, but without even one clear reading. */
static bool is_unfinished(const struct nt_clustering *m, const struct nt_cells *c, uint32_t a,
                          uint32_t b)
{
    size_t at = nt_cell_at(a, b);
    return (double)c->sum[at] > m->limits.differ && c->count[at] < m->limits.tries_small;
}

static bool cluster_counts(const struct nt_clustering *m, const struct nt_cluster *c)
{
    return !c->merged && cluster_answers(m, c);
}

void nt_clustering_finish(struct nt_clustering *m)
{
    size_t open[NT_CLASSES_MAX] = {0}, cells[NT_CLASSES_MAX] = {0};
    m->over = true;
    for (size_t s = 0; s < m->slots; s++) {
        const struct nt_cells *c = m->block[s];
        double clusters = 0;
        for (uint32_t a = 0; c != NULL && a < c->clusters; a++)
            clusters += cluster_counts(m, &c->cluster[a]);
        for (uint32_t a = 1; c != NULL && a < c->clusters; a++)
            for (uint32_t b = 0; b < a; b++)
                if (cluster_counts(m, &c->cluster[a]) && cluster_counts(m, &c->cluster[b])) {
                    add_cell_error(m, c, a, b, clusters - 1);
                    open[c->level] += is_unfinished(m, c, a, b);
                    cells[c->level]++;
                }
    }
    for (size_t l = 0; l < NT_CLASSES_MAX; l++)
        if (MOSTLY * open[l] > cells[l]) /* one pair that cannot be measured does not matter */
            m->unsettled = l + 1;
}

size_t nt_clustering_certain_level(const struct nt_clustering *m)
{
    size_t level = m->over ? m->unsettled : 0;
    for (size_t s = 0; s < m->slots && !m->over; s++) {
        const struct nt_cells *c = m->block[s];
        if (c == NULL)
            continue;
        size_t certain = c->last && c->strict && c->done ? c->level : c->level + 1;
        for (size_t k = 0; k < c->clusters && certain == c->level; k++)
            if (c->level > 0 && !c->cluster[k].merged && c->cluster[k].size > 1 &&
                !c->cluster[k].open)
                break; /* its inside is unknown, so the level above remains the lowest */
        level = certain > level ? certain : level;
    }
    return level;
}

/* ---- making, recalling ---- */

static int begin_blocks(struct nt_clustering *m, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *seat = nt_arena_array(&memory, m->seats + 1, sizeof *seat);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t i = 0; i < m->seats; i++)
        seat[i] = i;
    unite_proven(m);
    return open_blocks(m, m->clusters.levels - 1, seat, m->seats, err);
}

int nt_clustering_init(struct nt_clustering *m, size_t seats, const struct nt_classes *classes,
                       struct nt_readings *ledger, const bool *lost, struct nt_err *err)
{
    double same = fmax(16, log(TESTS_A_HOST * (double)(seats > 0 ? seats : 1) / RISK));
    struct nt_arena *memory = &m->clusters.memory;
    *m = (struct nt_clustering){
        .seats = seats,
        .classes = classes,
        .ledger = ledger,
        .lost = lost,
        .limits = {same, -4, -(same - 2), 6 + (int)(60 * classes->outliers)}};
    if (nt_clusters_init(&m->clusters, seats, classes->count, err) < 0)
        return -1;
    for (size_t l = 0; l < classes->count; l++) {
        m->block_of[l] = nt_arena_array(memory, seats + 1, sizeof *m->block_of[l]);
        m->place_of[l] = nt_arena_array(memory, seats + 1, sizeof *m->place_of[l]);
        m->error_probability[l] =
            nt_arena_array(memory, seats + 1, sizeof *m->error_probability[l]);
        if (m->block_of[l] != NULL)
            memset(m->block_of[l], 0xff, (seats + 1) * sizeof *m->block_of[l]);
    }
    if (nt_arena_check(memory, err) != 0 || begin_blocks(m, err) < 0) {
        nt_clustering_fini(m);
        return -1;
    }
    return 0;
}

void nt_clustering_fini(struct nt_clustering *m)
{
    for (size_t s = 0; s < m->slots; s++)
        nt_cells_destroy(m->block[s]);
    free(m->block);
    nt_clusters_fini(&m->clusters);
    *m = (struct nt_clustering){0};
}

int nt_clustering_settle(struct nt_clustering *m, struct nt_err *err)
{
    int fresh, advanced;
    do {
        fresh = count_before(m, err);
        advanced = fresh < 0 ? -1 : nt_clustering_advance(m, err);
    } while (fresh > 0 || advanced > 0);
    return advanced < 0 ? -1 : 0;
}

/* The classes were fitted again to all readings, so that a sum that just reached its limit may now
 * be slightly below. */
int nt_clustering_replay(struct nt_clustering *m, struct nt_err *err)
{
    m->limits.same *= RECALL_SAME;
    m->limits.certain *= RECALL_CERTAIN;
    while (!m->over) {
        int fresh = count_before(m, err), advanced = fresh < 0 ? -1 : nt_clustering_advance(m, err);
        bool any = false;
        if (advanced < 0)
            return -1;
        for (size_t s = 0; s < m->slots && !fresh && !advanced; s++)
            if (m->block[s] != NULL && !m->block[s]->done)
                any = m->block[s]->done = true;
        if (!fresh && !advanced && !any)
            nt_clustering_finish(m);
    }
    return 0;
}

void nt_clustering_reopen(struct nt_clustering *m)
{
    m->limits.same /= RECALL_SAME;
    m->limits.certain /= RECALL_CERTAIN;
    m->over = false;
    m->risk = 0;
    m->open_cells = m->unsettled = 0;
    for (size_t l = 0; l < m->clusters.levels; l++)
        memset(m->error_probability[l], 0, m->seats * sizeof *m->error_probability[l]);
    for (size_t s = 0; s < m->slots; s++)
        if (m->block[s] != NULL) {
            m->block[s]->done = false;
            m->block[s]->planned = SIZE_MAX;
        }
}

int nt_clustering_note(struct nt_clustering *m, const struct nt_block_cell *cell,
                       const uint32_t seat[2], float ln, struct nt_err *err)
{
    struct nt_cells *c = m->block[cell->block];
    if (nt_readings_add(m->ledger, seat[0], seat[1], 0, ln, err) < 0)
        return -1;
    nt_cells_add(c, cell->a, cell->b, nt_classes_llr(m->classes, (double)ln, c->level));
    return 0;
}

int nt_clustering_decide(struct nt_clustering *m, const struct nt_block_cell *cell,
                         struct nt_err *err)
{
    bool one = is_one(m, m->block[cell->block], cell->a, cell->b);
    return one ? merge_cells(m, cell->block, cell->a, cell->b, err) : 0;
}
