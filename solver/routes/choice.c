/* SPDX-License-Identifier: Apache-2.0 */
#include "choice.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "normal.h"
#include "unknowns.h"

int nt_choice_create(const struct nt_routes *routes, struct nt_choice **out, struct nt_err *err)
{
    struct nt_choice *c = nt_object_create(sizeof *c, err);
    if (c == NULL)
        return -1;
    c->routes = routes;
    if (nt_choice_open(c, 64, err) != 0) {
        nt_choice_destroy(c);
        return -1;
    }
    *out = c;
    return 0;
}

void nt_choice_destroy(struct nt_choice *choice)
{
    if (choice != NULL)
        nt_arena_fini(&choice->rounds_busy);
    nt_object_destroy(choice);
}

int nt_choice_open(struct nt_choice *c, size_t rounds, struct nt_err *err)
{
    size_t words = (rounds + 63) / 64, things = c->routes->hosts + c->routes->links;
    if (words <= c->words)
        return 0;
    if (words < c->words * 2)
        words = c->words * 2;
    struct nt_arena memory = {0};
    uint64_t *busy = nt_arena_array(&memory, things * words, sizeof *busy);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < things && c->words > 0; k++)
        memcpy(busy + k * words, c->busy + k * c->words, c->words * sizeof *busy);
    nt_arena_fini(&c->rounds_busy);
    c->rounds_busy = memory;
    c->busy = busy;
    c->words = words;
    return 0;
}

static void flip_links(struct nt_choice *c, uint32_t pair, size_t round)
{
    const struct nt_routes *r = c->routes;
    uint64_t *word = c->busy + (round >> 6), bit = UINT64_C(1) << (round & 63);
    bool set = (word[r->host[pair][0] * c->words] & bit) == 0;
    for (int h = 0; h < 2; h++) {
        uint64_t *w = &word[r->host[pair][h] * c->words];
        *w = set ? *w | bit : *w & ~bit;
    }
    for (size_t k = r->start[pair]; k < r->start[pair + 1]; k++) {
        uint64_t *w = &word[(r->hosts + r->link[k]) * c->words];
        *w = set ? *w | bit : *w & ~bit;
    }
}

int nt_choice_add(struct nt_choice *c, uint32_t pair, size_t round, struct nt_err *err)
{
    c->pair = nt_arena_grow(&c->memory, c->pair, &c->pair_room, c->used + 1, sizeof *c->pair);
    c->round = nt_arena_grow(&c->memory, c->round, &c->round_room, c->used + 1, sizeof *c->round);
    if (nt_arena_check(&c->memory, err) != 0)
        return -1;
    c->pair[c->used] = pair;
    c->round[c->used++] = (uint32_t)round;
    flip_links(c, pair, round);
    return 0;
}

void nt_choice_toggle(struct nt_choice *c, size_t i)
{
    flip_links(c, c->pair[i], c->round[i]);
}

void nt_choice_replace(struct nt_choice *c, size_t i, uint32_t pair, size_t round)
{
    flip_links(c, c->pair[i], c->round[i]);
    c->pair[i] = pair;
    c->round[i] = (uint32_t)round;
    flip_links(c, pair, round);
}

void nt_choice_clear(struct nt_choice *c)
{
    c->used = 0;
    memset(c->busy, 0, (c->routes->hosts + c->routes->links) * c->words * sizeof *c->busy);
}

size_t nt_choice_rounds(const struct nt_choice *c)
{
    size_t rounds = 0;
    for (size_t i = 0; i < c->used; i++) {
        if (c->round[i] >= rounds)
            rounds = c->round[i] + (size_t)1;
    }
    return rounds;
}

struct placed {
    uint32_t round, pair;
};

static int earlier_round(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return NT_ORDER(x->round, y->round, NT_ORDER(x->pair, y->pair, 0));
}

int nt_choice_write(const struct nt_choice *c, struct nt_plan *plan, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct placed *placed = nt_arena_array(&memory, c->used + 1, sizeof *placed);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t i = 0; i < c->used; i++)
        placed[i] = (struct placed){.round = c->round[i], .pair = c->pair[i]};
    qsort(placed, c->used, sizeof *placed, earlier_round);
    plan->rounds = 0;
    for (size_t i = 0; i < c->used; i++) {
        plan->rounds += i == 0 || placed[i].round != placed[i - 1].round;
        plan->round[i] = (uint32_t)plan->rounds - 1;
        plan->pair[i][0] = c->routes->host[placed[i].pair][0];
        plan->pair[i][1] = c->routes->host[placed[i].pair][1];
    }
    return 0;
}

/* ---- how much a set amplifies noise --------------------------------------------------------- */

enum { CONDITION_LINKS_MAX = 200000 };

/* Limit of the entries that tracing visits per pair: sparse bases stay far below, and for others
 * the normal equations are faster. */
enum { TRACE_WORK = 4000 };

struct total {
    double sum, most;
    size_t links;
};

