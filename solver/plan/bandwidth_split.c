/* SPDX-License-Identifier: Apache-2.0 */
#include "bandwidth_work.h"

#include <math.h>
#include <string.h>

/* The group that a flow belongs to: below where its way turns, on the side that sends with all its
 * hosts (which receives when the step is turned). In a network that is no tree, the host. */
static uint32_t group_of(const struct nt_rooted_tree *h, uint32_t own, uint32_t other)
{
    if (!h->tree)
        return own;
    while (h->depth[other] > h->depth[own])
        other = h->parent[other];
    while (h->depth[own] > h->depth[other] && h->parent[own] != other)
        own = h->parent[own];
    if (h->parent[own] == other)
        return own;
    while (h->parent[own] != h->parent[other]) {
        own = h->parent[own];
        other = h->parent[other];
    }
    return own;
}

/* What the group may load the network with: its flows at full rate, or what its link was seen to
 * carry when all of them sent. */
static double load_of(const struct nt_bw *b, const struct nt_bw_step *s, uint32_t group,
                      size_t flows)
{
    const double MORE = 1.1; /* than it was seen to carry, in case that was disturbed */
    double load = (double)flows * b->rate_MBps;
    bool known = s->kind == FAN_AGAIN || s->kind == PAIRS || s->kind == LADDER;
    if (!known || group < b->rooted->hosts || b->rooted->up[group] == UINT32_MAX)
        return load;
    double seen = b->most[b->rooted->up[group] ^ (s->back ? 1u : 0u)];
    return isnan(seen) ? load : fmin(load, MORE * seen);
}

static uint32_t own_end(const struct nt_bw_step *s, const uint32_t *pair, bool own)
{
    return pair[s->back == own];
}

/* First fit in the order of the schedule. */
static void deal_parts(struct nt_bw *b, const struct nt_bw_step *s)
{
    const struct nt_flow_schedule *d = &b->schedule;
    uint32_t *flows = d->list, *seen = d->list2;
    size_t groups = 0;
    memset(flows, 0, b->rooted->vertices * sizeof *flows);
    for (size_t k = 0; k < d->pairs; k++) {
        uint32_t g =
            group_of(b->rooted, own_end(s, d->pair[k], true), own_end(s, d->pair[k], false));
        if (flows[g]++ == 0)
            seen[groups++] = g;
    }
    b->parts = 0;
    for (size_t k = 0; k < groups; k++) {
        double load = load_of(b, s, seen[k], flows[seen[k]]);
        uint32_t p = 0;
        while (p < b->parts && b->sum[p] + load > b->limit_MBps)
            p++;
        if (p == b->parts)
            b->sum[b->parts++] = 0;
        b->sum[p] += load;
        b->part[seen[k]] = p;
    }
}

void nt_bw_split(struct nt_bw *b, const struct nt_bw_step *s)
{
    const struct nt_flow_schedule *d = &b->schedule;
    size_t n = 0;
    b->next_part = 0;
    b->parts = d->pairs > 0;
    if (!(b->limit_MBps < INFINITY) || s->kind == WARM_UP || s->kind == ALONE || d->pairs < 2) {
        memcpy(b->pair, d->pair, d->pairs * sizeof *b->pair);
        b->cut[0] = 0;
        b->cut[1] = d->pairs;
        return;
    }
    deal_parts(b, s);
    b->most_parts = b->parts > b->most_parts ? b->parts : b->most_parts;
    for (uint32_t p = 0; p < b->parts; p++) {
        b->cut[p] = n;
        for (size_t k = 0; k < d->pairs; k++) {
            uint32_t g =
                group_of(b->rooted, own_end(s, d->pair[k], true), own_end(s, d->pair[k], false));
            if (b->part[g] == p)
                memcpy(b->pair[n++], d->pair[k], sizeof *b->pair);
        }
    }
    b->cut[b->parts] = n;
}
