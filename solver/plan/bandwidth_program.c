/* SPDX-License-Identifier: Apache-2.0 */
#include "bandwidth_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Times that hosts below their leaf's limit are paired again; that rounds of groups are checked: of
 * three rounds two agree unless two were disturbed. */
enum { AGAIN = 2, CHECKS = 2 };

static const char WARM_UP_PHASE[] = "warm-up", HOST_LINKS_PHASE[] = "host-links",
                  TIERS_PHASE[] = "tiers", LADDER_PHASE[] = "ladder";

bool nt_bandwidth_is_phase(const char *name)
{
    return strcmp(name, WARM_UP_PHASE) == 0 || strcmp(name, HOST_LINKS_PHASE) == 0 ||
           strcmp(name, TIERS_PHASE) == 0 || strcmp(name, LADDER_PHASE) == 0;
}

const char *nt_bw_phase(const struct nt_bw_step *s)
{
    switch (s->kind) {
    case WARM_UP:
    case ALONE:
        return WARM_UP_PHASE;
    case SHIFT:
    case SHIFT_REPEAT:
    case SHIFT_AGAIN:
    case LINKS:
        return HOST_LINKS_PHASE;
    case FAN:
    case SPILL:
    case FAN_AGAIN:
    case PAIRS:
    case CHECK:
        return TIERS_PHASE;
    case SHIFT_LADDER:
    case LADDER:
        break;
    }
    return LADDER_PHASE;
}

static int add_step(struct nt_bw *b, struct nt_bw_step s, struct nt_err *err)
{
    b->plan =
        nt_arena_grow(&b->base.memory, b->plan, &b->steps_capacity, b->steps + 1, sizeof *b->plan);
    if (nt_arena_check(&b->base.memory, err) != 0)
        return -1;
    b->plan[b->steps++] = s;
    return 0;
}

static int add_both(struct nt_bw *b, struct nt_bw_step s, struct nt_err *err)
{
    s.back = false;
    if (add_step(b, s, err) != 0)
        return -1;
    s.back = true;
    return add_step(b, s, err);
}

/* Links between hosts: each gets the first round in which both ends are free (Vizing's bound is
 * the largest degree plus one; this greedy one needs less than twice the degree). */
static int colour_links(struct nt_bw *b, struct nt_err *err)
{
    const struct nt_rooted_tree *h = b->rooted;
    uint32_t colours = 0;
    for (size_t k = 0; k < h->links; k++) {
        const uint32_t *ends = h->ends[k];
        b->colour[k] = UINT32_MAX;
        if (ends[0] >= h->hosts || ends[1] >= h->hosts)
            continue;
        for (uint32_t c = 0, used = 1; used; c++) {
            used = 0;
            for (int e = 0; e < 2; e++)
                for (uint32_t i = h->graph.start[ends[e]]; i < h->graph.start[ends[e] + 1]; i++)
                    used |= h->graph.link[i] < k && b->colour[h->graph.link[i]] == c;
            if (!used)
                b->colour[k] = c;
        }
        colours = b->colour[k] + 1 > colours ? b->colour[k] + 1 : colours;
    }
    for (uint32_t c = 0; c < colours; c++)
        if (add_both(b, (struct nt_bw_step){.kind = LINKS, .index = c}, err) != 0)
            return -1;
    return 0;
}

/* The most hosts that any switch has for itself. */
static size_t most_at_a_switch(const struct nt_rooted_tree *h)
{
    size_t most = 0;
    for (size_t v = h->hosts; v < h->vertices; v++) {
        size_t n = 0;
        for (uint32_t i = h->graph.start[v]; i < h->graph.start[v + 1]; i++)
            n += h->ends[h->graph.link[i]][0] < h->hosts || h->ends[h->graph.link[i]][1] < h->hosts;
        most = n > most ? n : most;
    }
    return most;
}

static int plan_host_links(struct nt_bw *b, struct nt_err *err)
{
    size_t most = most_at_a_switch(b->rooted);
    for (uint32_t parity = 0; parity < 3 && most >= (parity == 0 ? 2 : 3); parity++)
        if (add_both(b, (struct nt_bw_step){.kind = SHIFT, .parity = parity}, err) != 0)
            return -1;
    for (size_t k = 0, steps = b->steps; k < steps; k++)
        if (b->plan[k].kind == SHIFT &&
            add_step(b, (struct nt_bw_step){.kind = SHIFT_REPEAT, .index = (uint32_t)k}, err) != 0)
            return -1;
    for (uint32_t k = 0; k < AGAIN && most > 0; k++)
        if (add_both(b, (struct nt_bw_step){.kind = SHIFT_AGAIN, .index = k}, err) != 0)
            return -1;
    return colour_links(b, err);
}