static void add_link(struct total *t, double variance)
{
    t->sum += variance;
    t->most = variance > t->most ? variance : t->most;
    t->links++;
}

static void sum_up(const struct nt_unknowns *u, const double *variance, struct total *t)
{
    for (size_t k = 0; k < u->count; k++) {
        if (nt_unknowns_alone(u, u->link[k]))
            add_link(t, variance[k]);
    }
}

/* The fraction of small terms that equals a modulo the prime (Wang, Guy and Davenport, 1982): the
 * remainders of Euclid's algorithm, stopped half way; NaN: there is none. */
static double prime_fraction(uint64_t a)
{
    const int64_t bound = INT64_C(1) << 30;
    int64_t r0 = (int64_t)NT_ECHELON_PRIME, r1 = (int64_t)a, t0 = 0, t1 = 1;
    while (r1 >= bound) {
        int64_t q = r0 / r1, r = r0 - q * r1, t = t0 - q * t1;
        r0 = r1;
        r1 = r;
        t0 = t1;
        t1 = t;
    }
    return t1 == 0 || llabs(t1) >= bound ? NAN : (double)r1 / (double)t1;
}

/* The variance of the link that leads a row of traces only: each pair's share, squared. Links that
 * depend on others, which no pair distinguishes, are left out. false: no small fractions. */
static bool add_row(const struct nt_echelon *e, uint32_t link, const double *share, struct total *t)
{
    const uint32_t *column;
    const uint64_t *value;
    size_t n = nt_echelon_row(e, link, &column, &value);
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        if (column[k] < e->links)
            return true;
        double part = prime_fraction(value[k]) * share[column[k] - e->links];
        sum += part * part;
    }
    if (!isfinite(sum))
        return false;
    add_link(t, sum);
    return true;
}

static int trace_all(const struct nt_routes *routes, const uint32_t *pair, size_t n,
                     struct nt_echelon *e, struct nt_err *err)
{
    uint64_t work_max = (uint64_t)n * TRACE_WORK;
    int rc = 1;
    for (size_t length = 1, done = 0; done < n && rc == 1; length++) { /* short ones first */
        for (size_t i = 0; i < n && rc == 1; i++) {
            if (nt_route_length(routes, pair[i]) != length)
                continue;
            done++;
            rc =
                nt_echelon_add_traced(e, nt_route_links(routes, pair[i]), length, i, work_max, err);
        }
    }
    return rc;
}

/* For an independent set, exactly: each link as a combination of pairs. 1: done; 0: not possible
 * for this set; -1: error. */
static int by_traces(const struct nt_routes *routes, const uint32_t *pair, size_t n,
                     struct total *t, struct nt_err *err)
{
    struct nt_echelon *e;
    NT_SCOPED struct nt_arena memory = {0};
    double *share = nt_arena_array(&memory, n, sizeof *share);
    if (nt_arena_check(&memory, err) != 0 ||
        nt_echelon_create_traced(routes->links, n, 1, &e, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) /* a row of two ways is twice their mean */
        share[i] = nt_route_directions(routes, pair[i]);
    int rc = trace_all(routes, pair, n, e, err);
    for (uint32_t l = 0; l < routes->links && rc == 1; l++) {
        if (e->pivot[l] && !add_row(e, l, share, t))
            rc = 0;
    }
    nt_echelon_destroy(e);
    return rc;
}

static int by_normal(const struct nt_routes *routes, const uint32_t *pair, size_t n,
                     struct total *t, struct nt_err *err)
{
    struct nt_unknowns *u = NULL;
    struct nt_err why = {0};
    NT_SCOPED struct nt_arena memory = {0};
    double *variance = nt_arena_array(&memory, routes->links, sizeof *variance);
    if (nt_arena_check(&memory, err) != 0 || nt_unknowns_create(routes, pair, n, &u, err) != 0)
        return -1;
    /* too large a factor, or too bad a condition for double precision: not a failed plan */
    int rc = 0;
    if (nt_normal_variances(u->rows, variance, &why) == 0)
        sum_up(u, variance, t);
    else if (why.kind == NT_ERR_SYSTEM)
        rc = nt_err_set(err, why.kind, "%s", why.text);
    nt_unknowns_destroy(u);
    return rc;
}

int nt_choice_measure_noise(const struct nt_routes *routes, const uint32_t *pair, size_t n,
                            struct nt_plan *plan, struct nt_err *err)
{
    struct total t = {0};
    int rc = 0;
    if (routes->links > CONDITION_LINKS_MAX)
        return 0;
    if (n == plan->rank)
        rc = by_traces(routes, pair, n, &t, err);
    if (rc == 0) {
        t = (struct total){0};
        rc = by_normal(routes, pair, n, &t, err);
    }
    if (rc >= 0 && t.links > 0) {
        plan->amplification_rms = sqrt(t.sum / (double)t.links);
        plan->amplification_max = sqrt(t.most);
    }
    return rc < 0 ? -1 : 0;
}
