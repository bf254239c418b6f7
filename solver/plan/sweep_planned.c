/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_planned.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bandwidth.h"
#include "memory.h"

struct planned {
    struct nt_planner base;
    const struct nt_plan *plan;
    struct nt_sweep_setup setup;
    bool *away;          /* hosts of them */
    bool *has;           /* pairs of the plan: a reading */
    uint32_t *place;     /* hosts of them: the pair of the plan in the round last ordered */
    uint32_t (*pair)[2]; /* of that round */
    size_t at, pass;     /* the next pair of the plan */
    size_t left;
    double flow_s;    /* 0: latencies */
    double rate_MBps; /* of the fastest flow; NaN: unknown */
};

/* Passes of the warm-up: latencies, which connect the pairs and show their timeouts, and flows,
 * which show the rate. */
static size_t warm_passes(const struct planned *s)
{
    return s->flow_s > 0 ? 2 : 0;
}

/* The pairs of the plan's next round that are there. */
static size_t take_round(struct planned *s)
{
    const struct nt_plan *plan = s->plan;
    size_t n = 0;
    uint32_t round = plan->round[s->at];
    for (; s->at < plan->pairs && plan->round[s->at] == round; s->at++) {
        const uint32_t *host = plan->pair[s->at];
        if (s->away[host[0]] || s->away[host[1]])
            continue;
        s->place[host[0]] = s->place[host[1]] = (uint32_t)s->at;
        memcpy(s->pair[n++], host, sizeof *s->pair);
    }
    return n;
}

static int planned_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct planned *s = (struct planned *)planner;
    size_t n = 0;
    (void)err;
    while (n == 0 && s->pass < s->setup.passes + warm_passes(s)) {
        if (s->at < s->plan->pairs)
            n = take_round(s);
        else
            s->at = 0, s->pass++;
    }
    *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                               .pairs = n,
                               .pair = s->pair,
                               .message_bytes = NT_PING_BYTES,
                               .batches = s->setup.batches,
                               .count = s->setup.count};
    if (s->flow_s > 0 && s->pass > 0) {
        order->kind = NT_ORDER_BANDWIDTH;
        order->message_bytes = nt_flow_message_bytes(s->rate_MBps, s->flow_s);
        order->batches = 1;
        order->count = NT_FLOW_IN_FLIGHT;
        order->window_s = s->flow_s;
    }
    snprintf(order->phase, sizeof order->phase, "%s",
             s->pass < warm_passes(s) ? "warm-up" : "plan");
    return n > 0;
}

static int planned_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                        struct nt_err *err)
{
    struct planned *s = (struct planned *)planner;
    (void)err;
    for (size_t k = 0; k < n; k++) {
        bool *has = &s->has[s->place[results[k].a]];
        if (!results[k].ok || results[k].count == 0)
            continue;
        if (s->flow_s > 0 && s->pass > 0 && results[k].value_us > 0)
            s->rate_MBps = fmax(results[k].bytes / results[k].value_us, s->rate_MBps);
        if (s->pass < warm_passes(s) || *has)
            continue;
        *has = true;
        s->left--;
    }
    return 0;
}

static void planned_lose(struct nt_planner *planner, uint32_t host)
{
    struct planned *s = (struct planned *)planner;
    if (host < s->setup.hosts)
        s->away[host] = true;
}

static const struct nt_planner_ops OPS = {planned_next, planned_tell, planned_lose, NULL, NULL};

int nt_sweep_planned_create(const struct nt_sweep_setup *setup, const struct nt_plan *plan,
                            double flow_s, struct nt_planner **out, struct nt_err *err)
{
    struct planned *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    s->plan = plan;
    s->setup = *setup;
    s->left = plan->pairs;
    s->flow_s = flow_s;
    s->rate_MBps = NAN;
    s->away = nt_arena_array(&s->base.memory, setup->hosts + 1, sizeof *s->away);
    s->place = nt_arena_array(&s->base.memory, setup->hosts + 1, sizeof *s->place);
    s->pair = nt_arena_array(&s->base.memory, setup->hosts / 2 + 1, sizeof *s->pair);
    s->has = nt_arena_array(&s->base.memory, plan->pairs + 1, sizeof *s->has);
    if (nt_arena_check(&s->base.memory, err) != 0) {
        nt_planner_destroy(&s->base);
        return -1;
    }
    if (setup->missing != NULL)
        memcpy(s->away, setup->missing, setup->hosts * sizeof *s->away);
    *out = &s->base;
    return 0;
}

size_t nt_sweep_planned_unread(const struct nt_planner *planner)
{
    return ((const struct planned *)planner)->left;
}

bool nt_sweep_planned_repeats(const struct nt_planner *planner)
{
    const struct planned *s = (const struct planned *)planner;
    size_t warm = warm_passes(s);
    return s->pass > warm || (s->pass == warm && s->at == s->plan->pairs);
}
