/* SPDX-License-Identifier: Apache-2.0 */
#include "rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

/* ---- calibration ---- */

enum { BATCHES_FIRST = 3, BATCHES_MAX = 16, FEW_PAIRS = 8 };

static const double WANTED_SD = 0.012;
static const double READING_US = 20e3;           /* limit of the duration of a reading */
static const double CHI_SQUARE_2_MEDIAN = 0.693; /* over 2: of a variance from three batches */

/* Few hosts: there must be pairs under one switch of four among the random ones. */
static unsigned random_matchings(size_t seats)
{
    unsigned matchings = seats < 200 ? 5 : 2;
    return seats - 1 < matchings ? (unsigned)seats - 1 : matchings;
}

int nt_calibrate_init(struct nt_calibrate *c, size_t seats, uint32_t pings, struct nt_err *err)
{
    *c = (struct nt_calibrate){
        .seats = seats, .pings = pings, .batches = BATCHES_FIRST, .most = BATCHES_MAX};
    if (seats < 2)
        return 0;
    c->matchings = 2 + random_matchings(seats);
    c->capacity = c->matchings * (seats / 2);
    c->pair = calloc(c->capacity, sizeof *c->pair);
    c->order = calloc(seats, sizeof *c->order);
    c->scratch = calloc(c->capacity, sizeof *c->scratch);
    if (c->pair == NULL || c->order == NULL || c->scratch == NULL) {
        nt_calibrate_fini(c);
        return nt_err_memory(err);
    }
    for (uint32_t i = 0; i < seats; i++)
        c->order[i] = i;
    return 0;
}

void nt_calibrate_fini(struct nt_calibrate *c)
{
    free(c->pair);
    free(c->order);
    free(c->scratch);
    *c = (struct nt_calibrate){0};
}

static void begin_matching(struct nt_calibrate *c, struct nt_rng *rng)
{
    c->from = c->count;
    if (c->matching >= 2)
        nt_rng_shuffle(rng, c->order, c->seats);
    for (size_t i = c->matching == 1; i + 1 < c->seats && c->count < c->capacity; i += 2)
        memcpy(c->pair[c->count++], &c->order[i], sizeof *c->pair);
}

int nt_calibrate_next(struct nt_calibrate *c, struct nt_rng *rng)
{
    if (c->second)
        return 1;
    while (c->matching < c->matchings) {
        if (c->matching == 0 && c->count > 0) /* the first one again, with more batches */
            return 1;
        begin_matching(c, rng);
        if (c->count > c->from)
            return 1;
        c->matching++;
    }
    return 0;
}

/* From the standard errors within readings (the median: outliers), or unknown. For a few pairs all
 * may be small by chance, and classes would merge, so these get the most batches. */
static uint32_t batches_for(const float *se, size_t n, uint32_t had, float *scratch)
{
    size_t seen = 0;
    for (size_t k = 0; k < n; k++)
        if (se[k] > 0)
            scratch[seen++] = se[k] * se[k];
    if (seen == 0)
        return had;
    if (n < FEW_PAIRS)
        return BATCHES_MAX;
    double variance = (double)nt_stats_median(scratch, seen) / CHI_SQUARE_2_MEDIAN * had;
    const double LITTLE = 0.2; /* of a batch: no further one for so little */
    double want = ceil(variance / (WANTED_SD * WANTED_SD) - LITTLE);
    return want < 2 ? 2 : want > BATCHES_MAX ? BATCHES_MAX : (uint32_t)want;
}

/* Where pings are slow a round is not to take much longer for them than it does anyway. */
static uint32_t affordable_batches(const struct nt_calibrate *c, const float *ln)
{
    size_t n = 0;
    for (size_t k = 0; k < c->count - c->from; k++)
        if (!isnan(ln[k]))
            c->scratch[n++] = ln[k];
    if (n == 0 || c->pings == 0)
        return BATCHES_MAX;
    double batch_us = 2 * exp((double)nt_stats_median(c->scratch, n)) * c->pings;
    double most = fmin(fmax(floor(READING_US / batch_us), BATCHES_FIRST), BATCHES_MAX);
    return (uint32_t)most;
}

