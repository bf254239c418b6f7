/* SPDX-License-Identifier: Apache-2.0 */
/* The set in the making: which pairs of the routes are chosen, each in a round where no link and
 * no host of it is used by another. Shared by plan_routes.c and plan_model.c.
 * Tests: test_plan_routes.c. */
#ifndef NT_CHOICE_H
#define NT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "plan.h"
#include "routes.h"

struct nt_choice {
    struct nt_arena memory;         /* of pair and round; first, for nt_object_create */
    struct nt_arena rounds_busy;    /* of busy */
    const struct nt_routes *routes; /* borrowed */
    size_t used, pair_room, round_room;
    uint32_t *pair;  /* used of them: pairs of the routes */
    uint32_t *round; /* used of them */
    size_t words;    /* of 64 rounds a link or host */
    uint64_t *busy;  /* [(hosts + links) * words]: rounds in which it is used */
};

int nt_choice_create(const struct nt_routes *routes, struct nt_choice **out, struct nt_err *err);
void nt_choice_destroy(struct nt_choice *choice);

/* Room for that many rounds; call this before using one. */
int nt_choice_open(struct nt_choice *choice, size_t rounds, struct nt_err *err);

/* Whether the round is open to the pair; it must be within nt_choice_open. */
static inline bool nt_choice_free(const struct nt_choice *c, uint32_t pair, size_t round)
{
    const struct nt_routes *r = c->routes;
    const uint64_t *word = c->busy + (round >> 6);
    uint64_t taken = word[r->host[pair][0] * c->words] | word[r->host[pair][1] * c->words];
    for (size_t k = r->start[pair]; k < r->start[pair + 1]; k++)
        taken |= word[(r->hosts + r->link[k]) * c->words];
    return (taken >> (round & 63) & 1) == 0;
}

/* Adds the pair in a round that is open to it. */
int nt_choice_add(struct nt_choice *choice, uint32_t pair, size_t round, struct nt_err *err);

/* Puts another pair and round in place i; the round must be open to it then. */
void nt_choice_replace(struct nt_choice *choice, size_t i, uint32_t pair, size_t round);

/* Frees the round of place i, or takes it again: to find what would be open without it. */
void nt_choice_flip(struct nt_choice *choice, size_t i);

/* Forgets all pairs. */
void nt_choice_clear(struct nt_choice *choice);

/* 1 + the last round in use. */
size_t nt_choice_rounds(const struct nt_choice *choice);

/* Fills the plan's pairs, made for choice->used of them, and rounds: by round, then by the order of
 * the routes. Rounds that lost all their pairs close up. */
int nt_choice_write(const struct nt_choice *choice, struct nt_plan *plan, struct nt_err *err);

/* How much a set of pairs amplifies noise: fills plan->amplification_*, whose rank is set; pair[n]
 * are the chosen pairs of the routes. Leaves NaN when no link can be distinguished or the system is
 * too large. */
int nt_choice_measure_noise(const struct nt_routes *routes, const uint32_t *pair, size_t n,
                            struct nt_plan *plan, struct nt_err *err);

#endif
