/* SPDX-License-Identifier: Apache-2.0 */
/* The search against all chains of few hosts. */
#include "asserts.h"
#include "rng.h"
#include "search.h"

enum { HOSTS = 6 };

/* Leaves in pods, similar uplinks, noise. */
static struct nt_pairs *draw(uint32_t hosts, double step, struct nt_rng *rng)
{
    struct nt_pair_value value[HOSTS * HOSTS];
    uint32_t leaf[HOSTS], pod[HOSTS];
    size_t n = 0;
    for (uint32_t i = 0; i < hosts; i++) {
        pod[i] = (uint32_t)nt_rng_below(rng, 2);
        leaf[i] = 2 * pod[i] + (uint32_t)nt_rng_below(rng, 2);
    }
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < hosts; j++)
            if (i != j)
                value[n++] = (struct nt_pair_value){
                    .a = i,
                    .b = j,
                    .us = 2 + step * ((leaf[i] != leaf[j]) + (pod[i] != pod[j])) +
                          0.02 * nt_rng_normal(rng)};
    struct nt_pairs *p = NULL;
    assert_int_equal(nt_pairs_create(hosts, value, n, &p, NULL), 0);
    return p;
}

struct all {
    struct nt_search *search;
    struct nt_chain chain, canonical;
    double best, total; /* ln scores: the best, and of the sum relative to search->best_score */
    size_t chains;
};

static void score(struct all *all)
{
    uint32_t map[2 * HOSTS], room[3 * HOSTS];
    nt_chain_copy(&all->canonical, &all->chain);
    nt_chain_canonicalise(&all->canonical, map);
    if (all->canonical.tiers != all->chain.tiers)
        return; /* it is the same as one with fewer tiers */
    struct nt_score *s = all->search->score;
    struct nt_score_place place = all->search->place;
    struct nt_score_value value;
    nt_score_set_off(s, &(struct nt_outliers){0});
    nt_score_set_chain(s, &all->canonical);
    double v = nt_score_full(s, &place, &value) +
               nt_chain_prior(&all->search->prior, &all->canonical, room);
    all->best = fmax(all->best, v);
    all->total += exp(v - all->search->best_score);
    all->chains++;
}

/* All ways to put units, of the tier below, into groups; each followed by all further tiers. */
static void enumerate(struct all *all, uint32_t tier, uint32_t units, uint32_t unit,
                      const uint32_t *of, uint32_t *to, uint32_t groups)
{
    uint32_t hosts = all->chain.hosts;
    if (unit < units) {
        for (to[unit] = 0; to[unit] <= groups; to[unit]++)
            enumerate(all, tier, units, unit + 1, of, to, to[unit] == groups ? groups + 1 : groups);
        return;
    }
    if (groups == 1 || groups == units)
        return;
    uint32_t above[HOSTS], next[HOSTS];
    for (uint32_t i = 0; i < hosts; i++)
        all->chain.label[i].tier[tier] = above[i] = to[of[i]];
    all->chain.tiers = tier + 1;
    score(all);
    if (tier + 1 < NT_TIERS_MAX)
        enumerate(all, tier + 1, groups, 0, above, next, 0);
}

TEST(the_search_finds_the_best_of_all_chains)
{
    for (uint64_t seed = 1; seed <= 15; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        struct nt_arena memory = {0};
        uint32_t hosts = 4 + (uint32_t)(seed % 3), of[HOSTS], to[HOSTS];
        struct nt_pairs *p = draw(hosts, 0.02 * (double)(1 + seed % 6), &rng);
        struct all all = {.best = -(double)INFINITY};
        assert_int_equal(nt_search_create(p, &all.search, NULL), 0);
        assert_int_equal(nt_chain_init(&all.chain, hosts, &memory, NULL), 0);
        assert_int_equal(nt_chain_init(&all.canonical, hosts, &memory, NULL), 0);
        score(&all); /* one switch */
        for (uint32_t i = 0; i < hosts; i++)
            of[i] = i;
        enumerate(&all, 0, hosts, 0, of, to, 0);
        double seen = 0;
        for (size_t k = 0; k < all.search->room; k++)
            if (all.search->visit[k].hash != 0)
                seen += exp(all.search->visit[k].score - all.search->best_score);
        assert_below(all.best, all.search->best_score + 0.15);
        assert_below(fabs(log(all.total / seen)), 0.1);
        nt_search_destroy(all.search);
        nt_pairs_destroy(p);
        nt_arena_fini(&memory);
    }
}

/* Leaves of one to four hosts, far apart; some readings are too low. chain: these leaves. */
static struct nt_pairs *draw_low(uint32_t hosts, double low, struct nt_rng *rng,
                                 struct nt_chain *chain)
{
    size_t n = 0;
    struct nt_pair_value *value = calloc((size_t)hosts * hosts, sizeof *value);
    uint32_t *leaf = calloc(hosts, sizeof *leaf);
    assert_true(value != NULL && leaf != NULL);
    for (uint32_t i = 0, left = 0; i < hosts; i++, left--) {
        leaf[i] = i == 0 ? 0 : leaf[i - 1] + (left == 0);
        left = left == 0 ? 1 + (uint32_t)nt_rng_below(rng, 4) : left;
    }
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < i; j++) {
            double us = 1.4 + 0.6 * (leaf[i] != leaf[j]) + 0.006 * nt_rng_normal(rng);
            us *= nt_rng_uniform(rng) < low ? 0.6 + 0.3 * nt_rng_uniform(rng) : 1;
            value[n++] = (struct nt_pair_value){i, j, us, 0, 0};
        }
    struct nt_pairs *p = NULL;
    assert_int_equal(nt_pairs_create(hosts, value, n, &p, NULL), 0);
    chain->tiers = 1;
    for (uint32_t i = 0; i < hosts; i++)
        chain->label[i].tier[0] = leaf[p->origin[i]];
    free(value);
    free(leaf);
    return p;
}

/* ln of the score of a chain, with a search of outliers on both sides. */
static double score_of(struct nt_search *s, struct nt_chain *chain, uint32_t *room)
{
    struct nt_score_place place = s->place;
    struct nt_score_value value;
    nt_score_set_off(s->score, &(struct nt_outliers){0});
    nt_score_set_chain(s->score, chain);
    double score = nt_score_full(s->score, &place, &value);
    return score + nt_chain_prior(&s->prior, chain, room);
}

/* The search starts with two leaves as one. Low readings between them fit this leaf, and the other
 * readings between them are outliers until the search splits it. */
TEST(low_readings_join_no_leaves)
{
    enum { MANY = 128 };
    static const uint64_t seeds[] = {13, 17, 18};
    for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seeds[k]);
        struct nt_arena memory = {0};
        struct nt_chain chain;
        struct nt_search *s = NULL;
        uint32_t room[3 * MANY];
        assert_int_equal(nt_chain_init(&chain, MANY, &memory, NULL), 0);
        struct nt_pairs *p = draw_low(MANY, 0.006 + 0.002 * (double)(seeds[k] % 8), &rng, &chain);
        nt_chain_canonicalise(&chain, room);
        assert_int_equal(nt_search_create(p, &s, NULL), 0);
        assert_below(score_of(s, &chain, room), s->best_score + 1);
        nt_search_destroy(s);
        nt_pairs_destroy(p);
        nt_arena_fini(&memory);
    }
}

RUN_TESTS
