/* SPDX-License-Identifier: Apache-2.0 */
#include "map_losses.h"

#include <stdbool.h>
#include <string.h>

#include "losses.h"
#include "memory.h"

#define SEGMENT_BYTES 1448.0 /* of data, at an MTU of 1500 */

struct seen {
    size_t n;
    struct nt_loss_seen *at;
    uint32_t *host; /* of the record's host: the map's */
    uint32_t *last; /* of a host: its path of this round */
    uint32_t round;
    size_t first; /* path of this round */
};

static bool is_own_flow(const struct nt_samples *s, const struct nt_sample *x)
{
    return x->kind == NT_SAMPLE_BANDWIDTH && strcmp(s->phase[x->phase].name, "host-links") == 0;
}

static void begin_round(struct seen *seen, uint32_t round)
{
    if (seen->round != round)
        seen->first = seen->n;
    seen->round = round;
}

/* What was sent again goes to the path of the two hosts in that round, whose sample stands before
 * it. */
static void add_again(struct seen *seen, const struct nt_sample *x)
{
    uint32_t a = seen->host[x->a], b = seen->host[x->b], k = seen->last[a];
    if (k < seen->first || k >= seen->n || seen->round != x->round)
        return;
    struct nt_loss_seen *p = &seen->at[k];
    if (!((p->from == a && p->to == b) || (p->from == b && p->to == a)) ||
        (p->flow && p->from != a))
        return;
    p->again += x->count;
    if (p->flow) /* what was counted is better than what was guessed */
        p->segments = x->segments;
    if (p->again > p->segments)
        p->segments = p->again;
}

static void add_path(struct seen *seen, const struct nt_samples *s, const struct nt_sample *x)
{
    bool flow = is_own_flow(s, x);
    if (!flow && x->kind != NT_SAMPLE_LATENCY)
        return;
    uint32_t a = seen->host[x->a], b = seen->host[x->b];
    double segments = flow ? x->bytes / SEGMENT_BYTES : 2.0 * x->count;
    seen->last[a] = seen->last[b] = (uint32_t)seen->n;
    seen->at[seen->n++] =
        (struct nt_loss_seen){.from = a, .to = b, .flow = flow, .segments = segments};
}

static size_t count_again(const struct nt_samples *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->samples; k++)
        n += s->sample[k].kind == NT_SAMPLE_RESENT;
    return n;
}

int nt_map_losses(const struct nt_samples *samples, const uint32_t *order, struct nt_map *map,
                  struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct seen seen = {.round = UINT32_MAX};
    if (count_again(samples) == 0)
        return 0;
    seen.at = nt_arena_array(&memory, samples->samples + 1, sizeof *seen.at);
    seen.host = nt_arena_array(&memory, samples->hosts + 1, sizeof *seen.host);
    seen.last = nt_arena_array(&memory, samples->hosts + 1, sizeof *seen.last);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t k = 0; k < samples->hosts; k++)
        seen.host[order[k]] = k;
    for (size_t k = 0; k < samples->samples; k++) {
        const struct nt_sample *x = &samples->sample[k];
        if (x->kind == NT_SAMPLE_KERNEL)
            continue;
        begin_round(&seen, x->round);
        if (x->kind == NT_SAMPLE_RESENT)
            add_again(&seen, x);
        else
            add_path(&seen, samples, x);
    }
    return nt_losses_find(map->model, seen.at, seen.n, map->fault, &map->faults, err);
}
