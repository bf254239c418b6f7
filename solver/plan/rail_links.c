/* SPDX-License-Identifier: Apache-2.0 */
#include "rail_links.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

enum { ROUNDS = 3, SIZES = 2, SHORT_REPEATS = 30, LONG_REPEATS = 7 };

static const double SHORT_BYTES = NT_PING_BYTES, LONG_BYTES_MIN = 32 << 10,
                    LONG_BYTES_MAX = 4 << 20;
static const double LONG_US = 4000; /* approximate, at the rate of all rails; one rail is slower */
static const double SHORT_WINDOW_S = 0.005;

struct planner {
    struct nt_planner base;
    const char *const *rail;
    size_t rails, hosts, at; /* at: number of the next round */
    uint32_t *seat;          /* hosts in the order of their switches */
    size_t groups;
    size_t *first; /* groups + 1: a switch's hosts are seat[first[k]..first[k+1]) */
    uint32_t (*pair)[2];
    bool *lost;
    double long_bytes, long_window_s;
};

/* ---- the hosts of a switch --------------------------------------------------------------------*/

struct place {
    uint32_t on, host;
};

static int by_switch(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return NT_ORDER(x->on, y->on, NT_ORDER(x->host, y->host, 0));
}

static size_t list_places(const struct nt_model *m, const bool *missing, struct place *place)
{
    size_t n = 0;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t host = l->a < m->hosts ? l->a : l->b, on = host == l->a ? l->b : l->a;
        if (host < m->hosts && on >= m->hosts && n < m->hosts &&
            (missing == NULL || !missing[host]))
            place[n++] = (struct place){on, host};
    }
    qsort(place, n, sizeof *place, by_switch);
    return n;
}

static void make_groups(struct planner *p, const struct place *place, size_t n)
{
    size_t seats = 0;
    for (size_t first = 0, last; first < n; first = last) {
        for (last = first; last < n && place[last].on == place[first].on;)
            last++;
        if (last - first < NT_RAIL_LINKS_MIN)
            continue;
        for (size_t k = first; k < last; k++)
            p->seat[seats++] = place[k].host;
        p->first[++p->groups] = seats;
    }
}

/* ---- rounds -----------------------------------------------------------------------------------*/

static size_t add_pair(struct planner *p, size_t n, uint32_t a, uint32_t b)
{
    if (p->lost[a] || p->lost[b])
        return n;
    p->pair[n][0] = a;
    p->pair[n][1] = b;
    return n + 1;
}

/* The circle method (Kirkman 1847; E. Lucas, Recreations mathematiques II, 1883, "les promenades");
 * an odd number has a free place in the middle. */
static size_t add_group(struct planner *p, size_t n, size_t group, size_t round)
{
    const uint32_t *seat = &p->seat[p->first[group]];
    size_t hosts = p->first[group + 1] - p->first[group], circle = nt_sweep_all_rounds(hosts);
    if (circle < hosts)
        n = add_pair(p, n, seat[round % circle], seat[circle]);
    for (size_t k = 1; 2 * k < circle + 1; k++)
        n = add_pair(p, n, seat[(round + k) % circle], seat[(round + circle - k) % circle]);
    return n;
}

/* Rails follow each other, so that a disturbance for some time affects all of them. */
static int rail_links_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct planner *p = (struct planner *)planner;
    (void)err;
    while (p->at < p->rails * SIZES * ROUNDS) {
        size_t rail = p->at % p->rails, round = p->at / p->rails % ROUNDS, n = 0;
        bool shorts = p->at / p->rails / ROUNDS == 0;
        p->at++;
        for (size_t g = 0; g < p->groups; g++)
            n = add_group(p, n, g, round);
        if (n == 0)
            continue;
        *order = (struct nt_order){.kind = NT_ORDER_PRTT,
                                   .phase = NT_RAIL_LINKS_PHASE,
                                   .pairs = n,
                                   .pair = p->pair,
                                   .message_bytes = shorts ? SHORT_BYTES : p->long_bytes,
                                   .batches = shorts ? SHORT_REPEATS : LONG_REPEATS,
                                   .count = 1,
                                   .window_s = shorts ? SHORT_WINDOW_S : p->long_window_s};
        snprintf(order->rail, sizeof order->rail, "%s", p->rail[rail]);
        return 1;
    }
    return 0;
}

static void rail_links_lose(struct nt_planner *planner, uint32_t host)
{
    struct planner *p = (struct planner *)planner;
    if (host < p->hosts)
        p->lost[host] = true;
}

double nt_rail_links_window_s(const struct nt_planner *planner)
{
    return (SHORT_WINDOW_S + ((const struct planner *)planner)->long_window_s) / SIZES;
}

/* ---- life -------------------------------------------------------------------------------------*/

static const struct nt_planner_ops OPS = {rail_links_next, nt_planner_ignore_results,
                                          rail_links_lose, NULL, NULL};

static void choose_size(struct planner *p, double rate_MBps)
{
    double bytes = isnan(rate_MBps) ? LONG_BYTES_MIN : rate_MBps * LONG_US;
    p->long_bytes = floor(fmin(fmax(bytes, LONG_BYTES_MIN), LONG_BYTES_MAX));
    double rate = isnan(rate_MBps) || rate_MBps <= 0 ? LONG_BYTES_MIN / LONG_US : rate_MBps;
    p->long_window_s =
        2 * LONG_REPEATS * (double)p->rails * p->long_bytes / rate * 1e-6 + SHORT_WINDOW_S;
}

int nt_rail_links_create(const struct nt_model *model,
                         const struct nt_rail_links_settings *settings, struct nt_planner **out,
                         size_t *rounds, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct place *place = nt_arena_array(&memory, model->hosts + 1, sizeof *place);
    struct planner *p = nt_object_create(sizeof *p, err);
    if (p == NULL)
        return -1;
    p->base.ops = &OPS;
    p->rail = settings->rail;
    p->rails = settings->rails > 1 ? settings->rails : 0;
    p->hosts = model->hosts;
    p->seat = nt_arena_array(&p->base.memory, p->hosts + 1, sizeof *p->seat);
    p->first = nt_arena_array(&p->base.memory, p->hosts + 2, sizeof *p->first);
    p->pair = nt_arena_array(&p->base.memory, p->hosts / 2 + 1, sizeof *p->pair);
    p->lost = nt_arena_array(&p->base.memory, p->hosts + 1, sizeof *p->lost);
    if (nt_arena_check(&p->base.memory, err) != 0 || nt_arena_check(&memory, err) != 0) {
        nt_planner_destroy(&p->base);
        return -1;
    }
    make_groups(p, place, list_places(model, settings->missing, place));
    choose_size(p, settings->rate_MBps);
    *rounds = p->groups == 0 ? 0 : p->rails * SIZES * ROUNDS;
    *out = &p->base;
    return 0;
}
