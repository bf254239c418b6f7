#include "cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 60, SMALL = 2, HOT_AT_ONCE = 4, RANKS = 64, DEPTH = 2 };

static const double HOT = 2; /* likely the same: worth more than one measurement a round */

void nt_cells_scratch_fini(struct nt_cells_scratch *s)
{
    free(s->open);
    free(s->sorted);
    free(s->rank);
    *s = (struct nt_cells_scratch){0};
}

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
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for the pairs of %zu clusters", all);
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
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu clusters", clusters);
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
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a cluster of %u hosts",
                          to->size + from->size);
    memcpy(seat + to->size, from->seat, from->size * sizeof *seat);
    to->seat = seat;
    to->size += from->size;
    free(from->seat);
    to->open |= from->open;
    to->low = from->low < to->low ? from->low : to->low;
    to->high = from->high > to->high ? from->high : to->high;
    *from = (struct nt_cluster){.gone = true};
    for (uint32_t k = 0; k < c->clusters; k++) {
        if (c->cluster[k].gone || k == a)
            continue;
        c->sum[nt_cell_at(a, k)] += c->sum[nt_cell_at(b, k)];
        count_up(&c->count[nt_cell_at(a, k)], c->count[nt_cell_at(b, k)]);
    }
    return a;
}

/* ---- planning ---------------------------------------------------------------------------------
 */

struct planning {
    struct nt_cells *c;
    uint32_t block;
    const struct nt_cell_limits *limits;
    struct nt_draw *draw;
    struct nt_cells_scratch *scratch;
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

static bool measure(struct planning *p, uint32_t a, uint32_t b)
{
    struct nt_cluster *x = &p->c->cluster[a], *y = &p->c->cluster[b];
    struct nt_draw *d = p->draw;
    if (x->idle == 0 || y->idle == 0)
        return false;
    d->seat[d->count][0] = x->seat[--x->idle];
    d->seat[d->count][1] = y->seat[--y->idle];
    d->busy[d->seat[d->count][0]] = d->busy[d->seat[d->count][1]] = true;
    d->cell[d->count].block = p->block;
    d->cell[d->count].a = a > b ? a : b;
    d->cell[d->count++].b = a > b ? b : a;
    return true;
}

/* Puts those that can be measured first; whether anybody of it answers. */
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
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu clusters", p->c->clusters);
    for (uint32_t k = 0; k < p->c->clusters; k++)
        if (!p->c->cluster[k].gone && shuffle_in(&p->c->cluster[k], lost, p->draw->busy, rng))
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

/* 0 is first: what looks the same, for that is close to an answer; then what no reading has told
 * different, with the largest cluster first, whose answer settles most hosts; then the least
 * certain. */
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
    return (uint8_t)(RANKS / 2 + (less < RANKS / 2 - 1 ? (unsigned)less : RANKS / 2 - 1));
}

static int make_room(struct nt_cells_scratch *s, size_t cells, struct nt_err *err)
{
    if (cells <= s->room)
        return 0;
    struct nt_cells_scratch n = {.room = cells,
                                 .open = malloc(cells * sizeof *n.open),
                                 .sorted = malloc(cells * sizeof *n.sorted),
                                 .rank = malloc(cells)};
    if (n.open == NULL || n.sorted == NULL || n.rank == NULL) {
        nt_cells_scratch_fini(&n);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu pairs of clusters", cells);
    }
    nt_cells_scratch_fini(s);
    *s = n;
    return 0;
}

/* Open cells by rank. Most cells are not open, and found so by their sums alone, in order. */
static size_t sort_open(struct planning *p)
{
    struct nt_cells_scratch *s = p->scratch;
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
        for (int k = hot ? HOT_AT_ONCE : 1; k > 0 && measure(p, a, b); k--)
            ;
    }
    for (int k = 0; k < DEPTH; k++)
        for (size_t i = 0; i < n; i++)
            if (is_open(p, p->scratch->sorted[i].a, p->scratch->sorted[i].b))
                measure(p, p->scratch->sorted[i].a, p->scratch->sorted[i].b);
    p->open += n;
    return 0;
}

int nt_cells_plan(struct nt_cells *c, uint32_t block, const struct nt_cell_limits *limits,
                  const bool *lost, struct nt_rng *rng, struct nt_cells_scratch *scratch,
                  struct nt_draw *draw, struct nt_err *err)
{
    struct planning p = {
        .c = c, .block = block, .limits = limits, .draw = draw, .scratch = scratch};
    size_t before = draw->count;
    int rc = 0;
    c->planned = 0;
    if (c->done)
        return 0;
    if (find_here(&p, lost, rng, err) < 0)
        return -1;
    if (p.clusters > 1)
        rc = measure_open(&p, err);
    c->done = rc == 0 && p.open == 0;
    c->planned = draw->count - before;
    free(p.here);
    return rc;
}
