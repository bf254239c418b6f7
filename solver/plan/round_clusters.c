/* SPDX-License-Identifier: Apache-2.0 */
#include "round_clusters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 60, SMALL = 2, HOT_AT_ONCE = 4, RANKS = 64, DEPTH = 2 };

static const double HOT = 2; /* likely the same: worth more than one measurement a round */

void nt_open_cells_fini(struct nt_open_cells *s)
{
    free(s->open);
    free(s->sorted);
    free(s->rank);
    *s = (struct nt_open_cells){0};
}

struct planning {
    struct nt_cells *c;
    uint32_t block;
    const struct nt_cell_limits *limits;
    struct nt_round_pairs *round;
    struct nt_open_cells *scratch;
    uint32_t *here; /* clusters that are there */
    size_t clusters;
    size_t open;
};

static bool is_open(const struct planning *p, uint32_t a, uint32_t b)
{
    const struct nt_cluster *x = &p->c->cluster[a], *y = &p->c->cluster[b];
    size_t at = nt_cell_at(a, b);
    double differ = p->c->strict ? p->limits->certain : p->limits->differ;
    double sum = (double)p->c->sum[at];
    if ((x->size <= SMALL || y->size <= SMALL) && p->c->count[at] >= p->limits->tries_small &&
        fabs(sum) < p->c->count[at]) /* as a host with a long link is: neither */
        return false;
    return sum > differ && p->c->count[at] < TRIES;
}

static bool add_measurement(struct planning *p, uint32_t a, uint32_t b)
{
    struct nt_cluster *x = &p->c->cluster[a], *y = &p->c->cluster[b];
    struct nt_round_pairs *d = p->round;
    if (x->idle == 0 || y->idle == 0)
        return false;
    d->cell[d->count].block = p->block;
    d->cell[d->count].a = a > b ? a : b;
    d->cell[d->count].b = a > b ? b : a;
    x->idle--;
    y->idle--;
    nt_round_pairs_add(d, x->seat[x->idle], y->seat[y->idle]);
    return true;
}

/* Puts those that can be measured first; whether any of its hosts answers. */
static bool shuffle_in(struct nt_cluster *k, const bool *lost, const bool *busy, struct nt_rng *rng)
{
    bool answers = false;
    k->idle = 0;
    nt_rng_shuffle(rng, k->seat, k->size);
    for (uint32_t i = 0; i < k->size; i++) {
        uint32_t seat = k->seat[i];
        answers |= !lost[seat];
        if (lost[seat] || busy[seat])
            continue;
        k->seat[i] = k->seat[k->idle];
        k->seat[k->idle++] = seat;
    }
    return answers;
}

static int find_here(struct planning *p, const bool *lost, struct nt_rng *rng, struct nt_err *err)
{
    p->here = calloc(p->c->clusters + 1, sizeof *p->here);
    if (p->here == NULL)
        return nt_err_memory(err);
    for (uint32_t k = 0; k < p->c->clusters; k++)
        if (!p->c->cluster[k].merged && shuffle_in(&p->c->cluster[k], lost, p->round->busy, rng))
            p->here[p->clusters++] = k;
    return 0;
}

static unsigned log2_of(uint32_t x)
{
    unsigned log = 0;
    for (; x > 1; x >>= 1)
        log++;
    return log;
}

/* The hosts of a cluster stand together in their order. */
static bool is_compact(const struct nt_cluster *k)
{
    return k->high - k->low < 2 * k->size;
}

/* A straggler that stands where the other one does. */
static bool is_near(const struct nt_cluster *x, const struct nt_cluster *y)
{
    return (x->size <= SMALL || y->size <= SMALL) && is_compact(x) && is_compact(y) &&
           x->low <= y->high + 1 && y->low <= x->high + 1;
}

/* 0 is first; see the header. */
static uint8_t rank_of(const struct planning *p, uint32_t a, uint32_t b)
{
    const struct nt_cluster *x = &p->c->cluster[a], *y = &p->c->cluster[b];
    size_t at = nt_cell_at(a, b);
    double sum = (double)p->c->sum[at];
    if (sum > HOT)
        return 0;
    if (p->c->strict && is_near(x, y))
        return 1;
    unsigned large = log2_of(x->size > y->size ? x->size : y->size); /* 16 at most */
    if (sum > p->limits->differ)
        return (uint8_t)(RANKS / 2 - 1 - large - (p->c->count[at] == 0));
    double less = p->limits->differ - sum;
    const unsigned half = RANKS / 2;
    return (uint8_t)(half + (less < half - 1 ? (unsigned)less : half - 1));
}

static int make_room(struct nt_open_cells *s, size_t cells, struct nt_err *err)
{
    if (cells <= s->capacity)
        return 0;
    struct nt_open_cells n = {.capacity = cells,
                              .open = malloc(cells * sizeof *n.open),
                              .sorted = malloc(cells * sizeof *n.sorted),
                              .rank = malloc(cells)};
    if (n.open == NULL || n.sorted == NULL || n.rank == NULL) {
        nt_open_cells_fini(&n);
        return nt_err_memory(err);
    }
    nt_open_cells_fini(s);
    *s = n;
    return 0;
}

