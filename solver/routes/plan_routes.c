/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_routes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "echelon.h"
#include "memory.h"
#include "rng.h"
#include "unknowns.h"

/* ---- a minimal set -------------------------------------------------------------------------- */

/* A minimal set: as many pairs as are independent, in few rounds. Liu et al., NPC 2018, section
 * 3.2, steps b and c: a maximal independent subset of all paths, coloured so that no two of one
 * colour share a link. There, the colouring follows the selection; here both are done together,
 * round by round, which ends near the bound of the hosts. */

/* Limits of the steps (pairs evaluated, entries of equations visited) for reducing the rounds:
 * EFFORT times the steps of the first selection, at least EFFORT_MIN; in small networks TRIES_MAX
 * ends it. */
enum { EFFORT = 1, EFFORT_MIN = 4000000, TRIES_MAX = 1000, AHEAD = 12 };

/* Skipping this number of pairs with occupied hosts is one step. */
enum { PASSED_OVER = 16 };

/* With its hosts beside it: usually one of them is occupied, and no other data of the pair are read
 * from memory. */
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

/* Upper limit of the links of a route; a link that occurs twice counts once. */
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

/* Offers the waiting pairs to the rounds from first on, and opens new rounds until none wait. */
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

/* First selection: each class into the rounds that the bound allows, the remaining pairs into later
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

/* Chooses into an empty choice. Takes no time limit: the effort is a bounded number of steps, so
 * the same routes and seed give the same choice. */
static int choose_minimal(struct nt_choice *choice, uint64_t seed, struct nt_err *err)
{
    struct search s = {.routes = choice->routes, .choice = choice, .seed = seed};
    nt_rng_init(&s.rng, seed);
    NT_SCOPED struct nt_arena memory = {0};
    if (sort_by_length(&s, &memory, err) != 0 || choose_first(&s, err) != 0)
        return -1;
    return improve_choice(&s, err);
}

/* ---- better conditioned by exchange --------------------------------------------------------- */

/* Better conditioned minimal sets by exchange (Goreinov et al., "How to find a good submatrix",
 * 2010: maximal volume): a pair outside whose combination of the chosen ones has a coefficient
 * over 1 replaces that one, until no pair does. Then every pair of the network is a combination
 * with coefficients of at most 1. Rounds stay link-disjoint and as many as they are. */

enum { EXCHANGE_RANK_MAX = 640 };

/* A swap pays when the volume grows by this at least; the passes over all pairs are bounded. */
#define GAIN 1.01
enum { PASSES_MAX = 12 };

/* Coefficients that differ by less are equal: rounding must not decide between two pairs. */
#define EQUAL 1e-7

struct basis {
    struct nt_choice *choice;
    struct nt_unknowns *unknowns;
    size_t n;        /* chosen pairs */
    double *inverse; /* [u * n + i]: unknown u as a combination of the chosen pairs i */
    double *part;    /* n: a pair outside as this combination */
    bool *in;        /* by pair: chosen */
    uint32_t *was_pair, *was_round; /* to return to */
    size_t rounds;
};

/* inverse(A) = inverse(A'A) A' */
static int invert_basis(struct basis *b, struct nt_err *err)
{
    const struct nt_rows *rows = b->unknowns->rows;
    double *c;
    if (nt_normal_inverse(rows, &c, err) != 0)
        return -1;
    for (size_t u = 0; u < b->n; u++) {
        for (size_t i = 0; i < b->n; i++) {
            double sum = 0;
            for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
                sum += c[u * b->n + rows->column[k]] * rows->value[k];
            b->inverse[u * b->n + i] = fabs(sum) < 1e-7 ? 0 : sum;
        }
    }
    free(c);
    return 0;
}

static void combine_row(struct basis *b, uint32_t pair)
{
    const struct nt_routes *r = b->choice->routes;
    double share = 1.0 / nt_route_directions(r, pair);
    memset(b->part, 0, b->n * sizeof *b->part);
    for (size_t k = r->start[pair]; k < r->start[pair + 1]; k++) {
        uint32_t u = b->unknowns->of_link[r->link[k]];
        if (u == NT_UNKNOWN_NONE)
            continue;
        const double *row = b->inverse + u * b->n;
        for (size_t i = 0; i < b->n; i++)
            b->part[i] += share * row[i];
    }
}