static int plan_fans(struct nt_bw *b, uint32_t height, struct nt_err *err)
{
    const struct nt_rooted_tree *h = b->rooted;
    uint32_t turns = 0, tight_turns = 0, seats = 0;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t v = h->order[k];
        if (b->fan.height[v] != height)
            continue;
        uint32_t *most = b->fan.tight[v] ? &tight_turns : &turns;
        *most = b->fan.bins[v] > *most ? b->fan.bins[v] : *most;
        seats += b->fan.tight[v];
    }
    for (uint32_t t = 0; t < turns; t++)
        if (add_both(b, (struct nt_bw_step){.kind = FAN, .height = height, .index = t}, err) != 0)
            return -1;
    for (uint32_t t = 0; t < tight_turns; t++)
        for (uint32_t parity = 0; parity < 2 && parity < seats; parity++)
            if (add_both(b, (struct nt_bw_step){SPILL, height, t, parity, false, 0}, err) != 0)
                return -1;
    return add_both(b, (struct nt_bw_step){.kind = FAN_AGAIN, .height = height}, err);
}

static uint32_t highest_tier(const struct nt_bw *b)
{
    uint32_t top = b->fan.highest;
    return b->options.highest > 0 && b->options.highest + 1 < top ? b->options.highest + 1 : top;
}

static int plan_tiers(struct nt_bw *b, struct nt_err *err)
{
    for (uint32_t height = 2; height <= highest_tier(b); height++)
        if (plan_fans(b, height, err) != 0)
            return -1;
    for (uint32_t height = 2; height <= highest_tier(b); height++)
        for (uint32_t parity = 0; parity < 2; parity++)
            if (add_both(b, (struct nt_bw_step){PAIRS, height, 0, parity, false, 0}, err) != 0)
                return -1;
    /* last, so that what disturbed a round is over */
    size_t steps = b->steps;
    for (uint32_t turn = 0; turn < CHECKS && !b->options.once; turn++)
        for (size_t k = 0; k < steps; k++) {
            struct nt_bw_step check = {.kind = CHECK, .index = (uint32_t)k, .parity = turn};
            bool group = b->plan[k].kind == FAN || b->plan[k].kind == SPILL;
            if (group && add_step(b, check, err) != 0)
                return -1;
        }
    return 0;
}

static int plan_ladder(struct nt_bw *b, struct nt_err *err)
{
    size_t hosts = most_at_a_switch(b->rooted);
    for (size_t k = 1; k < hosts / 2; k *= 2)
        if (add_step(b, (struct nt_bw_step){.kind = SHIFT_LADDER, .index = (uint32_t)k}, err) != 0)
            return -1;
    for (uint32_t height = 2; height <= highest_tier(b); height++) {
        nt_flow_schedule_clear(&b->schedule);
        size_t flows = nt_flow_schedule_pairs(&b->schedule, &b->fan, height, 0, SIZE_MAX);
        for (size_t k = 1; k < flows; k *= 2)
            if (add_step(
                    b, (struct nt_bw_step){.kind = LADDER, .height = height, .index = (uint32_t)k},
                    err) != 0)
                return -1;
    }
    return 0;
}

int nt_bw_program(struct nt_bw *b, struct nt_err *err)
{
    unsigned phases = b->options.phases;
    if (isnan(b->rate_MBps) && (add_step(b, (struct nt_bw_step){.kind = WARM_UP}, err) != 0 ||
                                add_step(b, (struct nt_bw_step){.kind = ALONE}, err) != 0))
        return -1;
    if ((phases & NT_BANDWIDTH_HOST_LINKS) && plan_host_links(b, err) != 0)
        return -1;
    if ((phases & NT_BANDWIDTH_TIERS) && plan_tiers(b, err) != 0)
        return -1;
    return (phases & NT_BANDWIDTH_LADDER) ? plan_ladder(b, err) : 0;
}
