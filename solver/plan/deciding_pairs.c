/* SPDX-License-Identifier: Apache-2.0 */
#include "deciding_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "rng.h"

enum { NO_SWITCH = UINT32_MAX };

struct wanted {
    uint32_t a, b;
    size_t rank; /* the least is measured first */
};

struct work {
    const struct nt_model *model;
    size_t hosts, present;
    uint32_t *participant; /* the present participants */
    uint32_t *at; /* hosts: the switch that the host is on; NO_SWITCH: none, or it is missing */
    size_t wanted_count, capacity;
    struct wanted *wanted;
    size_t controls; /* pairs from this rank on decide nothing */
    struct nt_rng rng;
    struct nt_arena memory; /* of all arrays */
};

/* ---- wanted pairs --------------------------------------------------------------------------- */

static int add_wanted(struct work *w, uint32_t a, uint32_t b, size_t rank, struct nt_err *err)
{
    w->wanted =
        nt_arena_grow(&w->memory, w->wanted, &w->capacity, w->wanted_count + 1, sizeof *w->wanted);
    if (nt_arena_check(&w->memory, err) != 0)
        return -1;
    w->wanted[w->wanted_count++] = (struct wanted){a < b ? a : b, a < b ? b : a, rank};
    return 0;
}

/* In rounds of the circle method, which rank is the number of. */
static int want_all_pairs(struct work *w, struct nt_err *err)
{
    size_t n = w->present, circle = n % 2 == 0 ? n - 1 : n;
    for (size_t j = 1; j < n; j++)
        for (size_t i = 0; i < j; i++) {
            size_t round = (j < circle ? i + j : 2 * i) % circle;
            if (add_wanted(w, w->participant[i], w->participant[j], round, err) < 0)
                return -1;
        }
    return 0;
}

static int want_pairs(struct work *w, uint32_t (*pair)[2], size_t count, struct nt_err *err)
{
    for (size_t k = 0; k < count; k++)
        if (w->at[pair[k][0]] != NO_SWITCH && w->at[pair[k][1]] != NO_SWITCH &&
            add_wanted(w, pair[k][0], pair[k][1], w->wanted_count, err) < 0)
            return -1;
    return 0;
}

/* One for each pair that decides: one of its hosts with any other host. */
static int want_controls(struct work *w, struct nt_err *err)
{
    w->controls = w->wanted_count;
    for (size_t k = 0; k < w->controls; k++) {
        uint32_t a = k % 2 == 0 ? w->wanted[k].a : w->wanted[k].b;
        uint32_t b = w->participant[nt_rng_below(&w->rng, w->present)];
        if (a != b && add_wanted(w, a, b, w->wanted_count, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static int by_pair(const void *x, const void *y)
{
    const struct wanted *p = x, *q = y;
    return NT_ORDER(p->a, q->a, NT_ORDER(p->b, q->b, NT_ORDER(p->rank, q->rank, 0)));
}

static int by_rank(const void *x, const void *y)
{
    const struct wanted *p = x, *q = y;
    return NT_ORDER(p->rank, q->rank, by_pair(x, y));
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
        bool decides = w->wanted[k].rank < w->controls;
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

int nt_deciding_pairs_find(const struct nt_model *model, const bool *missing, size_t most_rounds,
                           uint64_t seed, struct nt_deciding_pairs *out, struct nt_err *err)
{
    struct work w = {.model = model, .hosts = model->hosts, .controls = SIZE_MAX};
    nt_rng_init(&w.rng, seed);
    int rc = work_init(&w, missing, err);
    if (rc == 0 && w.present > 1 && w.present <= NT_DECIDING_PAIRS_FEW)
        rc = want_all_pairs(&w, err);
    else if (rc == 0 && w.present > NT_DECIDING_PAIRS_FEW)
        rc = want_pairs(&w, model->deciding_pair, model->deciding, err) < 0 ||
                     want_pairs(&w, model->pair_off, model->pairs_off, err) < 0 ||
                     want_controls(&w, err) < 0
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