/* The chosen pair that the one outside should replace, and the round then; b->n for none. */
static size_t find_partner(struct basis *b, uint32_t pair, size_t *round)
{
    struct nt_choice *c = b->choice;
    size_t open = 0, best = b->n;
    double most = GAIN;
    while (open < b->rounds && !nt_choice_free(c, pair, open))
        open++;
    for (size_t i = 0; i < b->n; i++) {
        if (fabs(b->part[i]) <= most + EQUAL)
            continue;
        size_t at = open;
        if (open == b->rounds) { /* only if the removed pair occupies it */
            nt_choice_toggle(c, i);
            bool fits = nt_choice_free(c, pair, c->round[i]);
            nt_choice_toggle(c, i);
            if (!fits)
                continue;
            at = c->round[i];
        }
        most = fabs(b->part[i]);
        best = i;
        *round = at;
    }
    return best;
}

/* Sherman and Morrison for one row of the basis. */
static void swap_in(struct basis *b, size_t i)
{
    double pivot = b->part[i];
    b->part[i] -= 1;
    for (size_t u = 0; u < b->n; u++) {
        double *row = b->inverse + u * b->n;
        double factor = row[i] / pivot;
        if (factor == 0)
            continue;
        for (size_t k = 0; k < b->n; k++) {
            row[k] -= factor * b->part[k];
            if (fabs(row[k]) < 1e-9)
                row[k] = 0;
        }
    }
}

static void exchange_pairs(struct basis *b)
{
    struct nt_choice *c = b->choice;
    size_t pairs = c->routes->pairs, quiet = 0;
    for (size_t step = 0; step < pairs * PASSES_MAX && quiet < pairs; step++) {
        uint32_t pair = (uint32_t)(step % pairs);
        size_t round = 0;
        quiet++;
        if (b->in[pair])
            continue;
        combine_row(b, pair);
        size_t i = find_partner(b, pair, &round);
        if (i == b->n)
            continue;
        b->in[c->pair[i]] = false;
        b->in[pair] = true;
        nt_choice_replace(c, i, pair, round);
        swap_in(b, i);
        quiet = 0;
    }
}

/* The rank is exact, the coefficients are not: if rounding removed an independent pair, the earlier
 * set is kept. */
static int check_basis(struct basis *b, struct nt_err *err)
{
    struct nt_unknowns *u;
    struct nt_choice *c = b->choice;
    if (nt_unknowns_create(c->routes, c->pair, c->used, &u, err) != 0)
        return -1;
    int rc = 0;
    if (u->count != b->n) {
        nt_choice_clear(c);
        for (size_t i = 0; i < b->n && rc == 0; i++)
            rc = nt_choice_add(c, b->was_pair[i], b->was_round[i], err);
    }
    nt_unknowns_destroy(u);
    return rc;
}

static int basis_init(struct basis *b, struct nt_arena *memory, struct nt_err *err)
{
    size_t n = b->n;
    const struct nt_choice *c = b->choice;
    b->inverse = nt_arena_array(memory, n * n + 1, sizeof *b->inverse);
    b->part = nt_arena_array(memory, n + 1, sizeof *b->part);
    b->in = nt_arena_array(memory, c->routes->pairs + 1, sizeof *b->in);
    b->was_pair = nt_arena_array(memory, n + 1, sizeof *b->was_pair);
    b->was_round = nt_arena_array(memory, n + 1, sizeof *b->was_round);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        b->in[c->pair[i]] = true;
        b->was_pair[i] = c->pair[i];
        b->was_round[i] = c->round[i];
    }
    b->rounds = nt_choice_rounds(c);
    return 0;
}

/* On an independent choice. Does nothing above EXCHANGE_RANK_MAX pairs: the inverse basis is
 * dense. Bounded steps, no time. */
static int exchange_all(struct nt_choice *choice, struct nt_err *err)
{
    struct basis b = {.choice = choice, .n = choice->used};
    struct nt_err why = {0};
    NT_SCOPED struct nt_arena memory = {0};
    if (b.n > EXCHANGE_RANK_MAX || b.n == choice->routes->pairs)
        return 0;
    int rc = basis_init(&b, &memory, err);
    if (rc == 0)
        rc = nt_unknowns_create(choice->routes, choice->pair, choice->used, &b.unknowns, err);
    if (rc == 0 && invert_basis(&b, &why) == 0) { /* too ill-conditioned to invert: unchanged */
        exchange_pairs(&b);
        rc = check_basis(&b, err);
    }
    nt_unknowns_destroy(b.unknowns);
    return rc;
}