static bool settle_batches(struct nt_calibrate *c, const float *ln, const float *se)
{
    c->most = affordable_batches(c, ln);
    uint32_t want = batches_for(se, c->count - c->from, c->batches, c->scratch);
    want = want < c->most ? want : c->most;
    bool again = 2 * want > 3 * c->batches;
    c->settled = true;
    c->batches = want; /* two or more: they show a standard error */
    return !again;
}

void nt_calibrate_tell(struct nt_calibrate *c, const float *ln, const float *se)
{
    if (!c->settled && !settle_batches(c, ln, se))
        return;
    if (c->second)
        c->matching++;
    c->second = !c->second;
}

/* ---- clusters ---- */

enum { TRIES = 60, SMALL = 2, HOT_AT_ONCE = 4, RANKS = 64, DEPTH = 2 };

static const double HOT = 2; /* probably equal: worth several measurements per round */

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
    d->cell[d->count] = (struct nt_block_cell){p->block, a > b ? a : b, a > b ? b : a};
    x->idle--;
    y->idle--;
    nt_round_pairs_add(d, x->seat[x->idle], y->seat[y->idle]);
    return true;
}

/* Moves hosts that can be measured to the front; returns whether any of the cluster's hosts
 * answers. */
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

/* Whether the hosts of a cluster are contiguous in the order. */
static bool is_compact(const struct nt_cluster *k)
{
    return k->high - k->low < 2 * k->size;
}

/* Whether a straggler is within the other cluster in the order. */
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

/* Higher levels come first, since they determine the place of the others. */
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
        /* a block with few open cells takes the next step now, not after a round for few pairs */
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
        const struct nt_block_cell *cell = &round->cell[k];
        if (isnan(ln[k]))
            nt_cells_count_failure(m->block[cell->block], cell->a, cell->b);
        else if (nt_clustering_note(m, cell, round->seat[k], ln[k], err) < 0)
            return -1;
    }
    for (size_t k = 0; k < n; k++)
        if (nt_clustering_decide(m, &round->cell[k], err) < 0)
            return -1;
    return 0;
}

/* ---- hosts on longer links ---- */

static bool is_idle(const struct nt_found_tree *t, const struct nt_slow_host *h,
                    const struct nt_round_pairs *round)
{
    return !h->placed && !t->lost[h->seat] && !round->busy[h->seat];
}

int nt_round_slow(const struct nt_found_tree *t, struct nt_round_pairs *round, struct nt_err *err)
{
    int late_count = 0;
    for (size_t k = 0; k < t->slow->count; k++) {
        const struct nt_slow_host *h = &t->slow->host[k];
        uint32_t partner;
        bool late;
        if (!is_idle(t, h, round))
            continue;
        if (nt_slow_partner(t, h->seat, round->busy, &partner, &late, err) < 0)
            return -1;
        if (partner != NT_SLOW_NONE)
            nt_round_pairs_add(round, h->seat, partner);
        late_count += late;
    }
    return late_count;
}

int nt_round_slow_early(const struct nt_found_tree *t, struct nt_rng *rng,
                        struct nt_round_pairs *round, struct nt_err *err)
{
    for (size_t k = 0; k < t->slow->count; k++) {
        const struct nt_slow_host *h = &t->slow->host[k];
        uint32_t from = (uint32_t)nt_rng_below(rng, 2 * t->seats), partner;
        if (!is_idle(t, h, round))
            continue;
        from = from < t->seats ? from : h->seat;
        if (nt_slow_any_partner(t, h->seat, from, round->busy, &partner, err) < 0)
            return -1;
        if (partner != NT_SLOW_NONE)
            nt_round_pairs_add(round, h->seat, partner);
    }
    return 0;
}

/* ---- tests ---- */

enum { LOOK = 256 };

struct member {
    uint32_t cluster, child, seat;
    uint64_t key; /* random */
};

