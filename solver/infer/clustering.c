/* SPDX-License-Identifier: Apache-2.0 */
#include "clustering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

enum { JOIN = 8, MOSTLY = 50, STRAGGLER = 2, SOLID = 8 };

static const double RISK = 1e-4; /* of any wrong merge in a sweep */
static const double TESTS_A_HOST = 60;
static const double RECALL_SAME = 0.8, RECALL_CERTAIN = 0.6; /* of the limits */

/* ---- merging ----------------------------------------------------------------------------------
 */

/* Two clusters of a block become one; the inside of one that was opened takes the other in. */
static int unite_cells(struct nt_clustering *m, uint32_t slot, uint32_t a, uint32_t b,
                       uint32_t *stays, struct nt_err *err)
{
    struct nt_cells *c = m->block[slot];
    const struct nt_cluster *old = &c->cluster[c->cluster[b].open ? b : a];
    const struct nt_cluster *late = &c->cluster[c->cluster[b].open ? a : b];
    uint32_t seat = old->seat[0], other = late->seat[0], n = late->size;
    uint32_t *seats = NULL;
    bool inside = old->open && !late->open;
    if (inside) {
        seats = malloc(n * sizeof *seats);
        if (seats == NULL)
            return nt_err_memory(err);
        memcpy(seats, late->seat, n * sizeof *seats);
    }
    int64_t left = nt_cells_merge(c, a, b, err);
    int rc = left < 0 ? -1 : 0;
    if (rc == 0) {
        *stays = (uint32_t)left;
        nt_clusters_unite(&m->clusters, c->level, seat, other);
        uint32_t root = nt_clusters_find(&m->clusters, c->level, seat);
        m->block_of[c->level][root] = slot;
        m->place_of[c->level][root] = *stays;
        if (inside)
            rc = nt_blocks_introduce(m, c->level, seat, seats, n, err);
    }
    free(seats);
    return rc;
}

static bool is_one(const struct nt_clustering *m, const struct nt_cells *c, uint32_t a, uint32_t b)
{
    return a != b && !c->cluster[a].merged && !c->cluster[b].merged &&
           (double)c->sum[nt_cell_at(a, b)] > m->limits.same &&
           !(c->cluster[a].open && c->cluster[b].open); /* those were certainly different */
}

/* Merges two clusters, and then all whose evidence is enough together. */
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

/* Pairs whose own readings are proof enough (neighbours, mostly) are one from the start. */
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

/* ---- readings of before -----------------------------------------------------------------------
 */

static void count_evidence(struct nt_clustering *m, const struct nt_pair_reading *e, size_t level)
{
    uint32_t a = nt_clusters_find(&m->clusters, level, e->a);
    uint32_t b = nt_clusters_find(&m->clusters, level, e->b);
    uint32_t slot = m->block_of[level][a];
    if (a == b || slot == NT_BLOCK_NONE || slot != m->block_of[level][b] || !m->block[slot]->fresh)
        return;
    struct nt_cells *c = m->block[slot];
    const struct nt_cluster *x = &c->cluster[m->place_of[level][a]];
    const struct nt_cluster *y = &c->cluster[m->place_of[level][b]];
    if (x->origin == y->origin && x->origin != NT_BLOCK_NONE)
        return; /* in their cell already */
    nt_cells_add(c, m->place_of[level][a], m->place_of[level][b],
                 nt_classes_llr(m->classes, (double)e->ln, level));
}

/* Counts in fresh blocks what was read before they were made; 1 when there were any. */
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

/* ---- what comes after a round -----------------------------------------------------------------
 */

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
        if (nt_blocks_open(m, c->level, x->seat, x->size, err) < 0)
            return -1;
    }
    return any;
}

