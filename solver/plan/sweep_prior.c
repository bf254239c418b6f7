/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reading_noise.h"
#include "rng.h"
#include "rounds.h"

/* ---- the next pairs to verify a prior (infer/prior_check.h) --------------------------------- */

enum { NONE = UINT32_MAX, DRAWS_A_HOST = 8 };

/* A host in an order by clusters. */
struct seated {
    uint32_t above, own, rank, host;
};

struct check_round {
    struct nt_round_pairs pairs; /* the round: hosts */
    uint32_t *rank;              /* hosts: their places in a random order */
    struct seated *at;           /* scratch: hosts of them, as are the next */
    uint32_t *from, *till;       /* idle hosts of a cluster: places in at */
};

/* memory owns the arrays. */
static int check_round_init(struct check_round *r, size_t hosts, struct nt_arena *memory,
                            struct nt_rng *rng, struct nt_err *err)
{
    r->pairs.seat = nt_arena_array(memory, hosts / 2 + 1, sizeof *r->pairs.seat);
    r->pairs.busy = nt_arena_array(memory, hosts + 1, sizeof *r->pairs.busy);
    r->rank = nt_arena_array(memory, hosts + 1, sizeof *r->rank);
    r->at = nt_arena_array(memory, hosts + 1, sizeof *r->at);
    r->from = nt_arena_array(memory, hosts + 1, sizeof *r->from);
    r->till = nt_arena_array(memory, hosts + 1, sizeof *r->till);
    if (nt_arena_check(memory, err) < 0)
        return -1;
    for (size_t h = 0; h < hosts; h++)
        r->rank[h] = (uint32_t)h;
    nt_rng_shuffle(rng, r->rank, hosts);
    return 0;
}

static int compare_seated(const void *x, const void *y)
{
    const struct seated *p = x, *q = y;
    return NT_ORDER(p->above, q->above, NT_ORDER(p->own, q->own, NT_ORDER(p->rank, q->rank, 0)));
}

static void take(struct check_round *r, uint32_t a, uint32_t b)
{
    if (a != b && !r->pairs.busy[a] && !r->pairs.busy[b])
        nt_round_pairs_add(&r->pairs, a, b);
}

/* ---- joints ---- */

/* In every cluster of the lowest level: parts that are joined, one after another in a line, each by
 * hosts that are idle. */
static void plan_joints(struct check_round *r, const struct nt_prior_check *b)
{
    size_t n = 0;
    uint32_t tail = NONE;
    for (uint32_t h = 0; h < b->hosts; h++)
        if (!b->away[h])
            r->at[n++] =
                (struct seated){nt_prior_check_cluster(b, 0, h), b->joined[h], r->rank[h], h};
    qsort(r->at, n, sizeof *r->at, compare_seated);
    for (size_t k = 0, end; k < n; k = end) {
        uint32_t head = NONE, next = NONE;
        if (k > 0 && r->at[k].above != r->at[k - 1].above)
            tail = NONE;
        for (end = k;
             end < n && r->at[end].above == r->at[k].above && r->at[end].own == r->at[k].own;
             end++) {
            if (r->pairs.busy[r->at[end].host])
                continue;
            if (head == NONE)
                head = r->at[end].host;
            else
                next = r->at[end].host;
        }
        if (head == NONE) {
            tail = NONE;
        } else if (tail == NONE) {
            tail = next != NONE ? next : head;
        } else {
            take(r, tail, head);
            tail = next;
        }
    }
}

/* ---- clusters to read apart -------------------------------------------------------------- */

static uint32_t idle_of(struct check_round *r, uint32_t part)
{
    while (r->from[part] < r->till[part] && r->pairs.busy[r->at[r->from[part]].host])
        r->from[part]++;
    return r->from[part] < r->till[part] ? r->at[r->from[part]].host : NONE;
}

/* Two of the parts of a cluster; by their distance in a circle, so that all have as many. */
static void plan_circle(struct check_round *r, const struct nt_prior_check *b, size_t level,
                        uint32_t parts)
{
    for (uint32_t d = 1; 2 * d <= parts; d++)
        for (uint32_t i = 0; i < (2 * d == parts ? d : parts); i++) {
            uint32_t x = idle_of(r, i), y = idle_of(r, (i + d) % parts);
            if (x == NONE || y == NONE || x == y)
                continue;
            if (nt_prior_check_meet(b, x, y) == level && !nt_prior_check_is_apart(b, x, y))
                take(r, x, y);
        }
}

