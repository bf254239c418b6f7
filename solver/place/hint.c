/* SPDX-License-Identifier: Apache-2.0 */
#include "hint.h"

#include <math.h>
#include <string.h>

#include "alike.h"
#include "anchor.h"
#include "construct.h"
#include "cost.h"
#include "distance.h"
#include "hierarchy.h"
#include "memory.h"
#include "polish.h"
#include "scotch_split.h"
#include "supported_tree.h"

static const uint64_t SEED = 1; /* any fixed number: the same map gives the same hint */

/* Partners evaluated while polishing: under a tenth of a second. */
static const uint64_t POLISH_WORK = 5000000;

/* Seeds of Scotch's mapping: it starts from a random order and ends in another local minimum. */
enum { MAPS = 4 };

/* Of more tasks the other methods leave little, and each exchange costs more. */
enum { EXCHANGE_TASKS = 32, EXCHANGES_MAX = 20000 };

#define SUM_SLACK 1e-9  /* sums of the same numbers in another order differ in their last digits */
#define SURE_SDS 2.0    /* a gain counts that is larger than so many of its standard errors, */
#define GAIN_LEAST 1.01 /*   and this */
#define FIRST_PERCENT 1.0 /* what rank 0 on the first host may cost unstated */
#define UNKNOWN_RATE 0.02 /* relative error of a bandwidth that states none */

/* A network that may be the one, with what the scheduler's order and the best one cost on it. */
struct view {
    const struct nt_model *model;
    struct nt_distance *distance;
    struct nt_metrics start, found;
};

struct search {
    const struct nt_map *map;
    const struct nt_traffic *traffic;
    uint32_t *capacity; /* missing hosts have none */
    uint32_t first;     /* the host of rank 0; UINT32_MAX: any */
    double first_percent;
    struct nt_model *alike; /* the map's, without what its errors cannot tell apart */
    struct nt_model *sure;  /* and without groups that are not sure; NULL: all are */
    struct view view[3];    /* the sure one, in which is searched; the alike one if it differs; */
    size_t views;           /* so many; behind them the map's own, for what is promised */
    struct nt_hierarchy *hierarchy;
    uint32_t *best, *trial;
    bool changed;   /* best is recommended instead of the scheduler's order */
    uint32_t *rank; /* hosts, near ones together */
};

static int put_scheduler_order(const struct search *s, uint32_t *rank_host, struct nt_err *err)
{
    size_t r = 0, n = s->traffic->tasks;
    for (uint32_t h = 0; h < s->map->model->hosts; h++)
        for (uint32_t k = 0; k < s->capacity[h] && r < n; k++)
            rank_host[r++] = h;
    if (r < n)
        return nt_err_set(err, NT_ERR_INPUT, "%zu tasks do not fit on hosts with room for %zu", n,
                          r);
    return 0;
}

static bool costs_no_more(const struct nt_metrics *is, const struct nt_metrics *was)
{
    return nt_cost_total_us(is) <= nt_cost_total_us(was) * (1 + SUM_SLACK);
}

static int cost_in(const struct search *s, const struct view *v, const uint32_t *rank_host,
                   struct nt_metrics *m, struct nt_err *err)
{
    return nt_cost(v->model, v->distance, s->traffic, rank_host, m, err);
}

/* Takes trial if its predicted time is less than the best so far, and no more than that of the
 * scheduler's order, whether the uncertain groups exist or not. */
static int consider_candidate(struct search *s, struct nt_err *err)
{
    struct nt_metrics m[2];
    bool better = true;
    for (size_t k = 0; k < s->views; k++) {
        if (cost_in(s, &s->view[k], s->trial, &m[k], err) != 0)
            return -1;
        better = better && costs_no_more(&m[k], &s->view[k].start);
    }
    if (s->first != UINT32_MAX && s->trial[0] != s->first)
        better = false;
    if (!better || nt_cost_total_us(&m[0]) >= nt_cost_total_us(&s->view[0].found) * (1 - SUM_SLACK))
        return 0;
    for (size_t k = 0; k < s->views; k++)
        s->view[k].found = m[k];
    memcpy(s->best, s->trial, s->traffic->tasks * sizeof *s->best);
    return 0;
}

static int try_rule(struct search *s, enum nt_split_rule rule, struct nt_err *err)
{
    if (nt_construct(s->hierarchy, s->traffic, rule, SEED, s->trial, err) != 0)
        return -1;
    return consider_candidate(s, err);
}