/* ---- more pairs than independent ones ------------------------------------------------------- */

/* Random vectors of the sketch: the relative error of a variance is sqrt(2 / PROBES), enough to
 * find the pairs with the largest variances. */
enum { PROBES = 16, STEPS_MAX = 200 };
#define TOLERANCE 1e-2f

struct vec {
    float at[PROBES];
};

struct sketch {
    const struct nt_choice *choice;
    const bool *pivot; /* by link: an unknown; the others stay 0 */
    struct nt_rng rng;
    struct vec *z, *r, *p, *q; /* by link: solution, residual, direction, product */
    float *diagonal;           /* by link */
};

struct scored {
    float score;
    uint32_t pair;
};

static struct vec gather_vec(const struct nt_routes *r, uint32_t pair, const struct vec *of)
{
    struct vec sum = {{0}};
    for (size_t k = r->start[pair]; k < r->start[pair + 1]; k++) {
        for (int j = 0; j < PROBES; j++)
            sum.at[j] += of[r->link[k]].at[j];
    }
    return sum;
}

static void spread_vec(const struct sketch *s, uint32_t pair, const struct vec *value, float share,
                       struct vec *to)
{
    const struct nt_routes *r = s->choice->routes;
    for (size_t k = r->start[pair]; k < r->start[pair + 1]; k++) {
        if (!s->pivot[r->link[k]])
            continue;
        for (int j = 0; j < PROBES; j++)
            to[r->link[k]].at[j] += share * value->at[j];
    }
}

/* r := A'g with g random signs a chosen pair, z := 0. */
static void sketch_start(struct sketch *s)
{
    const struct nt_choice *c = s->choice;
    const struct nt_routes *routes = c->routes;
    memset(s->r, 0, routes->links * sizeof *s->r);
    memset(s->z, 0, routes->links * sizeof *s->z);
    memset(s->diagonal, 0, routes->links * sizeof *s->diagonal);
    for (size_t i = 0; i < c->used; i++) {
        uint64_t bits = nt_rng_next(&s->rng);
        float share = 1.0f / (float)nt_route_directions(routes, c->pair[i]);
        struct vec g;
        for (int j = 0; j < PROBES; j++)
            g.at[j] = (bits >> j & 1) != 0 ? 1.0f : -1.0f;
        spread_vec(s, c->pair[i], &g, share, s->r);
        for (size_t k = routes->start[c->pair[i]]; k < routes->start[c->pair[i] + 1]; k++)
            s->diagonal[routes->link[k]] += share * share;
    }
}

/* q := A'A p */
static void sketch_multiply(struct sketch *s)
{
    const struct nt_choice *c = s->choice;
    memset(s->q, 0, c->routes->links * sizeof *s->q);
    for (size_t i = 0; i < c->used; i++) {
        float share = 1.0f / (float)nt_route_directions(c->routes, c->pair[i]);
        struct vec sum = gather_vec(c->routes, c->pair[i], s->p);
        spread_vec(s, c->pair[i], &sum, share * share, s->q);
    }
}

static struct vec step_length(const struct sketch *s, const struct vec *rz)
{
    struct vec pq = {{0}};
    for (size_t l = 0; l < s->choice->routes->links; l++) {
        for (int j = 0; j < PROBES; j++)
            pq.at[j] += s->p[l].at[j] * s->q[l].at[j];
    }
    for (int j = 0; j < PROBES; j++)
        pq.at[j] = rz->at[j] / (pq.at[j] + 1e-30f);
    return pq;
}

/* z and r one step on; returns the new r'inverse(D)r. */
static struct vec sketch_step(struct sketch *s, const struct vec *length)
{
    struct vec rz = {{0}};
    for (size_t l = 0; l < s->choice->routes->links; l++) {
        if (!s->pivot[l])
            continue;
        for (int j = 0; j < PROBES; j++) {
            s->z[l].at[j] += length->at[j] * s->p[l].at[j];
            s->r[l].at[j] -= length->at[j] * s->q[l].at[j];
            rz.at[j] += s->r[l].at[j] * s->r[l].at[j] / s->diagonal[l];
        }
    }
    return rz;
}