/* At a level: each cluster's parts, and their hosts that are idle. */
static void plan_apart(struct check_round *r, const struct nt_prior_check *b, size_t level)
{
    size_t n = 0;
    for (uint32_t h = 0; h < b->hosts; h++)
        if (!b->away[h] && !r->pairs.busy[h])
            r->at[n++] = (struct seated){nt_prior_check_cluster(b, level, h),
                                         level > 0 ? nt_prior_check_cluster(b, level - 1, h) : h,
                                         r->rank[h], h};
    qsort(r->at, n, sizeof *r->at, compare_seated);
    for (size_t k = 0; k < n;) {
        uint32_t parts = 0, above = r->at[k].above;
        while (k < n && r->at[k].above == above) {
            uint32_t own = r->at[k].own;
            r->from[parts] = (uint32_t)k;
            while (k < n && r->at[k].above == above && r->at[k].own == own)
                k++;
            r->till[parts++] = (uint32_t)k;
        }
        plan_circle(r, b, level, parts);
    }
}

/* ---- levels ---- */

static size_t idle_hosts(struct check_round *r, const struct nt_prior_check *b)
{
    size_t n = 0;
    for (uint32_t h = 0; h < b->hosts; h++)
        if (!b->away[h] && !r->pairs.busy[h])
            r->at[n++].host = h;
    return n;
}

/* Pairs of a level that too few were read of, at random. */
static void plan_level(struct check_round *r, const struct nt_prior_check *b, size_t level,
                       struct nt_rng *rng)
{
    size_t missing = b->wanted[level] - b->pairs[level];
    size_t n = idle_hosts(r, b);
    for (size_t draw = 0; n > 1 && missing > 0 && draw < DRAWS_A_HOST * n; draw++) {
        uint32_t x = r->at[nt_rng_below(rng, n)].host, y = r->at[draw % n].host;
        if (x == y || r->pairs.busy[x] || r->pairs.busy[y] || nt_prior_check_meet(b, x, y) != level)
            continue;
        take(r, x, y);
        missing--;
    }
}

/* Order: pairs to read again, loose hosts, connections within switches, clusters to read apart,
 * then pairs of levels with few readings. */
static void check_round_plan(struct check_round *r, const struct nt_prior_check *b,
                             const bool *missing, struct nt_rng *rng)
{
    r->pairs.count = 0;
    memcpy(r->pairs.busy, missing, b->hosts * sizeof *missing);
    for (size_t k = 0; k < b->rechecks; k++)
        take(r, b->recheck[k].a, b->recheck[k].b);
    for (size_t k = 0; k < b->requests; k++)
        take(r, b->request[k].a, b->request[k].b);
    plan_joints(r, b);
    bool all = b->levels == 1 && b->hosts <= NT_VERIFY_ALL_SEATS;
    for (size_t l = all ? 0 : 1; l < b->levels; l++)
        plan_apart(r, b, l);
    for (size_t l = 0; l < b->levels; l++)
        if (b->pairs[l] < b->wanted[l])
            plan_level(r, b, l, rng);
}

/* ---- the sweep ---- */

static const double NOISE_WANTED = 0.012; /* relative, of a reading */
static const double READING_US = 20000;   /* at most */
static const double WORTH_MORE = 1.5;     /* times the batches: below, noise hardly changes */

enum { ROUNDS_MORE = 24 };

struct prior {
    struct nt_planner base;
    struct nt_belief *belief;
    struct nt_readings readings;
    struct nt_prior_check check; /* as of the last call of next */
    struct nt_reading_noise shown;
    struct check_round round;
    bool *missing;
    uint32_t (*pair)[2];
    uint32_t batches, count;
    size_t rounds;
    struct nt_rng rng;
    bool over;
};

static const struct prior *prior_of(const struct nt_planner *planner)
{
    return (const struct prior *)planner;
}

/* ---- rounds ---- */

/* After the first: as many batches as make a reading quiet; then it counts no more. */
static void quieten(struct prior *s)
{
    double noise = nt_reading_noise_sd(&s->shown), times = noise / NOISE_WANTED;
    double us = isnan(s->check.ln[0]) ? exp((double)s->readings.at[0].ln) : exp(s->check.ln[0]);
    double most = fmax(READING_US / (2 * s->count * us), s->batches);
    double want = fmin(ceil(s->batches * times * times), most);
    if (want > WORTH_MORE * s->batches)
        s->batches = (uint32_t)want;
}