/* A torus, a mesh, a hypercube: hosts are linked to hosts, in circles. Our halving of such a
 * network loses to Scotch's mapping onto it (tests/bench place). */
static bool is_direct(const struct search *s)
{
    const struct view *v = &s->view[0];
    return v->model->switches == 0 && !nt_distance_is_tree(v->distance);
}

static int polish_trial(struct search *s, struct nt_err *err)
{
    if (nt_polish(s->view[0].distance, s->rank, s->map->model->hosts, s->traffic, POLISH_WORK,
                  s->trial, err) != 0)
        return -1;
    return consider_candidate(s, err);
}

/* The cheapest as it comes is not the cheapest when polished. */
static int try_map(struct search *s, struct nt_err *err)
{
    const struct view *v = &s->view[0];
    for (uint64_t k = 0; k < MAPS; k++)
        if (nt_scotch_map(v->model, v->distance, s->rank, s->capacity, s->traffic, SEED + k,
                          s->trial, err) != 0 ||
            consider_candidate(s, err) != 0 || polish_trial(s, err) != 0)
            return -1;
    return 0;
}

static int try_polish(struct search *s, struct nt_err *err)
{
    memcpy(s->trial, s->best, s->traffic->tasks * sizeof *s->best);
    return polish_trial(s, err);
}

static void turn_around(uint32_t *rank_host, size_t first, size_t last)
{
    for (; first < last; first++, last--) {
        uint32_t kept = rank_host[first];
        rank_host[first] = rank_host[last];
        rank_host[last] = kept;
    }
}

/* Two ranks change places, or all between them are turned around (2-opt: G. A. Croes, 1958), for as
 * long as that makes the whole cost less, which what was tried before knows in parts alone. */
static int try_exchanges(struct search *s, struct nt_err *err)
{
    size_t n = s->traffic->tasks, tries = 0;
    double was = INFINITY;
    while (n <= EXCHANGE_TASKS && nt_cost_total_us(&s->view[0].found) < was) {
        was = nt_cost_total_us(&s->view[0].found);
        for (size_t i = s->first != UINT32_MAX; i < n; i++)
            for (size_t j = i + 1; j < n; j++)
                for (int turn = 0; turn < 2; turn++) {
                    if (tries++ == EXCHANGES_MAX)
                        return 0;
                    memcpy(s->trial, s->best, n * sizeof *s->trial);
                    turn_around(s->trial, i, j);
                    if (turn == 0) /* back again, but for the two */
                        turn_around(s->trial, i + 1, j - 1);
                    if (consider_candidate(s, err) != 0)
                        return -1;
                }
    }
    return 0;
}

static int find_best(struct search *s, struct nt_err *err)
{
    for (size_t k = 0; k < s->views; k++) {
        struct view *v = &s->view[k];
        if (cost_in(s, v, s->best, &v->start, err) != 0)
            return -1;
        v->found = v->start;
    }
    if (try_rule(s, NT_SPLIT_BY_RANK, err) != 0)
        return -1;
    if (s->traffic->kind == NT_TRAFFIC_ALL)
        return 0; /* only which hosts are used matters */
    if (s->traffic->kind == NT_TRAFFIC_STENCIL && try_rule(s, NT_SPLIT_BY_GRID, err) != 0)
        return -1;
    bool line = s->traffic->kind == NT_TRAFFIC_CHAIN || s->traffic->kind == NT_TRAFFIC_RING;
    if ((!line || !nt_distance_is_tree(s->view[0].distance)) &&
        try_rule(s, NT_SPLIT_BY_GRAPH, err) != 0)
        return -1;
    if (is_direct(s) && try_map(s, err) != 0)
        return -1;
    return try_polish(s, err) != 0 ? -1 : try_exchanges(s, err);
}

/* Known where every way of seating must cross the same links: a ring must enter and leave every
 * part of a tree that holds some of its ranks, a chain must at least enter or leave it. */