static void sketch_turn(struct sketch *s, const struct vec *new, const struct vec *old)
{
    for (size_t l = 0; l < s->choice->routes->links; l++) {
        if (!s->pivot[l])
            continue;
        for (int j = 0; j < PROBES; j++)
            s->p[l].at[j] =
                s->r[l].at[j] / s->diagonal[l] + new->at[j] / (old->at[j] + 1e-30f) * s->p[l].at[j];
    }
}

static bool is_small(const struct vec *rz, const struct vec *first)
{
    for (int j = 0; j < PROBES; j++) {
        if (rz->at[j] > TOLERANCE * TOLERANCE * first->at[j])
            return false;
    }
    return true;
}

/* z := inverse(A'A) A'g by conjugate gradients, Jacobi preconditioned: the mean of (v z)^2 over
 * the probes is then v inverse(A'A) v', the variance of the sum v of links. */
static void sketch_solve(struct sketch *s)
{
    size_t links = s->choice->routes->links;
    sketch_start(s);
    struct vec zero = {{0}}, one, rz, first;
    for (int j = 0; j < PROBES; j++)
        one.at[j] = 1;
    memset(s->p, 0, links * sizeof *s->p);
    memset(s->q, 0, links * sizeof *s->q);
    first = rz = sketch_step(s, &zero);
    sketch_turn(s, &zero, &one);
    for (int k = 0; k < STEPS_MAX && !is_small(&rz, &first); k++) {
        sketch_multiply(s);
        struct vec length = step_length(s, &rz), before = rz;
        rz = sketch_step(s, &length);
        sketch_turn(s, &rz, &before);
    }
}

static float pair_score(const struct sketch *s, uint32_t pair)
{
    const struct nt_routes *r = s->choice->routes;
    struct vec sum = gather_vec(r, pair, s->z);
    float share = 1.0f / (float)nt_route_directions(r, pair), total = 0;
    for (int j = 0; j < PROBES; j++)
        total += sum.at[j] * sum.at[j];
    return total * share * share;
}

/* Ties by the order of the routes, so that the heap's order depends on the input alone. */
static bool score_before(const struct scored *a, const struct scored *b)
{
    return a->score > b->score || (a->score == b->score && a->pair < b->pair);
}

static void heap_sift(struct scored *heap, size_t n, size_t i)
{
    struct scored x = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && score_before(&heap[child + 1], &heap[child]))
            child++;
        if (!score_before(&heap[child], &x))
            break;
        heap[i] = heap[child];
    }
    heap[i] = x;
}

struct heap {
    struct scored *at;
    size_t n;
};

/* Removes pairs for which the round is no longer free. */
static void refresh_heap(const struct nt_choice *c, struct heap *heap, size_t round)
{
    size_t kept = 0;
    for (size_t i = 0; i < heap->n; i++) {
        if (nt_choice_free(c, heap->at[i].pair, round))
            heap->at[kept++] = heap->at[i];
    }
    for (size_t i = kept / 2; i-- > 0;)
        heap_sift(heap->at, kept, i);
    heap->n = kept;
}

static int fill_round(struct nt_choice *c, struct heap heap, size_t round, size_t want, bool *in,
                      struct nt_err *err)
{
    size_t missed = 0;
    refresh_heap(c, &heap, round);
    while (heap.n > 0 && c->used < want) {
        uint32_t pair = heap.at[0].pair;
        heap.at[0] = heap.at[--heap.n];
        heap_sift(heap.at, heap.n, 0);
        if (nt_choice_free(c, pair, round)) {
            if (nt_choice_add(c, pair, round, err) != 0)
                return -1;
            in[pair] = true;
        } else if (++missed > 8 + heap.n / 16) {
            refresh_heap(c, &heap, round);
            missed = 0;
        }
    }
    return 0;
}

static int fill_choice(struct sketch *s, struct nt_choice *c, size_t want, bool *in,
                       struct scored *heap, struct nt_err *err)
{
    size_t solved = 0; /* pairs behind the last sketch */
    for (size_t round = 0; c->used < want; round++) {
        if (nt_choice_open(c, round + 1, err) != 0)
            return -1;
        if (solved == 0 || c->used - solved > c->used / 50) {
            sketch_solve(s);
            solved = c->used;
        }
        size_t n = 0;
        for (uint32_t p = 0; p < c->routes->pairs; p++) {
            if (!in[p] && nt_choice_free(c, p, round))
                heap[n++] = (struct scored){.score = pair_score(s, p), .pair = p};
        }
        if (fill_round(c, (struct heap){heap, n}, round, want, in, err) != 0)
            return -1;
    }
    return 0;
}