/* The most clusters that one of so many joined blocks has. */
static size_t widest_join(const struct nt_clustering *m, const uint32_t *slot, size_t n,
                          size_t groups)
{
    size_t widest = 0;
    for (size_t g = 0; g < groups; g++) {
        size_t clusters = 0;
        for (size_t k = n * g / groups; k < n * (g + 1) / groups; k++)
            clusters += nt_blocks_clusters(m->block[slot[k]]);
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
        if (count > 1 && nt_blocks_join(m, slot + from, count, err) < 0)
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
    uint32_t *slot = calloc(slots + 1, sizeof *slot);
    if (slot == NULL)
        return nt_err_memory(err);
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
    free(slot);
    return rc < 0 ? -1 : any;
}

/* ---- the end ----------------------------------------------------------------------------------
 */

/* Both stayed apart, so that what speaks for one cluster speaks against the two. Before anything is
 * read a cluster may well be one with another, but hardly with this one of all that there are: odds
 * of one to those others. */
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
                break; /* its inside is not known, so what is above stays the lowest */
        level = certain > level ? certain : level;
    }
    return level;
}

/* ---- making, recalling
 * -----------------------------------------------------------------------------------
 */

static int begin_blocks(struct nt_clustering *m, struct nt_err *err)
{
    uint32_t *seat = malloc((m->seats + 1) * sizeof *seat);
    if (seat == NULL)
        return nt_err_memory(err);
    for (uint32_t i = 0; i < m->seats; i++)
        seat[i] = i;
    unite_proven(m);
    int rc = nt_blocks_open(m, m->clusters.levels - 1, seat, m->seats, err);
    free(seat);
    return rc;
}

int nt_clustering_init(struct nt_clustering *m, size_t seats, const struct nt_classes *classes,
                       struct nt_readings *ledger, const bool *lost, struct nt_err *err)
{
    double same = fmax(16, log(TESTS_A_HOST * (double)(seats > 0 ? seats : 1) / RISK));
    bool allocated = true;
    *m = (struct nt_clustering){
        .seats = seats,
        .classes = classes,
        .ledger = ledger,
        .lost = lost,
        .limits = {same, -4, -(same - 2), 6 + (int)(60 * classes->outliers)}};
    if (nt_clusters_init(&m->clusters, seats, classes->count, err) < 0)
        return -1;
    for (size_t l = 0; l < classes->count; l++) {
        m->block_of[l] = malloc((seats + 1) * sizeof *m->block_of[l]);
        m->place_of[l] = calloc(seats + 1, sizeof *m->place_of[l]);
        m->error_probability[l] = calloc(seats + 1, sizeof *m->error_probability[l]);
        allocated &=
            m->block_of[l] != NULL && m->place_of[l] != NULL && m->error_probability[l] != NULL;
        if (m->block_of[l] != NULL)
            memset(m->block_of[l], 0xff, (seats + 1) * sizeof *m->block_of[l]);
    }
    if (!allocated)
        nt_err_memory(err);
    if (!allocated || begin_blocks(m, err) < 0) {
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
    for (size_t l = 0; l < NT_CLASSES_MAX; l++) {
        free(m->block_of[l]);
        free(m->place_of[l]);
        free(m->error_probability[l]);
    }
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

/* The classes are fitted anew, to all readings: what was just enough may be a little less now. */
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

int nt_clustering_note(struct nt_clustering *m, uint32_t block, uint32_t a, uint32_t b,
                       const uint32_t seat[2], float ln, struct nt_err *err)
{
    struct nt_cells *c = m->block[block];
    if (nt_readings_add(m->ledger, seat[0], seat[1], 0, ln, err) < 0)
        return -1;
    nt_cells_add(c, a, b, nt_classes_llr(m->classes, (double)ln, c->level));
    return 0;
}

int nt_clustering_decide(struct nt_clustering *m, uint32_t block, uint32_t a, uint32_t b,
                         struct nt_err *err)
{
    return is_one(m, m->block[block], a, b) ? merge_cells(m, block, a, b, err) : 0;
}
