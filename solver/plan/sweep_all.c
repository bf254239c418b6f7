/* SPDX-License-Identifier: Apache-2.0 */
/* All pairs in rounds of disjoint pairs: the circle method for a 1-factorisation of the complete
 * graph (Kirkman 1847; E. Lucas, Recreations mathematiques II, 1883, "les promenades"). One host
 * stays in the middle, the others stand on a circle; round r pairs those that mirror each other
 * across the diameter through r. An odd number gets an empty place, and who meets it rests. */

#include "matrix.h"
#include "memory.h"
#include "rng.h"
#include "sweep.h"

struct sweep_all {
    struct nt_planner base;
    size_t hosts;        /* that take part: size of seat */
    size_t all;          /* that exist: size of lost */
    uint32_t *seat;      /* who sits where in this pass */
    uint32_t *turn;      /* the order of this pass's rounds */
    uint32_t (*pair)[2]; /* of the round last ordered */
    bool *lost;
    size_t away; /* of them */
    unsigned passes, pass;
    size_t rounds, round; /* in a pass */
    uint32_t batches, count;
    bool sequential; /* a pair at a time: */
    size_t left;     /*   of the round these are still to be ordered */
};

/* Another order each pass, so that what disturbs for a while does not hit the same pairs. */
static void shuffle_pass(struct sweep_all *s)
{
    struct nt_rng rng;
    nt_rng_init(&rng, s->pass + 1);
    nt_rng_shuffle(&rng, s->seat, s->hosts);
    nt_rng_shuffle(&rng, s->turn, s->rounds);
}

static size_t add_pair(struct sweep_all *s, size_t n, size_t i, size_t j)
{
    if (i >= s->hosts || j >= s->hosts) /* the empty place */
        return n;
    uint32_t a = s->seat[i], b = s->seat[j];
    if (s->lost[a] || s->lost[b])
        return n;
    s->pair[n][0] = a < b ? a : b;
    s->pair[n][1] = a < b ? b : a;
    return n + 1;
}

static size_t fill_round(struct sweep_all *s, size_t r)
{
    size_t circle = s->rounds, n = add_pair(s, 0, r, circle);
    for (size_t k = 1; 2 * k < circle + 1; k++)
        n = add_pair(s, n, (r + k) % circle, (r + circle - k) % circle);
    return n;
}

static void order_pairs(const struct sweep_all *s, uint32_t (*pair)[2], size_t n,
                        struct nt_order *order)
{
    *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                               .phase = "latency",
                               .pairs = n,
                               .pair = pair,
                               .message_bytes = 8,
                               .batches = s->batches,
                               .count = s->count};
}

/* The next pair of the round whose hosts are still there. */
static bool order_next_pair(struct sweep_all *s, struct nt_order *order)
{
    while (s->left > 0) {
        uint32_t(*pair)[2] = &s->pair[--s->left];
        if (s->lost[(*pair)[0]] || s->lost[(*pair)[1]])
            continue;
        order_pairs(s, pair, 1, order);
        return true;
    }
    return false;
}

static int all_pairs_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct sweep_all *s = (struct sweep_all *)planner;
    (void)err;
    if (order_next_pair(s, order))
        return 1;
    while (s->pass < s->passes) {
        if (s->round == 0)
            shuffle_pass(s);
        size_t n = 0;
        while (s->round < s->rounds && n == 0)
            n = fill_round(s, s->turn[s->round++]);
        if (s->round == s->rounds) {
            s->round = 0;
            s->pass++;
        }
        if (n == 0)
            continue;
        if (s->sequential) {
            s->left = n;
            return order_next_pair(s, order);
        }
        order_pairs(s, s->pair, n, order);
        return 1;
    }
    return 0;
}

static void all_pairs_lose(struct nt_planner *planner, uint32_t host)
{
    struct sweep_all *s = (struct sweep_all *)planner;
    if (host >= s->all || s->lost[host])
        return;
    s->lost[host] = true;
    s->away++;
}

static size_t all_pairs_ahead(const struct nt_planner *planner)
{
    const struct sweep_all *s = (const struct sweep_all *)planner;
    /* no round is empty */
    bool whole = s->away < s->hosts / 2;
    return s->sequential || !whole ? 0 : (s->passes - s->pass) * s->rounds - s->round;
}

static const struct nt_planner_ops OPS = {.next = all_pairs_next,
                                          .tell = nt_planner_tell_nothing,
                                          .lose = all_pairs_lose,
                                          .ahead = all_pairs_ahead};

static void arrange_hosts(struct sweep_all *s, const bool *missing)
{
    for (size_t i = 0; i < s->all; i++) {
        s->lost[i] = missing != NULL && missing[i];
        if (!s->lost[i])
            s->seat[s->hosts++] = (uint32_t)i;
    }
    s->rounds = nt_sweep_all_rounds(s->hosts);
    for (size_t r = 0; r < s->rounds; r++)
        s->turn[r] = (uint32_t)r;
    if (s->rounds == 0)
        s->passes = 0;
}

int nt_sweep_all_create(size_t hosts, const bool *missing, unsigned passes, uint32_t batches,
                        uint32_t count, struct nt_planner **out, struct nt_err *err)
{
    if (hosts > NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "a sweep of %zu hosts: at most %d", hosts,
                          (int)NT_HOSTS_MAX);
    struct sweep_all *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    s->all = hosts;
    s->seat = nt_arena_array(&s->base.memory, hosts, sizeof *s->seat);
    s->turn = nt_arena_array(&s->base.memory, hosts, sizeof *s->turn);
    s->pair = nt_arena_array(&s->base.memory, hosts / 2, sizeof *s->pair);
    s->lost = nt_arena_array(&s->base.memory, hosts, sizeof *s->lost);
    s->passes = passes;
    s->batches = batches;
    s->count = count;
    if (nt_arena_check(&s->base.memory, err) != 0) {
        nt_planner_destroy(&s->base);
        return -1;
    }
    arrange_hosts(s, missing);
    *out = &s->base;
    return 0;
}

int nt_sweep_sequential_create(size_t hosts, const bool *missing, unsigned passes, uint32_t batches,
                               uint32_t count, struct nt_planner **out, struct nt_err *err)
{
    if (nt_sweep_all_create(hosts, missing, passes, batches, count, out, err) != 0)
        return -1;
    ((struct sweep_all *)*out)->sequential = true;
    return 0;
}
