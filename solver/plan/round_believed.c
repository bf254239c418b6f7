/* SPDX-License-Identifier: Apache-2.0 */
#include "round_believed.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX, DRAWS_A_HOST = 8 };

/* A host in an order by clusters. */
struct nt_seated {
    uint32_t above, own, rank, host;
};

int nt_round_believed_init(struct nt_round_believed *r, size_t hosts, struct nt_arena *memory,
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
    const struct nt_seated *p = x, *q = y;
    if (p->above != q->above)
        return p->above < q->above ? -1 : 1;
    if (p->own != q->own)
        return p->own < q->own ? -1 : 1;
    return p->rank < q->rank ? -1 : p->rank > q->rank;
}

static void take(struct nt_round_believed *r, uint32_t a, uint32_t b)
{
    if (a != b && !r->pairs.busy[a] && !r->pairs.busy[b])
        nt_round_pairs_add(&r->pairs, a, b);
}

/* ---- joints ----------------------------------------------------------------------------------
 */

/* In every cluster of the lowest level: parts that are joined, one after another in a line, each by
 * hosts that are idle. */
static void plan_joints(struct nt_round_believed *r, const struct nt_believed *b)
{
    size_t n = 0;
    uint32_t tail = NONE;
    for (uint32_t h = 0; h < b->hosts; h++)
        if (!b->away[h])
            r->at[n++] =
                (struct nt_seated){nt_believed_cluster(b, 0, h), b->joined[h], r->rank[h], h};
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

/* ---- clusters that are to be read apart -------------------------------------------------------
 */

static uint32_t idle_of(struct nt_round_believed *r, uint32_t part)
{
    while (r->from[part] < r->till[part] && r->pairs.busy[r->at[r->from[part]].host])
        r->from[part]++;
    return r->from[part] < r->till[part] ? r->at[r->from[part]].host : NONE;
}

/* Two of the parts of a cluster; by their distance in a circle, so that all have as many. */
static void plan_circle(struct nt_round_believed *r, const struct nt_believed *b, size_t level,
                        uint32_t parts)
{
    for (uint32_t d = 1; 2 * d <= parts; d++)
        for (uint32_t i = 0; i < (2 * d == parts ? d : parts); i++) {
            uint32_t x = idle_of(r, i), y = idle_of(r, (i + d) % parts);
            if (x == NONE || y == NONE || x == y)
                continue;
            if (nt_believed_meet(b, x, y) == level && !nt_believed_is_apart(b, x, y))
                take(r, x, y);
        }
}

/* At a level: each cluster's parts, and their hosts that are idle. */
static void plan_apart(struct nt_round_believed *r, const struct nt_believed *b, size_t level)
{
    size_t n = 0;
    for (uint32_t h = 0; h < b->hosts; h++)
        if (!b->away[h] && !r->pairs.busy[h])
            r->at[n++] = (struct nt_seated){nt_believed_cluster(b, level, h),
                                            level > 0 ? nt_believed_cluster(b, level - 1, h) : h,
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

/* ---- levels ----------------------------------------------------------------------------------
 */

static size_t idle_hosts(struct nt_round_believed *r, const struct nt_believed *b)
{
    size_t n = 0;
    for (uint32_t h = 0; h < b->hosts; h++)
        if (!b->away[h] && !r->pairs.busy[h])
            r->at[n++].host = h;
    return n;
}

/* Pairs of a level that too few were read of, at random. */
static void plan_level(struct nt_round_believed *r, const struct nt_believed *b, size_t level,
                       struct nt_rng *rng)
{
    size_t missing = b->wanted[level] - b->pairs[level];
    size_t n = idle_hosts(r, b);
    for (size_t draw = 0; n > 1 && missing > 0 && draw < DRAWS_A_HOST * n; draw++) {
        uint32_t x = r->at[nt_rng_below(rng, n)].host, y = r->at[draw % n].host;
        if (x == y || r->pairs.busy[x] || r->pairs.busy[y] || nt_believed_meet(b, x, y) != level)
            continue;
        take(r, x, y);
        missing--;
    }
}

int nt_round_believed_plan(struct nt_round_believed *r, const struct nt_believed *b,
                           const bool *missing, struct nt_rng *rng, struct nt_err *err)
{
    (void)err;
    r->pairs.count = 0;
    memcpy(r->pairs.busy, missing, b->hosts * sizeof *missing);
    for (size_t k = 0; k < b->rechecks; k++)
        take(r, b->recheck[k].a, b->recheck[k].b);
    for (size_t k = 0; k < b->wishes; k++)
        take(r, b->wish[k].a, b->wish[k].b);
    plan_joints(r, b);
    bool all = b->levels == 1 && b->hosts <= NT_VERIFY_ALL_SEATS;
    for (size_t l = all ? 0 : 1; l < b->levels; l++)
        plan_apart(r, b, l);
    for (size_t l = 0; l < b->levels; l++)
        if (b->pairs[l] < b->wanted[l])
            plan_level(r, b, l, rng);
    return 0;
}
