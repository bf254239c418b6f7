/* SPDX-License-Identifier: Apache-2.0 */
/* A plan under construction: the chosen pairs of the routes and their rounds. In one round, no link
 * and no host is used by two pairs. Shared by plan_routes.c and plan_model.c.
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
    uint32_t *pair;  /* used indices of pairs of the routes */
    uint32_t *round; /* per chosen pair */
    size_t words;    /* words of 64 rounds per link or host */
    uint64_t *busy;  /* [(hosts + links) * words]: the rounds in which it is used */
};

int nt_choice_create(const struct nt_routes *routes, struct nt_choice **out, struct nt_err *err);
void nt_choice_destroy(struct nt_choice *choice);

/* Makes room for this number of rounds; call it before using a round. */
int nt_choice_open(struct nt_choice *choice, size_t rounds, struct nt_err *err);

/* Whether all hosts and links of the pair are free in this round, which must be below the number of
 * nt_choice_open. */
static inline bool nt_choice_free(const struct nt_choice *c, uint32_t pair, size_t round)
{
    const struct nt_routes *r = c->routes;
    const uint64_t *word = c->busy + (round >> 6);
    uint64_t taken = word[r->host[pair][0] * c->words] | word[r->host[pair][1] * c->words];
    for (size_t k = r->start[pair]; k < r->start[pair + 1]; k++)
        taken |= word[(r->hosts + r->link[k]) * c->words];
    return (taken >> (round & 63) & 1) == 0;
}

/* Adds the pair in a round that is free for it. */
int nt_choice_add(struct nt_choice *choice, uint32_t pair, size_t round, struct nt_err *err);

/* Replaces pair and round of element i; the round must be free for the new pair then. */
void nt_choice_replace(struct nt_choice *choice, size_t i, uint32_t pair, size_t round);

/* Releases the round of element i, or occupies it again: to find what would be free without it. */
void nt_choice_toggle(struct nt_choice *choice, size_t i);

/* Removes all pairs. */
void nt_choice_clear(struct nt_choice *choice);

/* 1 + the last round in use. */
size_t nt_choice_rounds(const struct nt_choice *choice);

/* Fills the pairs (the plan was made for choice->used) and rounds of plan, by round, then in the
 * order of the routes. Empty rounds are removed. */
int nt_choice_write(const struct nt_choice *choice, struct nt_plan *plan, struct nt_err *err);

/* Fills plan->amplification_*, how much a set of pairs amplifies noise; plan->rank must be set.
 * pair[n]: the chosen pairs of the routes. NaN: no link is determined, or the system is too
 * large. */
int nt_choice_measure_noise(const struct nt_routes *routes, const uint32_t *pair, size_t n,
                            struct nt_plan *plan, struct nt_err *err);

#endif
