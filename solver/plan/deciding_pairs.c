/* SPDX-License-Identifier: Apache-2.0 */
#include "deciding_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "rng.h"
#include "rooted_tree.h"
#include "stats.h"

enum { STEPS = 3, MATES_MIN = 4, NO_SWITCH = UINT32_MAX };

/* In robust standard deviations: so far below what both hosts' other pairs make expect. */
static const float LOW = -2.5F;

/* No noise is taken to be less than this share of a reading. */
static const float NOISE_LEAST = 0.0025F;

/* What is measured first: groups, by their support; then low pairs, the lowest first; then those
 * that do not fit. Controls last. */
static const float RANK_GROUP = -1000, RANK_LOWEST = -900, RANK_OFF = 0, RANK_CONTROL = 1000;

struct wanted {
    uint32_t a, b;
    float rank;
};

struct work {
    const struct nt_model *model;
    const struct nt_matrix *latency;
    size_t hosts, present;
    uint32_t *participant; /* present of them: those that take part */
    uint32_t *at;     /* hosts: the switch that the host is on; NO_SWITCH: none, or it is missing */
    uint32_t *member; /* scratch: hosts of one switch or group */
    uint32_t *branch; /* scratch, hosts: of a group, the one that the host is in */
    float *middle;    /* scratch, hosts */
    float *value;     /* scratch, pairs of one switch */
    size_t wanted_count, capacity;
    struct wanted *wanted;
    struct nt_rng rng;
    struct nt_arena memory; /* of all arrays */
};

/* ---- wanted pairs --------------------------------------------------------------------------- */

static int add_wanted(struct work *w, uint32_t a, uint32_t b, float rank, struct nt_err *err)
{
    w->wanted =
        nt_arena_grow(&w->memory, w->wanted, &w->capacity, w->wanted_count + 1, sizeof *w->wanted);
    if (nt_arena_check(&w->memory, err) != 0)
        return -1;
    w->wanted[w->wanted_count++] = (struct wanted){a < b ? a : b, a < b ? b : a, rank};
    return 0;
}

/* The smaller of both directions, as inference takes it; NaN: not measured. */
static float reading_of(const struct work *w, uint32_t a, uint32_t b)
{
    return fminf(nt_matrix_get(w->latency, a, b), nt_matrix_get(w->latency, b, a));
}

/* In rounds of the circle method, which rank is the number of. */
static int want_all_pairs(struct work *w, struct nt_err *err)
{
    size_t n = w->present, circle = n % 2 == 0 ? n - 1 : n;
    for (size_t j = 1; j < n; j++)
        for (size_t i = 0; i < j; i++) {
            size_t round = (j < circle ? i + j : 2 * i) % circle;
            if (add_wanted(w, w->participant[i], w->participant[j], (float)round, err) < 0)
                return -1;
        }
    return 0;
}

/* Of many hosts each a few pairs, none within a branch. */
static int want_some_pairs(struct work *w, size_t n, double support, struct nt_err *err)
{
    nt_rng_shuffle(&w->rng, w->member, n);
    for (size_t i = 0; i < n; i++)
        for (size_t step = 1; step <= STEPS && 2 * step <= n; step++) {
            uint32_t a = w->member[i], b = w->member[(i + step) % n];
            if (w->branch[a] != w->branch[b] &&
                add_wanted(w, a, b, RANK_GROUP + (float)support, err) < 0)
                return -1;
        }
    return 0;
}

/* Adds host[from..till) as a branch of a group that has n hosts; how many it has then. */
static size_t add_branch(struct work *w, const uint32_t *host, size_t from, size_t till,
                         uint32_t branch, size_t n)
{
    for (size_t k = from; k < till; k++) {
        w->branch[host[k]] = branch;
        if (w->at[host[k]] != NO_SWITCH)
            w->member[n++] = host[k];
    }
    return n;
}

/* Pairs that meet at v and are not below the child apart: of the group that its link parts. */
static int want_group(struct work *w, const struct nt_rooted_tree *h, uint32_t v, uint32_t apart,
                      double support, struct nt_err *err)
{
    size_t n = 0;
    for (uint32_t c = h->first[v]; c < h->first[v + 1]; c++) {
        uint32_t child = h->child[c];
        if (child != apart)
            n = add_branch(w, h->host, h->head[child], h->tail[child], child, n);
    }
    if (apart != NT_NO_VERTEX && h->parent[v] != NT_NO_VERTEX) {
        n = add_branch(w, h->host, 0, h->head[v], v, n);
        n = add_branch(w, h->host, h->tail[v], nt_rooted_tree_count(h, h->top), v, n);
    }
    return want_some_pairs(w, n, support, err);
}

