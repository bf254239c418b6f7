/* SPDX-License-Identifier: Apache-2.0 */
#include "choice.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

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

void nt_choice_lift(struct nt_choice *c, size_t i)
{
    flip_links(c, c->pair[i], c->round[i]);
}

void nt_choice_put_back(struct nt_choice *c, size_t i)
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
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    return (x->pair > y->pair) - (x->pair < y->pair);
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