static double lower_bound_us(const struct search *s, const struct view *view)
{
    const struct nt_model *m = view->model;
    enum nt_traffic_kind kind = s->traffic->kind;
    size_t used = 0;
    if (!nt_distance_is_tree(view->distance) || s->traffic->tasks < 3 ||
        (kind != NT_TRAFFIC_RING && kind != NT_TRAFFIC_CHAIN))
        return (double)NAN;
    for (size_t h = 0; h < m->hosts; h++)
        used += s->capacity[h];
    if (used != s->traffic->tasks)
        return (double)NAN; /* which hosts are used is open */
    NT_SCOPED struct nt_arena memory = {0};
    uint64_t *below = nt_arena_array(&memory, m->hosts + m->switches, sizeof *below);
    if (below == NULL)
        return (double)NAN;
    for (uint32_t h = 0; h < m->hosts; h++)
        for (uint32_t v = h; s->capacity[h] > 0 && v != UINT32_MAX;
             v = nt_distance_parent(view->distance, v))
            below[v] += s->capacity[h];
    double sum = 0;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        uint64_t low = below[nt_distance_parent(view->distance, a) == b ? a : b];
        if (low > 0 && low < used && isfinite(m->link[k].latency_us))
            sum += m->link[k].latency_us * (kind == NT_TRAFFIC_RING ? 2 : 1);
    }
    return sum * s->traffic->edge_bytes / s->traffic->total_bytes;
}

static double gain_of(const struct view *v)
{
    double is = nt_cost_total_us(&v->found);
    return is > 0 ? nt_cost_total_us(&v->start) / is : 1;
}

/* The smallest gain of the first views. */
static const struct view *least_gain(const struct search *s, size_t views)
{
    size_t least = 0;
    for (size_t k = 1; k < views; k++)
        if (gain_of(&s->view[k]) < gain_of(&s->view[least]))
            least = k;
    return &s->view[least];
}

/* Of a pair each sends half. */
static double message_bytes(const struct nt_traffic *t, const struct nt_metrics *m)
{
    double pairs = t->kind == NT_TRAFFIC_ALL ? (double)t->tasks * (double)(t->tasks - 1) / 2
                                             : (double)t->start[t->tasks] / 2;
    return m->load_is_time && pairs > 0 ? t->total_bytes / pairs / 2 : NT_HINT_SHORT_BYTES;
}

static int make_hint(const struct search *s, const char *pattern, struct nt_hint **out,
                     struct nt_err *err)
{
    struct nt_hint *h = nt_hint_begin(s->map, pattern, s->best, s->traffic->tasks, err);
    if (h == NULL)
        return -1;
    /* what is promised holds with the groups that are not sure and without them */
    const struct view *v = least_gain(s, s->views + 1);
    h->metrics_default = v->start;
    h->metrics = v->found;
    h->message_bytes = message_bytes(s->traffic, &v->start);
    h->cost_default = nt_cost_total_us(&v->start);
    h->cost = nt_cost_total_us(&v->found);
    h->gain = s->changed ? fmax(1, gain_of(v)) : 1;
    h->lower_bound = lower_bound_us(s, v);
    h->first_percent = s->first_percent;
    *out = h;
    return 0;
}

/* ---- whether it is worth it ------------------------------------------------------------------*/

/* Variance of the time of the busiest link. */
static double load_variance(const struct nt_model *m, const double *bytes, double time_us)
{
    size_t way = nt_cost_busiest(m, bytes);
    const struct nt_link *l = &m->link[way / 2];
    double rate = way % 2 == 0 ? l->bandwidth_MBps : l->bandwidth_back_MBps;
    double se = way % 2 == 0 ? l->bandwidth_se_MBps : l->bandwidth_back_se_MBps;
    double relative = isfinite(se) && rate > 0 ? se / rate : UNKNOWN_RATE;
    return relative * relative * time_us * time_us;
}

/* Standard error of what the scheduler's order costs more than the best one, from the errors of the
 * links that the one uses more than the other. */
static int difference_error(const struct search *s, double *se_us, struct nt_err *err)
{
    const struct view *v = &s->view[s->views];
    const struct nt_model *m = v->model;
    NT_SCOPED struct nt_arena memory = {0};
    double *was = nt_arena_array(&memory, 2 * m->links + 1, sizeof *was);
    double *is = nt_arena_array(&memory, 2 * m->links + 1, sizeof *is);
    uint32_t *order = nt_arena_array(&memory, s->traffic->tasks + 1, sizeof *order);
    struct nt_metrics start, found;
    if (nt_arena_check(&memory, err) != 0 || put_scheduler_order(s, order, err) != 0 ||
        nt_cost_loads(m, v->distance, s->traffic, order, was, &start, err) != 0 ||
        nt_cost_loads(m, v->distance, s->traffic, s->best, is, &found, err) != 0)
        return -1;
    double variance = 0, total = fmax(s->traffic->total_bytes, 1);
    double unknown = isfinite(m->resolution_us) ? m->resolution_us / 2 : 0;
    for (size_t k = 0; k < m->links; k++) {
        double se = m->link[k].latency_se_us;
        double more = (was[2 * k] + was[2 * k + 1] - is[2 * k] - is[2 * k + 1]) / total;
        se = isfinite(se) ? se : unknown;
        variance += more * more * se * se;
    }
    if (start.load_is_time)
        variance +=
            load_variance(m, was, start.max_link_load) + load_variance(m, is, found.max_link_load);
    *se_us = sqrt(variance);
    return 0;
}

