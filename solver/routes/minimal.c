/* SPDX-License-Identifier: Apache-2.0 */
#include "minimal.h"

#include <stdlib.h>
#include <string.h>

#include "echelon.h"
#include "memory.h"
#include "rng.h"

/* Steps (pairs evaluated, entries of equations touched) spent on fewer rounds: as many as the first
 * choice took times this, at least that; in small networks the tries end it. */
enum { EFFORT = 1, EFFORT_MIN = 4000000, TRIES_MAX = 1000, AHEAD = 12 };

/* Passing over so many pairs whose hosts are taken is one step. */
enum { PASSED_OVER = 16 };

/* With its hosts beside it: most of the time one of them is taken, and then nothing else of the
 * pair needs to come from memory. */
struct offered {
    uint32_t pair, host[2];
};

struct search {
    const struct nt_routes *routes;
    struct nt_choice *choice;
    struct nt_rng rng;
    struct offered *order; /* all pairs: short routes first, random among equals */
    size_t *class_start;   /* classes + 1 */
    size_t classes;
    struct offered *waiting; /* candidates that may still be independent */
    uint64_t seed, steps;
};

/* Links of a route, one that stands there twice counted once, are at most so many. */
static size_t longest_route(const struct nt_routes *r)
{
    size_t most = 0;
    for (size_t p = 0; p < r->pairs; p++) {
        if (nt_route_length(r, p) > most)
            most = nt_route_length(r, p);
    }
    return most;
}

static void shuffle_offers(struct search *s, struct offered *list, size_t n)
{
    for (size_t k = n; k > 1; k--) {
        size_t i = nt_rng_below(&s->rng, k);
        struct offered swap = list[i];
        list[i] = list[k - 1];
        list[k - 1] = swap;
    }
}

/* Classes of rising length: short paths give sparse equations, and the long ones cross the most
 * loaded links, so they should be the few that are still needed. */
static int sort_by_length(struct search *s, struct nt_arena *memory, struct nt_err *err)
{
    const struct nt_routes *r = s->routes;
    size_t most = longest_route(r);
    s->order = nt_arena_array(memory, r->pairs, sizeof *s->order);
    s->waiting = nt_arena_array(memory, r->pairs, sizeof *s->waiting);
    s->class_start = nt_arena_array(memory, most + 3, sizeof *s->class_start);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    s->classes = most + 1;
    size_t *next = s->class_start + 1; /* the counting sort shifts it into place */
    for (size_t p = 0; p < r->pairs; p++)
        next[nt_route_length(r, p) + 1]++;
    for (size_t c = 0; c + 1 <= most; c++)
        next[c + 1] += next[c];
    for (size_t p = 0; p < r->pairs; p++)
        s->order[next[nt_route_length(r, p)]++] =
            (struct offered){(uint32_t)p, {r->host[p][0], r->host[p][1]}};
    for (size_t c = 0; c < s->classes; c++)
        shuffle_offers(s, s->order + s->class_start[c], s->class_start[c + 1] - s->class_start[c]);
    return 0;
}

/* A bit in each host's word for the round. */
static bool host_taken(const struct nt_choice *c, const struct offered *o, size_t round)
{
    const uint64_t *word = c->busy + (round >> 6);
    uint64_t taken = word[o->host[0] * c->words] | word[o->host[1] * c->words];
    return (taken >> (round & 63) & 1) != 0;
}

/* Offers n waiting pairs a round; returns through n how many wait on. */
static int offer_pairs(struct search *s, struct nt_echelon *e, struct offered *waiting, size_t *n,
                       size_t round, struct nt_err *err)
{
    const struct nt_routes *r = s->routes;
    size_t kept = 0, looked = 0, far = *n > 2UL * AHEAD ? *n - 2UL * AHEAD : 0;
    for (size_t i = 0; i < *n; i++) {
        uint32_t p = waiting[i].pair;
        if (host_taken(s->choice, &waiting[i], round)) {
            waiting[kept++] = waiting[i];
            continue;
        }
        looked++;
        if (i < far && !host_taken(s->choice, &waiting[i + AHEAD], round)) {
            /* the order is random: the processor's prefetch is given the address */
            __builtin_prefetch(&r->start[waiting[i + 2UL * AHEAD].pair]);
            __builtin_prefetch(&r->link[r->start[waiting[i + AHEAD].pair]]);
        }
        const uint32_t *link = nt_route_links(r, p);
        size_t length = nt_route_length(r, p);
        if (nt_echelon_follows(e, link, length))
            continue;
        if (!nt_choice_free(s->choice, p, round)) {
            waiting[kept++] = waiting[i];
            continue;
        }
        int rc = nt_echelon_add(e, link, length, err);
        if (rc < 0 || (rc == 1 && nt_choice_add(s->choice, p, round, err) != 0))
            return -1;
    }
    s->steps += looked + (*n - looked) / PASSED_OVER;
    *n = kept;
    return 0;
}

/* Offers what waits the rounds from first on, opening new ones until nothing waits. */
static int offer_rest(struct search *s, struct nt_echelon *e, size_t n, struct nt_err *err)
{
    for (size_t round = 0; n > 0; round++) {
        if (nt_choice_open(s->choice, round + 1, err) != 0 ||
            offer_pairs(s, e, s->waiting, &n, round, err) != 0)
            return -1;
    }
    return 0;
}

/* The rounds that this many pairs need at least: a round uses a host once. */
static size_t host_bound(const struct nt_routes *r, size_t pairs)
{
    size_t at_once = r->hosts / 2 > 0 ? r->hosts / 2 : 1;
    return (pairs + at_once - 1) / at_once;
}