/* An uncertain link: the smaller of the two groups that it separates. */
static int want_groups(struct work *w, struct nt_err *err)
{
    struct nt_rooted_tree *h;
    int rc = 0;
    if (nt_rooted_tree_create(w->model, &h, err) != 0)
        return -1;
    for (size_t k = 0; h->tree && rc == 0 && k < w->model->links; k++) {
        const struct nt_link *l = &w->model->link[k];
        if (l->a < w->hosts || l->b < w->hosts || l->probability >= NT_DECIDING_PAIRS_SUPPORT)
            continue;
        uint32_t low = h->parent[l->a] == l->b ? l->a : l->b, high = low == l->a ? l->b : l->a;
        bool most = 2 * nt_rooted_tree_count(h, low) > nt_rooted_tree_count(h, h->top);
        rc = most ? want_group(w, h, high, low, l->probability, err)
                  : want_group(w, h, low, NT_NO_VERTEX, l->probability, err);
    }
    nt_rooted_tree_destroy(h);
    return rc;
}

/* What a host reads with the others of its switch. */
static void find_middles(struct work *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t known = 0;
        for (size_t j = 0; j < n; j++) {
            float us = i == j ? NAN : reading_of(w, w->member[i], w->member[j]);
            if (!isnan(us))
                w->value[known++] = us;
        }
        w->middle[i] = nt_stats_median(w->value, known);
    }
}

/* Those of one switch that are low for both their hosts. */
static int want_low_pairs(struct work *w, size_t n, struct nt_err *err)
{
    size_t known = 0;
    find_middles(w, n);
    for (size_t i = 0; i < n; i++)
        if (!isnan(w->middle[i]))
            w->value[known++] = w->middle[i];
    float centre = nt_stats_median(w->value, known);
    known = 0;
    for (size_t j = 1; j < n; j++)
        for (size_t i = 0; i < j; i++) {
            float off =
                reading_of(w, w->member[i], w->member[j]) + centre - w->middle[i] - w->middle[j];
            if (!isnan(off))
                w->value[known++] = off;
        }
    if (known == 0)
        return 0;
    float sd = fmaxf(nt_stats_mad(w->value, known), NOISE_LEAST * centre);
    for (size_t j = 1; j < n; j++)
        for (size_t i = 0; i < j; i++) {
            float off =
                reading_of(w, w->member[i], w->member[j]) + centre - w->middle[i] - w->middle[j];
            if (off < LOW * sd &&
                add_wanted(w, w->member[i], w->member[j], fmaxf(off / sd, RANK_LOWEST), err) < 0)
                return -1;
        }
    return 0;
}

static int want_hidden_pairs(struct work *w, struct nt_err *err)
{
    for (uint32_t s = 0; s < w->model->switches; s++) {
        size_t n = 0;
        for (size_t k = 0; k < w->present; k++)
            if (w->at[w->participant[k]] == w->hosts + s)
                w->member[n++] = w->participant[k];
        if (n < MATES_MIN)
            continue;
        NT_SCOPED struct nt_arena memory = {0};
        w->value = nt_arena_array(&memory, n * (n - 1) / 2 + n, sizeof *w->value);
        if (nt_arena_check(&memory, err) != 0 || want_low_pairs(w, n, err) < 0)
            return -1;
    }
    return 0;
}

static int want_pairs_off(struct work *w, struct nt_err *err)
{
    for (size_t k = 0; k < w->model->pairs_off; k++) {
        uint32_t a = w->model->pair_off[k][0], b = w->model->pair_off[k][1];
        if (w->at[a] != NO_SWITCH && w->at[b] != NO_SWITCH &&
            add_wanted(w, a, b, RANK_OFF, err) < 0)
            return -1;
    }
    return 0;
}

