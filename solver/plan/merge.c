#include "merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, JOIN = 8, KEEP_ALL_SEATS = 4096 };
enum { NONE = UINT32_MAX };

static const double RISK = 1e-4; /* of any wrong merge in a sweep */
static const double TESTS_A_HOST = 60;

/* ---- clusters of a level ----------------------------------------------------------------------
 */

uint32_t nt_merge_find(const struct nt_merge *m, size_t level, uint32_t seat)
{
    uint32_t *up = m->up[level];
    while (up[seat] != seat) {
        up[seat] = up[up[seat]];
        seat = up[seat];
    }
    return seat;
}

/* What is one at a level is one at all levels above. The smallest seat stands for a cluster. */
static void unite(struct nt_merge *m, size_t level, uint32_t a, uint32_t b)
{
    for (size_t l = level; l < m->levels; l++) {
        uint32_t x = nt_merge_find(m, l, a), y = nt_merge_find(m, l, b);
        if (x < y)
            m->up[l][y] = x;
        else if (y < x)
            m->up[l][x] = y;
    }
}

static int compare_pairs(const void *a, const void *b)
{
    const struct nt_evidence *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

/* Pairs whose own readings are proof enough (neighbours, mostly) are one from the start. */
static int unite_proven(struct nt_merge *m, struct nt_err *err)
{
    size_t n = m->ledger->count;
    struct nt_evidence *e = malloc((n + 1) * sizeof *e);
    if (e == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu readings", n);
    for (size_t k = 0; k < n; k++) {
        e[k] = m->ledger->at[k];
        if (e[k].a > e[k].b) {
            e[k].a = m->ledger->at[k].b;
            e[k].b = m->ledger->at[k].a;
        }
    }
    qsort(e, n, sizeof *e, compare_pairs);
    for (size_t k = 0, end; k < n; k = end) {
        double sum[NT_CLASSES_MAX] = {0};
        for (end = k; end < n && compare_pairs(&e[end], &e[k]) == 0; end++)
            for (size_t l = 0; l + 1 < m->levels; l++)
                sum[l] += nt_classes_llr(m->classes, (double)e[end].ln, l);
        for (size_t l = 0; l + 1 < m->levels; l++)
            if (sum[l] > m->limits.same) {
                unite(m, l, e[k].a, e[k].b);
                break;
            }
    }
    free(e);
    return 0;
}

/* ---- blocks -----------------------------------------------------------------------------------
 */

static void drop_blocks(struct nt_merge *m)
{
    for (size_t k = 0; k < m->blocks; k++)
        nt_cells_destroy(m->block[k]);
    m->blocks = 0;
}

/* Notes where each cluster of a block stands. */
static void index_block(struct nt_merge *m, uint32_t block)
{
    const struct nt_cells *c = m->block[block];
    for (uint32_t k = 0; k < c->clusters; k++)
        if (!c->cluster[k].gone) {
            uint32_t root = nt_merge_find(m, m->level, c->cluster[k].seat[0]);
            m->block_of[root] = block;
            m->place_of[root] = k;
        }
}

/* Merges two clusters, and then all whose evidence is enough together. */
static int merge_cells(struct nt_merge *m, uint32_t block, uint32_t a, uint32_t b,
                       struct nt_err *err)
{
    struct nt_cells *c = m->block[block];
    for (uint32_t next = b; next != NONE;) {
        uint32_t seat = c->cluster[a].seat[0], other = c->cluster[next].seat[0];
        int64_t stays = nt_cells_merge(c, a, next, err);
        if (stays < 0)
            return -1;
        unite(m, m->level, seat, other);
        uint32_t root = nt_merge_find(m, m->level, seat);
        m->block_of[root] = block;
        m->place_of[root] = a = (uint32_t)stays;
        next = NONE;
        for (uint32_t k = 0; k < c->clusters && next == NONE; k++)
            if (!c->cluster[k].gone && k != a && (double)c->sum[nt_cell_at(a, k)] > m->limits.same)
                next = k;
    }
    return 0;
}

/* Merges what a block's cells say by now, and what follows. */
static int settle_block(struct nt_merge *m, uint32_t block, struct nt_err *err)
{
    struct nt_cells *c = m->block[block];
    for (bool again = true; again;) {
        again = false;
        for (uint32_t a = 1; a < c->clusters; a++)
            for (uint32_t b = 0; b < a && !c->cluster[a].gone; b++)
                if (!c->cluster[b].gone && (double)c->sum[nt_cell_at(a, b)] > m->limits.same) {
                    if (merge_cells(m, block, a, b, err) < 0)
                        return -1;
                    again = true;
                }
    }
    return 0;
}

/* Evidence that was read before and lies within one of the blocks from `first` on. before[seat]
 * (may be NULL): the block in which it was counted already. */
static int seed_blocks(struct nt_merge *m, const uint32_t *before, struct nt_err *err)
{
    for (size_t k = 0; k < m->ledger->count; k++) {
        const struct nt_evidence *e = &m->ledger->at[k];
        uint32_t a = nt_merge_find(m, m->level, e->a), b = nt_merge_find(m, m->level, e->b);
        uint32_t block = m->block_of[a];
        if (a == b || block == NONE || block != m->block_of[b] ||
            (before != NULL && before[e->a] == before[e->b]))
            continue;
        nt_cells_add(m->block[block], m->place_of[a], m->place_of[b],
                     nt_classes_llr(m->classes, (double)e->ln, m->level), true);
    }
    for (uint32_t k = 0; k < m->blocks; k++)
        if (settle_block(m, k, err) < 0)
            return -1;
    return 0;
}

/* Chains of seats by parent cluster, then by own cluster, both in the order of the seats. */
struct chains {
    uint32_t *member, *member_next, *member_last; /* of a cluster's root: its seats */
    uint32_t *child, *child_next, *child_last;    /* of a parent's root: its clusters */
    uint32_t *size;                               /* of a cluster's root */
};

static void chains_fini(struct chains *c)
{
    free(c->member);
    *c = (struct chains){0};
}

static int chains_init(struct chains *c, const struct nt_merge *m, struct nt_err *err)
{
    size_t n = m->seats;
    uint32_t *all = malloc((7 * n + 1) * sizeof *all);
    if (all == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu hosts", n);
    memset(all, 0xff, 7 * n * sizeof *all);
    *c = (struct chains){all,         all + n,     all + 2 * n, all + 3 * n,
                         all + 4 * n, all + 5 * n, all + 6 * n};
    memset(c->size, 0, n * sizeof *c->size);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t root = nt_merge_find(m, m->level, i);
        if (c->size[root]++ == 0)
            c->member[root] = i;
        else
            c->member_next[c->member_last[root]] = i;
        c->member_last[root] = i;
        if (root != i)
            continue;
        uint32_t parent = nt_merge_find(m, m->level + 1, i);
        if (c->child[parent] == NONE)
            c->child[parent] = i;
        else
            c->child_next[c->child_last[parent]] = i;
        c->child_last[parent] = i;
    }
    return 0;
}

static int fill_cluster(struct nt_cluster *k, const struct chains *c, uint32_t root,
                        struct nt_err *err)
{
    k->seat = malloc(c->size[root] * sizeof *k->seat);
    if (k->seat == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a cluster of %u hosts", c->size[root]);
    for (uint32_t i = c->member[root]; i != NONE; i = c->member_next[i])
        k->seat[k->size++] = i;
    return 0;
}

/* Blocks for the clusters inside one parent. */
static int cut_parent(struct nt_merge *m, const struct chains *c, uint32_t parent,
                      struct nt_err *err)
{
    size_t children = 0, done = 0;
    for (uint32_t r = c->child[parent]; r != NONE; r = c->child_next[r])
        children++;
    size_t blocks = (children + BLOCK - 1) / BLOCK;
    uint32_t root = c->child[parent];
    for (size_t b = 0; b < blocks; b++) {
        size_t want = children * (b + 1) / blocks - done;
        struct nt_cells *cells;
        if (nt_cells_create(want, &cells, err) < 0)
            return -1;
        m->block[m->blocks++] = cells;
        cells->parent = parent;
        cells->last = blocks == 1;
        for (size_t k = 0; k < want; k++, root = c->child_next[root])
            if (fill_cluster(&cells->cluster[k], c, root, err) < 0)
                return -1;
        done += want;
        index_block(m, (uint32_t)m->blocks - 1);
    }
    return 0;
}

static int begin_level(struct nt_merge *m, size_t level, struct nt_err *err)
{
    struct chains c = {0};
    int rc = 0;
    m->level = level;
    drop_blocks(m);
    memset(m->block_of, 0xff, m->seats * sizeof *m->block_of);
    if (chains_init(&c, m, err) < 0)
        return -1;
    for (uint32_t i = 0; i < m->seats && rc == 0; i++)
        if (c.child[i] != NONE && c.child[i] != c.child_last[i])
            rc = cut_parent(m, &c, i, err);
    chains_fini(&c);
    return rc < 0 ? -1 : seed_blocks(m, NULL, err);
}

/* ---- joining blocks ---------------------------------------------------------------------------
 */

static size_t clusters_here(const struct nt_cells *c)
{
    size_t n = 0;
    for (size_t k = 0; k < c->clusters; k++)
        n += !c->cluster[k].gone;
    return n;
}

/* Moves the clusters of one block behind those of another, with the cells between them. */
static void move_in(struct nt_cells *to, uint32_t *at, struct nt_cells *from, uint32_t *place)
{
    for (uint32_t a = 0; a < from->clusters; a++) {
        if (from->cluster[a].gone)
            continue;
        place[a] = *at;
        to->cluster[*at] = from->cluster[a];
        from->cluster[a] = (struct nt_cluster){.gone = true, .size = 1};
        (*at)++;
    }
    for (uint32_t a = 1; a < from->clusters; a++)
        for (uint32_t b = 0; b < a; b++)
            if (from->cluster[a].size == 1 && from->cluster[b].size == 1) { /* moved just now */
                to->sum[nt_cell_at(place[a], place[b])] = from->sum[nt_cell_at(a, b)];
                to->count[nt_cell_at(place[a], place[b])] = from->count[nt_cell_at(a, b)];
            }
}

static int join(struct nt_merge *m, size_t first, size_t end, struct nt_cells **out,
                struct nt_err *err)
{
    size_t clusters = 0, most = 0;
    for (size_t k = first; k < end; k++) {
        clusters += clusters_here(m->block[k]);
        most = most > m->block[k]->clusters ? most : m->block[k]->clusters;
    }
    uint32_t *place = calloc(most + 1, sizeof *place), at = 0;
    if (place == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu clusters", most);
    if (nt_cells_create(clusters, out, err) < 0) {
        free(place);
        return -1;
    }
    (*out)->parent = m->block[first]->parent;
    for (size_t k = first; k < end; k++)
        move_in(*out, &at, m->block[k], place);
    free(place);
    return 0;
}

/* 1: some blocks joined; 0: every parent has one. */
static int join_blocks(struct nt_merge *m, struct nt_err *err)
{
    size_t to = 0;
    bool any = false;
    uint32_t *before = malloc((m->seats + 1) * sizeof *before);
    if (before == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu hosts", m->seats);
    for (uint32_t i = 0; i < m->seats; i++)
        before[i] = m->block_of[nt_merge_find(m, m->level, i)];
    for (size_t k = 0, end; k < m->blocks; k = end) {
        for (end = k; end < m->blocks && m->block[end]->parent == m->block[k]->parent; end++)
            ;
        size_t count = end - k, groups = (count + JOIN - 1) / JOIN;
        for (size_t g = 0; g < groups; g++) {
            size_t from = k + count * g / groups, till = k + count * (g + 1) / groups;
            struct nt_cells *joined = m->block[from];
            if (till - from > 1 && join(m, from, till, &joined, err) < 0) {
                free(before);
                return -1;
            }
            any |= till - from > 1;
            for (size_t b = from; b < till && till - from > 1; b++) {
                nt_cells_destroy(m->block[b]);
                m->block[b] = NULL;
            }
            joined->last = groups == 1;
            m->block[from] = NULL;
            m->block[to] = joined;
            index_block(m, (uint32_t)to++);
        }
    }
    m->blocks = to;
    int rc = any ? seed_blocks(m, before, err) : 0;
    free(before);
    return rc < 0 ? -1 : any;
}

static bool answers(const struct nt_merge *m, const struct nt_cluster *k)
{
    for (uint32_t i = 0; i < k->size; i++)
        if (!m->lost[k->seat[i]])
            return true;
    return false;
}

/* The chance that a cell's answer is wrong. */
static double doubt_of(double sum)
{
    return 1 / (1 + exp(fabs(sum)));
}

/* What stays uncertain when a level is over. */
static void end_level(struct nt_merge *m)
{
    for (size_t k = 0; k < m->blocks; k++) {
        const struct nt_cells *c = m->block[k];
        for (uint32_t a = 1; a < c->clusters; a++) {
            if (c->cluster[a].gone || !answers(m, &c->cluster[a]))
                continue;
            float *mine = &m->doubt[m->level][nt_merge_find(m, m->level, c->cluster[a].seat[0])];
            for (uint32_t b = 0; b < a; b++) {
                if (c->cluster[b].gone || !answers(m, &c->cluster[b]))
                    continue;
                double sum = (double)c->sum[nt_cell_at(a, b)], doubt = doubt_of(sum);
                float *its = &m->doubt[m->level][nt_merge_find(m, m->level, c->cluster[b].seat[0])];
                *mine = fmaxf(*mine, (float)doubt);
                *its = fmaxf(*its, (float)doubt);
                m->risk += doubt;
                m->open_cells += sum > m->limits.certain;
            }
        }
    }
}

/* ---- the levels -------------------------------------------------------------------------------
 */

int nt_merge_init(struct nt_merge *m, size_t seats, const struct nt_classes *classes,
                  struct nt_ledger *ledger, const bool *lost, struct nt_err *err)
{
    double same = fmax(16, log(TESTS_A_HOST * (double)(seats > 0 ? seats : 1) / RISK));
    *m = (struct nt_merge){.seats = seats,
                           .classes = classes,
                           .ledger = ledger,
                           .lost = lost,
                           .levels = classes->count,
                           .keep_all = seats <= KEEP_ALL_SEATS,
                           .limits = {same, -4, -(same - 2)}};
    bool room = true;
    for (size_t l = 0; l < m->levels; l++)
        room &= (m->up[l] = calloc(seats + 1, sizeof *m->up[l])) != NULL &&
                (m->doubt[l] = calloc(seats + 1, sizeof *m->doubt[l])) != NULL;
    m->block = calloc(seats + 1, sizeof(struct nt_cells *));
    m->block_of = calloc(seats + 1, sizeof *m->block_of);
    m->place_of = calloc(seats + 1, sizeof *m->place_of);
    if (!room || m->block == NULL || m->block_of == NULL || m->place_of == NULL) {
        nt_merge_fini(m);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for the tiers of %zu hosts", seats);
    }
    for (size_t l = 0; l < m->levels; l++)
        for (uint32_t i = 0; i < seats; i++)
            m->up[l][i] = l + 1 < m->levels ? i : 0;
    m->over = m->levels < 2;
    if (!m->over && (unite_proven(m, err) < 0 || begin_level(m, m->levels - 2, err) < 0)) {
        nt_merge_fini(m);
        return -1;
    }
    return 0;
}

void nt_merge_fini(struct nt_merge *m)
{
    drop_blocks(m);
    free(m->block);
    free(m->block_of);
    free(m->place_of);
    for (size_t l = 0; l < NT_CLASSES_MAX; l++) {
        free(m->up[l]);
        free(m->doubt[l]);
    }
    nt_cells_scratch_fini(&m->scratch);
    *m = (struct nt_merge){0};
}

int nt_merge_next(struct nt_merge *m, struct nt_rng *rng, struct nt_draw *draw, struct nt_err *err)
{
    while (!m->over) {
        draw->count = 0;
        for (uint32_t k = 0; k < m->blocks; k++)
            if (nt_cells_plan(m->block[k], k, &m->limits, m->lost, rng, &m->scratch, draw, err) < 0)
                return -1;
        if (draw->count > 0)
            return 1;
        int joined = join_blocks(m, err);
        if (joined < 0)
            return -1;
        if (joined > 0)
            continue;
        end_level(m);
        m->over = m->level == 0;
        if (!m->over && begin_level(m, m->level - 1, err) < 0)
            return -1;
    }
    drop_blocks(m);
    return 0;
}

int nt_merge_tell(struct nt_merge *m, const struct nt_draw *draw, const float *ln,
                  struct nt_err *err)
{
    for (size_t k = 0; k < draw->count; k++) {
        if (isnan(ln[k]))
            continue;
        double llr = nt_classes_llr(m->classes, (double)ln[k], m->level);
        if ((m->keep_all || (llr > 0 && m->level > 0)) &&
            nt_ledger_add(m->ledger, draw->seat[k][0], draw->seat[k][1], (double)ln[k], err) < 0)
            return -1;
        nt_cells_add(m->block[draw->cell[k].block], draw->cell[k].a, draw->cell[k].b, llr, false);
    }
    for (size_t k = 0; k < draw->count; k++) {
        struct nt_cells *c = m->block[draw->cell[k].block];
        uint32_t a = draw->cell[k].a, b = draw->cell[k].b;
        if (!c->cluster[a].gone && !c->cluster[b].gone &&
            (double)c->sum[nt_cell_at(a, b)] > m->limits.same &&
            merge_cells(m, draw->cell[k].block, a, b, err) < 0)
            return -1;
    }
    return 0;
}