/* A gain that its own error covers is none. */
static int judge_gain(struct search *s, struct nt_err *err)
{
    const struct view *v = least_gain(s, s->views);
    double se, more = nt_cost_total_us(&v->start) - nt_cost_total_us(&v->found);
    if (difference_error(s, &se, err) != 0)
        return -1;
    s->changed = more > SURE_SDS * se && gain_of(v) >= GAIN_LEAST;
    return 0;
}

static int anchor_trial(struct search *s, int way, const uint32_t *from, bool *made,
                        struct nt_err *err)
{
    const struct view *v = &s->view[0];
    return nt_anchor((enum nt_anchor)way, v->distance, v->model, s->capacity, s->first, from,
                     s->traffic->tasks, s->trial, made, err);
}

static int consider_anchored(struct search *s, const uint32_t *from, struct nt_err *err)
{
    bool made;
    for (int way = 0; way < NT_ANCHORS; way++)
        if (anchor_trial(s, way, from, &made, err) != 0 ||
            (made && consider_candidate(s, err) != 0))
            return -1;
    return 0;
}

/* Each of the anchored orders ends in a local minimum of its own; the last one is the
 * scheduler's. */
static int try_exchanges_of_each(struct search *s, const uint32_t *from, uint32_t *best,
                                 struct nt_err *err)
{
    size_t n = s->traffic->tasks;
    struct view kept[3];
    bool made = true;
    for (int way = 0; n <= EXCHANGE_TASKS && way <= NT_ANCHORS; way++) {
        if (way < NT_ANCHORS ? anchor_trial(s, way, from, &made, err) != 0
                             : put_scheduler_order(s, s->trial, err) != 0)
            return -1;
        if (!made)
            continue;
        memcpy(best, s->best, n * sizeof *best);
        memcpy(kept, s->view, sizeof kept);
        memcpy(s->best, s->trial, n * sizeof *s->best);
        for (size_t k = 0; k < s->views; k++)
            if (cost_in(s, &s->view[k], s->best, &s->view[k].found, err) != 0)
                return -1;
        if (try_exchanges(s, err) != 0)
            return -1;
        memcpy(s->trial, s->best, n * sizeof *s->trial);
        memcpy(s->best, best, n * sizeof *s->best);
        memcpy(s->view, kept, sizeof kept);
        if (consider_candidate(s, err) != 0)
            return -1;
    }
    return 0;
}

static double over_percent(const struct search *s, double any_us)
{
    return (nt_cost_total_us(&s->view[0].found) / any_us - 1) * 100;
}

/* The best of the orders that begin on the first host, in place of the best of all. */
static int keep_first(struct search *s, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t n = s->traffic->tasks;
    uint32_t *any = nt_arena_array(&memory, n + 1, sizeof *any);
    uint32_t *from = nt_arena_array(&memory, n + 1, sizeof *from);
    double any_us = nt_cost_total_us(&s->view[0].found);
    if (nt_arena_check(&memory, err) != 0 || judge_gain(s, err) != 0)
        return -1;
    memcpy(any, s->best, n * sizeof *any);
    if (put_scheduler_order(s, s->best, err) != 0)
        return -1;
    s->first = s->best[0];
    if (!s->changed || any[0] == s->first) {
        memcpy(s->best, any, n * sizeof *s->best);
        return 0;
    }
    for (size_t k = 0; k < s->views; k++)
        s->view[k].found = s->view[k].start;
    if (consider_anchored(s, any, err) != 0 || try_polish(s, err) != 0)
        return -1;
    memcpy(from, s->trial, n * sizeof *from);
    if (consider_anchored(s, from, err) != 0 || try_exchanges(s, err) != 0)
        return -1;
    for (uint64_t k = 0; k <= MAPS && over_percent(s, any_us) > FIRST_PERCENT; k++) {
        const struct view *v = &s->view[0];
        if (try_exchanges_of_each(s, any, from, err) != 0)
            return -1;
        if (!is_direct(s) || k == MAPS)
            break;
        if (nt_scotch_map(v->model, v->distance, s->rank, s->capacity, s->traffic, SEED + k, any,
                          err) != 0)
            return -1;
    }
    s->first_percent = over_percent(s, any_us) > FIRST_PERCENT ? over_percent(s, any_us) : 0;
    return 0;
}