static int judge(struct prior *s, struct nt_err *err)
{
    struct nt_prior_check now;
    if (nt_prior_check_run(s->belief, s->missing, &s->readings, nt_reading_noise_sd(&s->shown),
                           &now, err) < 0)
        return -1;
    nt_prior_check_fini(&s->check);
    s->check = now;
    return 0;
}

static int prior_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct prior *s = (struct prior *)planner;
    if (s->over)
        return 0;
    if (judge(s, err) < 0)
        return -1;
    if (s->check.verdict != NT_SPARSE_OPEN) {
        s->over = true;
        return 0;
    }
    if (s->rounds == 1 && s->readings.count > 0)
        quieten(s);
    check_round_plan(&s->round, &s->check, s->missing, &s->rng);
    if (s->round.pairs.count == 0 || s->rounds >= s->belief->hosts + ROUNDS_MORE) {
        s->over = true;
        return 0;
    }
    for (size_t k = 0; k < s->round.pairs.count; k++)
        memcpy(s->pair[k], s->round.pairs.seat[k], sizeof *s->pair);
    s->rounds++;
    *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                               .pairs = s->round.pairs.count,
                               .pair = s->pair,
                               .message_bytes = NT_PING_BYTES,
                               .batches = s->batches,
                               .count = s->count};
    strncpy(order->phase, NT_PRIOR_PHASE, sizeof order->phase - 1);
    return 1;
}

/* ---- results ---- */

static int prior_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                      struct nt_err *err)
{
    struct prior *s = (struct prior *)planner;
    for (size_t k = 0; k < n; k++) {
        const struct nt_result *r = &results[k];
        if (!r->ok || r->count == 0 || r->a >= s->belief->hosts || r->b >= s->belief->hosts)
            continue;
        if (nt_readings_note(&s->readings, r->a, r->b, r->count, r->value_us, err) < 0 ||
            nt_reading_noise_note(&s->shown, r->value_us, r->se_us, r->count, err) < 0)
            return -1;
    }
    return 0;
}

static void prior_lose(struct nt_planner *planner, uint32_t host)
{
    struct prior *s = (struct prior *)planner;
    if (host < s->belief->hosts)
        s->missing[host] = true;
}

/* ---- making and unmaking ---- */

static void prior_destroy(struct nt_planner *planner)
{
    struct prior *s = (struct prior *)planner;
    nt_belief_destroy(s->belief);
    nt_readings_fini(&s->readings);
    nt_prior_check_fini(&s->check);
    nt_reading_noise_fini(&s->shown);
    nt_object_destroy(s);
}

static const struct nt_planner_ops OPS = {prior_next, prior_tell, prior_lose, prior_destroy, NULL};

static int copy_belief(const struct nt_belief *belief, struct nt_belief **out, struct nt_err *err)
{
    size_t rows = belief->levels > 1 ? belief->levels - 1 : 0;
    if (nt_belief_create(belief->hosts, belief->levels, out, err) < 0)
        return -1;
    (*out)->known = belief->known;
    memcpy((*out)->cluster, belief->cluster, rows * belief->hosts * sizeof *belief->cluster);
    return 0;
}

int nt_sweep_prior_create(const struct nt_belief *belief, const struct nt_sweep_setup *setup,
                          struct nt_planner **out, struct nt_err *err)
{
    struct prior *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    s->batches = setup->batches;
    s->count = setup->count;
    s->missing = nt_arena_array(&s->base.memory, belief->hosts + 1, sizeof *s->missing);
    s->pair = nt_arena_array(&s->base.memory, belief->hosts / 2 + 1, sizeof *s->pair);
    nt_rng_init(&s->rng, setup->seed);
    for (size_t l = 0; l < NT_BELIEF_LEVELS_MAX; l++)
        s->check.ln[l] = NAN;
    if (nt_arena_check(&s->base.memory, err) < 0 ||
        check_round_init(&s->round, belief->hosts, &s->base.memory, &s->rng, err) < 0 ||
        copy_belief(belief, &s->belief, err) < 0) {
        prior_destroy(&s->base);
        return -1;
    }
    for (size_t h = 0; setup->missing != NULL && h < belief->hosts; h++)
        s->missing[h] = setup->missing[h];
    *out = &s->base;
    return 0;
}

enum nt_sparse_verdict nt_sweep_prior_verdict(const struct nt_planner *planner)
{
    return prior_of(planner)->check.verdict;
}

int nt_sweep_prior_network(const struct nt_planner *planner, struct nt_sparse *out,
                           struct nt_err *err)
{
    const struct prior *s = prior_of(planner);
    return nt_prior_check_sparse(&s->check, s->missing, &s->readings, out, err);
}
