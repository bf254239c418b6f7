/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "unknowns.h"

/* A swap pays when the volume grows by this at least; the passes over all pairs are bounded. */
#define GAIN 1.01
enum { PASSES_MAX = 12 };

struct basis {
    struct nt_choice *choice;
    struct nt_unknowns *unknowns;
    size_t n;        /* chosen pairs */
    double *inverse; /* [u * n + i]: unknown u as a combination of the chosen pairs i */
    double *part;    /* n: a pair outside as such a combination */
    bool *in;        /* by pair: chosen */
    uint32_t *was_pair, *was_round; /* to return to */
    size_t rounds;
};

/* inverse(A) = inverse(A'A) A' */
static int invert_basis(struct basis *b, struct nt_err *err)
{
    const struct nt_rows *rows = b->unknowns->rows;
    struct nt_normal *normal;
    double *c;
    if (nt_normal_create(rows, &normal, err) != 0)
        return -1;
    int rc = nt_normal_inverse(normal, &c, err);
    nt_normal_destroy(normal);
    if (rc != 0)
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
    double share = 1.0 / nt_route_ways(r, pair);
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
        if (fabs(b->part[i]) <= most)
            continue;
        size_t at = open;
        if (open == b->rounds) { /* only where the one that leaves stands in the way */
            nt_choice_lift(c, i);
            bool fits = nt_choice_free(c, pair, c->round[i]);
            nt_choice_put_back(c, i);
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

/* The rank is exact, the coefficients are not: if rounding ever took an independent pair out,
 * the set from before stands. */
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

int nt_exchange(struct nt_choice *choice, struct nt_err *err)
{
    struct basis b = {.choice = choice, .n = choice->used};
    struct nt_err why = {0};
    NT_SCOPED struct nt_arena memory = {0};
    if (b.n > NT_EXCHANGE_RANK_MAX || b.n == choice->routes->pairs)
        return 0;
    int rc = basis_init(&b, &memory, err);
    if (rc == 0)
        rc = nt_unknowns_create(choice->routes, choice->pair, choice->used, &b.unknowns, err);
    if (rc == 0 &&
        invert_basis(&b, &why) == 0) { /* too ill conditioned to invert: stays as it is */
        exchange_pairs(&b);
        rc = check_basis(&b, err);
    }
    nt_unknowns_destroy(b.unknowns);
    return rc;
}