/* Without a gain the scheduler's order stays. */
static int settle_hint(struct search *s, struct nt_err *err)
{
    if (judge_gain(s, err) != 0)
        return -1;
    for (size_t k = 0; k < s->views && !s->changed; k++)
        s->view[k].found = s->view[k].start;
    return s->changed ? 0 : put_scheduler_order(s, s->best, err);
}

/* Parts that are alike in the order of the scheduler; the map's own figures of the result. */
static int keep_order(struct search *s, struct nt_err *err)
{
    struct view *own = &s->view[s->views];
    struct nt_metrics m;
    memcpy(s->trial, s->best, s->traffic->tasks * sizeof *s->trial);
    if (s->changed) {
        if (nt_alike_order(s->view[0].model, s->capacity, s->traffic->tasks, s->trial, err) != 0 ||
            cost_in(s, &s->view[0], s->trial, &m, err) != 0)
            return -1;
        if (costs_no_more(&m, &s->view[0].found) &&
            (s->first == UINT32_MAX || s->trial[0] == s->first))
            memcpy(s->best, s->trial, s->traffic->tasks * sizeof *s->best);
    }
    if (put_scheduler_order(s, s->trial, err) != 0)
        return -1;
    return cost_in(s, own, s->trial, &own->start, err) != 0 ||
                   cost_in(s, own, s->best, &own->found, err) != 0
               ? -1
               : 0;
}

static int search_candidates(struct search *s, struct nt_err *err)
{
    if (nt_alike_create(s->map->model, &s->alike, err) != 0 ||
        nt_supported_tree_create(s->alike, &s->sure, err) != 0)
        return -1;
    s->view[0].model = s->sure != NULL ? s->sure : s->alike;
    s->view[1].model = s->alike;
    s->views = s->sure != NULL ? 2 : 1;
    s->view[s->views].model = s->map->model;
    for (size_t k = 0; k <= s->views; k++) {
        if (k > 0 && !nt_distance_is_tree(s->view[0].distance)) {
            s->view[k] = s->view[0]; /* paths of all pairs cost too much to have them twice */
            continue;
        }
        if (nt_distance_create(s->view[k].model, &s->view[k].distance, err) != 0)
            return -1;
    }
    const struct view *v = &s->view[0];
    return nt_hierarchy_create(v->model, v->distance, s->capacity, &s->hierarchy, err);
}

int nt_hint_from_traffic(const struct nt_map *map, const struct nt_traffic *traffic,
                         const char *pattern, const uint32_t *capacity, bool any_first,
                         struct nt_hint **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct search s = {.map = map, .traffic = traffic, .first = UINT32_MAX};
    size_t hosts = map->model->hosts, n = traffic->tasks;
    int rc = -1;
    s.capacity = nt_arena_array(&memory, hosts + 1, sizeof *s.capacity);
    s.best = nt_arena_array(&memory, n + 1, sizeof *s.best);
    s.trial = nt_arena_array(&memory, n + 1, sizeof *s.trial);
    s.rank = nt_arena_array(&memory, hosts + 1, sizeof *s.rank);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t h = 0; h < hosts; h++)
        s.capacity[h] = map->model->missing[h] ? 0 : capacity[h];
    if (put_scheduler_order(&s, s.best, err) != 0 || search_candidates(&s, err) != 0)
        goto out;
    nt_hierarchy_rank(s.hierarchy, s.rank, hosts);
    if (find_best(&s, err) != 0 || (!any_first && keep_first(&s, err) != 0) ||
        settle_hint(&s, err) != 0 || keep_order(&s, err) != 0)
        goto out;
    rc = make_hint(&s, pattern, out, err);
out:
    nt_hierarchy_destroy(s.hierarchy);
    for (size_t k = 0; k < 3; k++)
        if (k == 0 || s.view[k].distance != s.view[0].distance)
            nt_distance_destroy(s.view[k].distance);
    nt_model_destroy(s.sure);
    nt_model_destroy(s.alike);
    return rc;
}

int nt_hint_create(const struct nt_map *map, const char *pattern, const uint32_t *capacity,
                   size_t ntasks, bool any_first, struct nt_hint **out, struct nt_err *err)
{
    struct nt_traffic *traffic;
    if (nt_traffic_create(pattern, ntasks, &traffic, err) != 0)
        return -1;
    int rc = nt_hint_from_traffic(map, traffic, pattern, capacity, any_first, out, err);
    nt_traffic_destroy(traffic);
    return rc;
}