/* Open cells by rank. Most cells are not open, and found so by their sums alone, in order. */
static size_t sort_open(struct planning *p)
{
    struct nt_open_cells *s = p->scratch;
    size_t n = 0, start[RANKS + 1] = {0};
    float differ = (float)(p->c->strict ? p->limits->certain : p->limits->differ);
    for (size_t x = 1; x < p->clusters; x++) {
        const float *sum = p->c->sum + nt_cell_at(p->here[x], 0);
        for (size_t y = 0; y < x; y++) {
            if (sum[p->here[y]] <= differ || !is_open(p, p->here[x], p->here[y]))
                continue;
            s->open[n].a = p->here[x];
            s->open[n].b = p->here[y];
            s->rank[n] = rank_of(p, p->here[x], p->here[y]);
            start[s->rank[n++] + 1]++;
        }
    }
    for (size_t r = 0; r < RANKS; r++)
        start[r + 1] += start[r];
    for (size_t i = 0; i < n; i++)
        s->sorted[start[s->rank[i]]++] = s->open[i];
    return n;
}

static int measure_open(struct planning *p, struct nt_err *err)
{
    if (make_room(p->scratch, p->clusters * (p->clusters - 1) / 2 + 1, err) < 0)
        return -1;
    size_t n = sort_open(p);
    for (size_t i = 0; i < n; i++) {
        uint32_t a = p->scratch->sorted[i].a, b = p->scratch->sorted[i].b;
        bool hot = (double)p->c->sum[nt_cell_at(a, b)] > HOT;
        for (int k = hot ? HOT_AT_ONCE : 1; k > 0 && add_measurement(p, a, b); k--)
            ;
    }
    for (int k = 0; k < DEPTH; k++)
        for (size_t i = 0; i < n; i++)
            if (is_open(p, p->scratch->sorted[i].a, p->scratch->sorted[i].b))
                add_measurement(p, p->scratch->sorted[i].a, p->scratch->sorted[i].b);
    p->open += n;
    return 0;
}

/* Adds measurements for open cells of a block to the round, of hosts that are not in it yet. Sets
 * planned, and done when no cell is open. */
static int add_block_pairs(struct nt_clustering *m, uint32_t block, struct nt_rng *rng,
                           struct nt_open_cells *scratch, struct nt_round_pairs *round,
                           struct nt_err *err)
{
    struct nt_cells *c = m->block[block];
    struct planning p = {
        .c = c, .block = block, .limits = &m->limits, .round = round, .scratch = scratch};
    size_t before = round->count;
    int rc = 0;
    c->planned = 0;
    if (c->done)
        return 0;
    if (find_here(&p, m->lost, rng, err) < 0)
        return -1;
    if (p.clusters > 1)
        rc = measure_open(&p, err);
    c->done = rc == 0 && p.open == 0;
    c->planned = round->count - before;
    free(p.here);
    return rc;
}

/* What is higher comes first: it decides where the others belong. */
static int add_blocks(struct nt_clustering *m, struct nt_rng *rng, struct nt_open_cells *scratch,
                      struct nt_round_pairs *round, struct nt_err *err)
{
    memset(round->busy, 0, m->seats * sizeof *round->busy);
    round->count = 0;
    for (size_t l = m->clusters.levels; l-- > 0;)
        for (uint32_t s = 0; s < m->slots; s++)
            if (m->block[s] != NULL && m->block[s]->level == l &&
                add_block_pairs(m, s, rng, scratch, round, err) < 0)
                return -1;
    return 0;
}

int nt_round_clusters(struct nt_clustering *m, struct nt_rng *rng, struct nt_open_cells *scratch,
                      struct nt_round_pairs *round, struct nt_err *err)
{
    while (!m->over) {
        if (nt_clustering_settle(m, err) < 0 || add_blocks(m, rng, scratch, round, err) < 0)
            return -1;
        /* who has little left takes the next step now, not after a round for so little */
        int advanced = nt_clustering_advance(m, err);
        if (advanced < 0)
            return -1;
        if (!advanced && round->count > 0)
            return 1;
        if (!advanced)
            nt_clustering_finish(m);
    }
    round->count = 0;
    return 0;
}

int nt_round_clusters_tell(struct nt_clustering *m, const struct nt_round_pairs *round, size_t n,
                           const float *ln, struct nt_err *err)
{
    for (size_t k = 0; k < n; k++) {
        uint32_t block = round->cell[k].block, a = round->cell[k].a, b = round->cell[k].b;
        if (isnan(ln[k]))
            nt_cells_miss(m->block[block], a, b);
        else if (nt_clustering_note(m, block, a, b, round->seat[k], ln[k], err) < 0)
            return -1;
    }
    for (size_t k = 0; k < n; k++)
        if (nt_clustering_decide(m, round->cell[k].block, round->cell[k].a, round->cell[k].b, err) <
            0)
            return -1;
    return 0;
}