/* First choice: each class into the rounds that the bound allows, what is left over into later
 * ones at the end. */
static int choose_first(struct search *s, struct nt_err *err)
{
    const struct nt_routes *r = s->routes;
    struct nt_echelon *e;
    if (nt_echelon_create(r->links, s->seed, &e, err) != 0)
        return -1;
    size_t bound = host_bound(r, r->links < r->pairs ? r->links : r->pairs), left = 0;
    int rc = nt_choice_open(s->choice, bound, err);
    for (size_t c = 0; c < s->classes && rc == 0; c++) {
        size_t n = s->class_start[c + 1] - s->class_start[c];
        struct offered *waiting = s->waiting + left;
        memcpy(waiting, s->order + s->class_start[c], n * sizeof *waiting);
        for (size_t round = 0; round < bound && n > 0 && rc == 0; round++)
            rc = offer_pairs(s, e, waiting, &n, round, err);
        left += n;
    }
    if (rc == 0)
        rc = offer_rest(s, e, left, err);
    s->steps += e->work;
    nt_echelon_destroy(e);
    return rc;
}

struct kept {
    uint32_t *pair, *round;
    size_t used, rounds, last; /* last: pairs in the last round */
};

static size_t count_last(const struct nt_choice *c, size_t rounds)
{
    size_t n = 0;
    for (size_t i = 0; i < c->used; i++)
        n += c->round[i] + (size_t)1 == rounds;
    return n;
}

static void keep_choice(struct kept *k, const struct nt_choice *c)
{
    memcpy(k->pair, c->pair, c->used * sizeof *k->pair);
    memcpy(k->round, c->round, c->used * sizeof *k->round);
    k->used = c->used;
    k->rounds = nt_choice_rounds(c);
    k->last = count_last(c, k->rounds);
}

static int restore_choice(struct nt_choice *c, const struct kept *k, struct nt_err *err)
{
    nt_choice_clear(c);
    for (size_t i = 0; i < k->used; i++) {
        if (nt_choice_add(c, k->pair[i], k->round[i], err) != 0)
            return -1;
    }
    return 0;
}

/* A quarter of each class changes places, so that the next try sees other candidates first. */
static void perturb_choice(struct search *s)
{
    for (size_t c = 0; c < s->classes; c++) {
        size_t n = s->class_start[c + 1] - s->class_start[c];
        struct offered *order = s->order + s->class_start[c];
        for (size_t k = 0; n > 1 && k < n / 4 + 1; k++) {
            size_t i = nt_rng_below(&s->rng, n), j = nt_rng_below(&s->rng, n);
            struct offered t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
    }
}

/* Ruin and recreate (Schrimpf et al., 2000): the last round and a random share of the rest go,
 * and all pairs are offered again. */
static int recreate_choice(struct search *s, const struct kept *best, struct nt_err *err)
{
    const struct nt_routes *r = s->routes;
    struct nt_echelon *e;
    if (nt_echelon_create(r->links, s->seed, &e, err) != 0)
        return -1;
    double share = 0.1 + 0.4 * nt_rng_uniform(&s->rng);
    int rc = 0;
    nt_choice_clear(s->choice);
    for (size_t i = 0; i < best->used && rc >= 0; i++) {
        uint32_t p = best->pair[i];
        if (best->round[i] + (size_t)1 == best->rounds || nt_rng_uniform(&s->rng) < share)
            continue;
        rc = nt_echelon_add(e, nt_route_links(r, p), nt_route_length(r, p), err);
        if (rc > 0)
            rc = nt_choice_add(s->choice, p, best->round[i], err);
    }
    if (rc >= 0) {
        perturb_choice(s);
        memcpy(s->waiting, s->order, r->pairs * sizeof *s->waiting);
        rc = offer_rest(s, e, r->pairs, err);
    }
    s->steps += e->work;
    nt_echelon_destroy(e);
    return rc < 0 ? -1 : 0;
}

static int improve_choice(struct search *s, struct nt_err *err)
{
    struct nt_choice *c = s->choice;
    NT_SCOPED struct nt_arena memory = {0};
    struct kept best = {.pair = nt_arena_array(&memory, c->used, sizeof *best.pair),
                        .round = nt_arena_array(&memory, c->used, sizeof *best.round)};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    keep_choice(&best, c);
    uint64_t budget = s->steps * EFFORT > EFFORT_MIN ? s->steps * EFFORT : EFFORT_MIN;
    size_t bound = host_bound(s->routes, best.used);
    s->steps = 0;
    for (int tries = 0; tries < TRIES_MAX && s->steps < budget && best.rounds > bound; tries++) {
        if (recreate_choice(s, &best, err) != 0)
            return -1;
        size_t rounds = nt_choice_rounds(c);
        if (c->used == best.used &&
            (rounds < best.rounds || (rounds == best.rounds && count_last(c, rounds) <= best.last)))
            keep_choice(&best, c);
    }
    return restore_choice(c, &best, err);
}

int nt_minimal_choose(struct nt_choice *choice, uint64_t seed, struct nt_err *err)
{
    struct search s = {.routes = choice->routes, .choice = choice, .seed = seed};
    nt_rng_init(&s.rng, seed);
    NT_SCOPED struct nt_arena memory = {0};
    if (sort_by_length(&s, &memory, err) != 0 || choose_first(&s, err) != 0)
        return -1;
    return improve_choice(&s, err);
}