static int find_pivots(const struct nt_choice *c, struct nt_echelon **out, struct nt_err *err)
{
    const struct nt_routes *r = c->routes;
    if (nt_echelon_create(r->links, 1, out, err) != 0)
        return -1;
    for (size_t i = 0; i < c->used; i++) {
        if (nt_echelon_add(*out, nt_route_links(r, c->pair[i]), nt_route_length(r, c->pair[i]),
                           err) < 0) {
            nt_echelon_destroy(*out);
            return -1;
        }
    }
    return 0;
}

/* Adds pairs until the choice has want pairs (or all): first into existing rounds, then into new
 * ones; in each round the pairs with the largest predicted variance. The variances come from a
 * sketch of the inverse, whose memory is linear in the links. The choice must determine the queried
 * pairs, as a minimal set does. */
static int add_redundant(struct nt_choice *c, size_t want, uint64_t seed, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_echelon *e;
    size_t links = c->routes->links;
    if (c->used >= want)
        return 0;
    struct sketch s = {.choice = c};
    nt_rng_init(&s.rng, seed);
    s.z = nt_arena_array(&memory, links, sizeof *s.z);
    s.r = nt_arena_array(&memory, links, sizeof *s.r);
    s.p = nt_arena_array(&memory, links, sizeof *s.p);
    s.q = nt_arena_array(&memory, links, sizeof *s.q);
    s.diagonal = nt_arena_array(&memory, links, sizeof *s.diagonal);
    bool *in = nt_arena_array(&memory, c->routes->pairs, sizeof *in);
    struct scored *heap = nt_arena_array(&memory, c->routes->pairs, sizeof *heap);
    if (nt_arena_check(&memory, err) != 0 || find_pivots(c, &e, err) != 0)
        return -1;
    s.pivot = e->pivot;
    for (size_t i = 0; i < c->used; i++)
        in[c->pair[i]] = true;
    int rc = fill_choice(&s, c, want, in, heap, err);
    nt_echelon_destroy(e);
    return rc;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static size_t pairs_wanted(const struct nt_routes *routes, size_t rank, double redundancy)
{
    double want = ceil(redundancy * (double)rank - 1e-9);
    return want < (double)routes->pairs ? (size_t)want : routes->pairs;
}

static int choose_pairs(struct nt_choice *c, double redundancy, uint64_t seed, size_t *rank,
                        struct nt_err *err)
{
    if (choose_minimal(c, seed, err) != 0)
        return -1;
    *rank = c->used;
    if (exchange_all(c, err) != 0)
        return -1;
    return add_redundant(c, pairs_wanted(c->routes, *rank, redundancy), seed, err);
}

int nt_plan_routes(const struct nt_routes *routes, double redundancy, uint64_t seed,
                   struct nt_plan **out, struct nt_err *err)
{
    if (routes->pairs == 0)
        return nt_err_set(err, NT_ERR_INPUT, "there are no routes");
    if (!(redundancy >= 1 && redundancy <= 1e6))
        return nt_err_set(err, NT_ERR_USAGE, "redundancy %g: expected a number from 1 to 1000000",
                          redundancy);
    struct nt_choice *c;
    struct nt_plan *plan = NULL;
    size_t rank = 0, at_once = routes->hosts / 2;
    if (nt_choice_create(routes, &c, err) != 0)
        return -1;
    if (choose_pairs(c, redundancy, seed, &rank, err) != 0 ||
        nt_plan_create(c->used, &plan, err) != 0)
        goto fail;
    plan->rank = rank;
    if (nt_choice_write(c, plan, err) != 0 ||
        nt_choice_measure_noise(routes, c->pair, c->used, plan, err) != 0)
        goto fail;
    plan->lower_bound = (c->used + at_once - 1) / at_once;
    nt_choice_destroy(c);
    *out = plan;
    return 0;
fail:
    nt_choice_destroy(c);
    nt_plan_destroy(plan);
    return -1;
}
