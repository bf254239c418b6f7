/* SPDX-License-Identifier: Apache-2.0 */
#include "one_way_links.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "memory.h"
#include "rooted_tree.h"

/* The slower of two directions by more than this does not count (PARUS: 1 + eps_d). */
static const double SLOWER = 1.5;

/* Of the pairs across a simplex link so many are one way; the rest are outliers. */
static const double ONE_WAY = 0.8;

/* Chance that some link of a network is called simplex for pairs that are one way at random. */
static const double CHANCE = 0.02;

enum { SIMPLEX_MAX = 64 }; /* more are not explained by links */

struct across {
    size_t pairs, one_way[2]; /* link a to b, b to a */
};

struct search {
    const struct nt_matrix *latency;
    struct nt_model *model;
    struct nt_rooted_tree *rooted;
    uint32_t *channel;     /* room for a path */
    struct across *across; /* links */
    bool *turned;          /* links: b to a is what works */
    size_t ways, pairs;    /* not explained yet: one way, and all */
};

static void search_fini(struct search *h)
{
    nt_rooted_tree_destroy(h->rooted);
}

static bool is_usable(float v)
{
    return v > 0 && v < INFINITY;
}

/* -1, 1: only that way; 0: both ways. */
static int pair_direction(float there, float back)
{
    if (is_usable(there) != is_usable(back))
        return is_usable(there) ? 1 : -1;
    if ((double)back > SLOWER * (double)there)
        return 1;
    return (double)there > SLOWER * (double)back ? -1 : 0;
}

/* Pairs that are one way, and all; most pairs of one triangle, or with holes, are. */
static bool has_ways(const struct nt_matrix *m)
{
    size_t ways = 0, pairs = 0;
    for (uint32_t i = 1; i < m->n; i++)
        for (uint32_t j = 0; j < i; j++) {
            float there = nt_matrix_get(m, i, j), back = nt_matrix_get(m, j, i);
            pairs += is_usable(there) || is_usable(back);
            ways += (is_usable(there) || is_usable(back)) && pair_direction(there, back) != 0;
        }
    return ways > 0 && 2 * ways < pairs;
}

/* A pair that only a link known to be simplex joins is explained. */
static bool is_explained(const struct search *h, size_t path)
{
    for (size_t k = 0; k < path; k++)
        if (h->model->link[h->channel[k] / 2].simplex)
            return true;
    return false;
}

/* Counts the pairs that are not explained yet, over the links that they cross. */
static void count_across(struct search *h)
{
    const struct nt_matrix *m = h->latency;
    memset(h->across, 0, h->model->links * sizeof *h->across);
    h->pairs = h->ways = 0;
    for (uint32_t i = 1; i < m->n; i++)
        for (uint32_t j = 0; j < i; j++) {
            float there = nt_matrix_get(m, i, j), back = nt_matrix_get(m, j, i);
            size_t path = is_usable(there) || is_usable(back)
                              ? nt_rooted_tree_path(h->rooted, i, j, h->channel)
                              : 0;
            if (path == 0 || is_explained(h, path))
                continue;
            int d = pair_direction(there, back);
            h->pairs++;
            h->ways += d != 0;
            for (size_t k = 0; k < path; k++) {
                struct across *x = &h->across[h->channel[k] / 2];
                x->pairs++;
                if (d != 0)
                    x->one_way[h->channel[k] % 2 ^ (d < 0)]++;
            }
        }
}

/* How much more than chance: ln of the chance that all pairs one way across the link are so by
 * themselves, at the rate of all other pairs. */
static double ln_chance(const struct search *h, const struct across *x, size_t one_way)
{
    const double SEEN = 0.5; /* of each kind, before anything is (Jeffreys 1946) */
    double others = (double)(h->pairs - x->pairs);
    double rate = ((double)(h->ways - x->one_way[0] - x->one_way[1]) + SEEN) / (others + 2 * SEEN);
    return rate < 1 ? (double)one_way * log(rate) + log(2 * (double)h->model->links) : 0;
}

/* The channel that explains most one-way pairs; UINT32_MAX: none does. */
static uint32_t worst_link(const struct search *h)
{
    uint32_t found = UINT32_MAX;
    size_t most = 0;
    for (uint32_t c = 0; c < 2 * h->model->links; c++) {
        const struct across *x = &h->across[c / 2];
        size_t n = x->one_way[c % 2];
        if (n > most && (double)n >= ONE_WAY * (double)x->pairs &&
            ln_chance(h, x, n) < log(CHANCE)) {
            found = c;
            most = n;
        }
    }
    return found;
}

/* From now on a to b is the direction that works. */
static void turn_link(struct nt_link *l)
{
    uint32_t v = l->a;
    l->a = l->b;
    l->b = v;
}

static int search_init(struct search *h, const struct nt_matrix *latency, struct nt_model *m,
                       struct nt_arena *memory, struct nt_err *err)
{
    *h = (struct search){.latency = latency, .model = m};
    if (nt_rooted_tree_create(m, &h->rooted, err) < 0)
        return -1;
    h->channel = nt_arena_array(memory, nt_rooted_tree_room(h->rooted), sizeof *h->channel);
    h->across = nt_arena_array(memory, m->links + 1, sizeof *h->across);
    h->turned = nt_arena_array(memory, m->links + 1, sizeof *h->turned);
    return nt_arena_check(memory, err);
}

int nt_one_way_links_mark(const struct nt_matrix *latency, struct nt_model *model,
                          struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct search h;
    if (model->switches == 0 || !has_ways(latency))
        return 0;
    int status = search_init(&h, latency, model, &memory, err);
    for (int k = 0; k < SIMPLEX_MAX && status == 0 && h.rooted->tree; k++) {
        count_across(&h);
        uint32_t c = worst_link(&h);
        if (c == UINT32_MAX)
            break;
        model->link[c / 2].simplex = true;
        h.turned[c / 2] = c % 2 == 1;
    }
    for (size_t k = 0; k < model->links && status == 0; k++)
        if (h.turned[k])
            turn_link(&model->link[k]);
    search_fini(&h);
    return status == 0 ? nt_model_canonicalise(model, err) : -1; /* links in their order */
}