/* One for each pair that decides: one of its hosts with any other host. */
static int want_controls(struct work *w, struct nt_err *err)
{
    size_t n = w->wanted_count;
    for (size_t k = 0; k < n; k++) {
        uint32_t a = k % 2 == 0 ? w->wanted[k].a : w->wanted[k].b;
        uint32_t b = w->participant[nt_rng_below(&w->rng, w->present)];
        if (a != b && add_wanted(w, a, b, RANK_CONTROL, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static int by_pair(const void *x, const void *y)
{
    const struct wanted *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    if (p->b != q->b)
        return p->b < q->b ? -1 : 1;
    return p->rank < q->rank ? -1 : p->rank > q->rank;
}

static int by_rank(const void *x, const void *y)
{
    const struct wanted *p = x, *q = y;
    if (p->rank < q->rank || p->rank > q->rank)
        return p->rank < q->rank ? -1 : 1;
    return by_pair(x, y);
}

/* Each pair once, in the order of ranks. */
static void sort_wanted(struct work *w)
{
    size_t kept = 0;
    if (w->wanted_count == 0)
        return;
    qsort(w->wanted, w->wanted_count, sizeof *w->wanted, by_pair);
    for (size_t k = 0; k < w->wanted_count; k++)
        if (kept == 0 || w->wanted[k].a != w->wanted[kept - 1].a ||
            w->wanted[k].b != w->wanted[kept - 1].b)
            w->wanted[kept++] = w->wanted[k];
    w->wanted_count = kept;
    qsort(w->wanted, w->wanted_count, sizeof *w->wanted, by_rank);
}

/* The first round in which both are free; rounds: there is none. */
static size_t free_round(const bool *busy, size_t hosts, size_t rounds, const struct wanted *wanted)
{
    size_t r = 0;
    while (r < rounds && (busy[r * hosts + wanted->a] || busy[r * hosts + wanted->b]))
        r++;
    return r;
}

/* Gives each wanted pair its round, most where there is none left; controls open no new round. */
static void assign_rounds(const struct work *w, bool *busy, size_t most, size_t *round,
                          struct nt_deciding_pairs *d)
{
    for (size_t k = 0; k < w->wanted_count; k++) {
        bool decides = w->wanted[k].rank < RANK_CONTROL;
        size_t r = free_round(busy, w->hosts, decides ? most : d->rounds, &w->wanted[k]);
        round[k] = most;
        if (r == (decides ? most : d->rounds))
            continue;
        busy[r * w->hosts + w->wanted[k].a] = busy[r * w->hosts + w->wanted[k].b] = true;
        round[k] = r;
        d->rounds = r >= d->rounds ? r + 1 : d->rounds;
        d->deciding += decides;
    }
}

static void list_rounds(const struct work *w, const size_t *round, struct nt_deciding_pairs *d)
{
    size_t n = 0;
    for (size_t r = 0; r < d->rounds; r++) {
        d->start[r] = n;
        for (size_t k = 0; k < w->wanted_count; k++)
            if (round[k] == r) {
                d->pair[n][0] = w->wanted[k].a;
                d->pair[n++][1] = w->wanted[k].b;
            }
    }
    d->start[d->rounds] = n;
}

static int plan_rounds(const struct work *w, size_t most, struct nt_deciding_pairs *out,
                       struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *busy = nt_arena_array(&memory, most * w->hosts, sizeof *busy);
    size_t *round = nt_arena_array(&memory, w->wanted_count, sizeof *round);
    struct nt_deciding_pairs d = {0};
    d.start = nt_arena_array(&d.memory, most + 1, sizeof *d.start);
    d.pair = nt_arena_array(&d.memory, w->wanted_count, sizeof *d.pair);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&d.memory, err) != 0) {
        nt_deciding_pairs_fini(&d);
        return -1;
    }
    assign_rounds(w, busy, most, round, &d);
    list_rounds(w, round, &d);
    *out = d;
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int work_init(struct work *w, const bool *missing, struct nt_err *err)
{
    const struct nt_model *m = w->model;
    size_t n = w->hosts + 1;
    w->participant = nt_arena_array(&w->memory, n, sizeof *w->participant);
    w->at = nt_arena_array(&w->memory, n, sizeof *w->at);
    w->member = nt_arena_array(&w->memory, n, sizeof *w->member);
    w->branch = nt_arena_array(&w->memory, n, sizeof *w->branch);
    w->middle = nt_arena_array(&w->memory, n, sizeof *w->middle);
    if (nt_arena_check(&w->memory, err) != 0)
        return -1;
    memset(w->at, 0xff, n * sizeof *w->at);
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        if (a < w->hosts && b >= w->hosts && !m->missing[a] && (missing == NULL || !missing[a]))
            w->at[a] = b;
    }
    for (uint32_t h = 0; h < w->hosts; h++)
        if (w->at[h] != NO_SWITCH)
            w->participant[w->present++] = h;
    return 0;
}

int nt_deciding_pairs_find(const struct nt_model *model, const struct nt_matrix *latency,
                           const bool *missing, size_t most_rounds, uint64_t seed,
                           struct nt_deciding_pairs *out, struct nt_err *err)
{
    struct work w = {.model = model, .latency = latency, .hosts = model->hosts};
    nt_rng_init(&w.rng, seed);
    int rc = work_init(&w, missing, err);
    if (rc == 0 && w.present > 1 && w.present <= NT_DECIDING_PAIRS_FEW)
        rc = want_all_pairs(&w, err);
    else if (rc == 0 && w.present > NT_DECIDING_PAIRS_FEW)
        rc = want_groups(&w, err) < 0 || want_hidden_pairs(&w, err) < 0 ||
                     want_pairs_off(&w, err) < 0 || want_controls(&w, err) < 0
                 ? -1
                 : 0;
    if (rc == 0) {
        sort_wanted(&w);
        rc = plan_rounds(&w, most_rounds, out, err);
    }
    nt_arena_fini(&w.memory);
    return rc;
}

void nt_deciding_pairs_fini(struct nt_deciding_pairs *d)
{
    nt_arena_fini(&d->memory);
    *d = (struct nt_deciding_pairs){0};
}