struct round {
    const struct nt_found_tree *claim;
    const struct nt_finding *finding;
    struct nt_round_pairs *round;
    struct member *member; /* of a level: cluster by cluster, shuffled inside */
    size_t members;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return NT_ORDER(x->cluster, y->cluster,
                    NT_ORDER(x->key, y->key, NT_ORDER(x->seat, y->seat, 0)));
}

static void gather_level(struct round *r, size_t level, struct nt_rng *rng)
{
    const struct nt_found_tree *c = r->claim;
    r->members = 0;
    for (uint32_t i = 0; i < c->seats; i++)
        if (!c->lost[i])
            r->member[r->members++] = (struct member){
                nt_clusters_find(c->clusters, level, i),
                level > 0 ? nt_clusters_find(c->clusters, level - 1, i) : i, i, nt_rng_next(rng)};
    qsort(r->member, r->members, sizeof *r->member, compare_members);
}

/* The partner of member k among from..till-1: a host that also needs a test, or any. */
static void find_partner(struct round *r, size_t level, size_t k, size_t from, size_t till)
{
    const uint8_t *want = r->finding->want + level * r->claim->seats;
    const struct member *me = &r->member[k];
    size_t other = till, n = till - from;
    for (size_t step = 1; step < n && step <= LOOK; step++) {
        size_t at = from + (k - from + step) % n;
        const struct member *m = &r->member[at];
        if (m->child == me->child || r->round->busy[m->seat] ||
            nt_readings_have(r->claim->readings, me->seat, m->seat) ||
            nt_readings_failed(r->claim->readings, me->seat, m->seat))
            continue;
        if (other == till || want[m->seat] > 0)
            other = at;
        if (want[m->seat] > 0)
            break;
    }
    if (other != till)
        nt_round_pairs_add(r->round, me->seat, r->member[other].seat);
}

static void test_level(struct round *r, size_t level)
{
    const uint8_t *want = r->finding->want + level * r->claim->seats;
    for (size_t from = 0, till; from < r->members; from = till) {
        for (till = from; till < r->members && r->member[till].cluster == r->member[from].cluster;)
            till++;
        for (size_t k = from; k < till; k++)
            if (want[r->member[k].seat] > 0 && !r->round->busy[r->member[k].seat])
                find_partner(r, level, k, from, till);
    }
}

/* The level with most open tests, except finished ones. */
static size_t neediest_level(const struct nt_found_tree *c, const struct nt_finding *f,
                             const bool *done)
{
    size_t best = c->classes->count, most = 0;
    for (size_t l = 0; l < c->classes->count; l++) {
        size_t sum = 0;
        for (size_t i = 0; i < c->seats && !done[l]; i++)
            sum += f->want[l * c->seats + i];
        if (sum > most) {
            most = sum;
            best = l;
        }
    }
    return best;
}

int nt_round_tests(const struct nt_found_tree *c, const struct nt_finding *f, struct nt_rng *rng,
                   struct nt_round_pairs *round, struct nt_err *err)
{
    struct round r = {.claim = c, .finding = f, .round = round};
    bool done[NT_CLASSES_MAX] = {0};
    r.member = calloc(c->seats + 1, sizeof *r.member);
    if (r.member == NULL)
        return nt_err_memory(err);
    memset(round->busy, 0, c->seats * sizeof *round->busy);
    round->count = 0;
    for (size_t k = 0; k < f->rechecks; k++)
        if (!round->busy[f->recheck[k].a] && !round->busy[f->recheck[k].b])
            nt_round_pairs_add(round, f->recheck[k].a, f->recheck[k].b);
    for (size_t l; (l = neediest_level(c, f, done)) < c->classes->count; done[l] = true) {
        gather_level(&r, l, rng);
        test_level(&r, l);
    }
    free(r.member);
    return 0;
}

void nt_round_pairs_fill(size_t seats, const bool *lost, struct nt_round_pairs *round)
{
    uint32_t waiting = UINT32_MAX;
    for (uint32_t i = 0; i < seats; i++) {
        if (lost[i])
            continue;
        if (waiting != UINT32_MAX)
            nt_round_pairs_add(round, waiting, i);
        waiting = waiting == UINT32_MAX ? i : UINT32_MAX;
    }
}
