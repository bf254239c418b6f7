/* SPDX-License-Identifier: Apache-2.0 */
#include "redundant.h"

#include <stdlib.h>
#include <string.h>

#include "echelon.h"
#include "memory.h"
#include "rng.h"

/* Random vectors of the sketch: the relative error of a variance is sqrt(2 / PROBES), enough to
 * find the worst known pairs. */
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
        float share = 1.0f / (float)nt_route_ways(routes, c->pair[i]);
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
        float share = 1.0f / (float)nt_route_ways(c->routes, c->pair[i]);
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
    float share = 1.0f / (float)nt_route_ways(r, pair), total = 0;
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

/* Drops what the round is no longer open to. */
static size_t refresh_heap(const struct nt_choice *c, struct scored *heap, size_t n, size_t round)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (nt_choice_free(c, heap[i].pair, round))
            heap[kept++] = heap[i];
    }
    for (size_t i = kept / 2; i-- > 0;)
        heap_sift(heap, kept, i);
    return kept;
}

static int fill_round(struct nt_choice *c, struct scored *heap, size_t n, size_t round, size_t want,
                      bool *in, struct nt_err *err)
{
    size_t missed = 0;
    n = refresh_heap(c, heap, n, round);
    while (n > 0 && c->used < want) {
        uint32_t pair = heap[0].pair;
        heap[0] = heap[--n];
        heap_sift(heap, n, 0);
        if (nt_choice_free(c, pair, round)) {
            if (nt_choice_add(c, pair, round, err) != 0)
                return -1;
            in[pair] = true;
        } else if (++missed > 8 + n / 16) {
            n = refresh_heap(c, heap, n, round);
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
        if (fill_round(c, heap, n, round, want, in, err) != 0)
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

int nt_redundant_add(struct nt_choice *c, size_t want, uint64_t seed, struct nt_err *err)
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
