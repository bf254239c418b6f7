/* SPDX-License-Identifier: Apache-2.0 */
#include "hint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "distance.h"
#include "equal_parts.h"
#include "hierarchy.h"
#include "memory.h"
#include "scotch_split.h"
#include "stats.h"

/* ---- the hint as a result
 * ----------------------------------------------------------------------*/

/* Orders hosts by their first rank; then unused, then missing hosts. */
static void order_hosts(struct nt_hint *hint, const struct nt_map *map, bool *placed)
{
    size_t n = 0;
    for (size_t r = 0; r < hint->ntasks; r++) {
        uint32_t h = hint->rank_host[r];
        if (!placed[h])
            hint->host_order[n++] = h;
        placed[h] = true;
    }
    for (int missing = 0; missing < 2; missing++)
        for (uint32_t h = 0; h < map->model->hosts; h++)
            if (!placed[h] && map->model->missing[h] == (missing == 1))
                hint->host_order[n++] = h;
    hint->hosts = n;
}

/* Creates a hint with these ranks and without values: gain 1. NULL without memory. */
static struct nt_hint *begin_hint(const struct nt_map *map, const char *pattern,
                                  const uint32_t *rank_host, size_t n, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_hint *h = nt_object_create(sizeof *h, err);
    size_t hosts = map->model->hosts;
    if (h == NULL)
        return NULL;
    bool *placed = nt_arena_array(&memory, hosts + 1, sizeof *placed);
    h->pattern = nt_arena_text(&h->memory, pattern, strlen(pattern));
    h->rank_host = nt_arena_array(&h->memory, n + 1, sizeof *h->rank_host);
    h->host_order = nt_arena_array(&h->memory, hosts + 1, sizeof *h->host_order);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&h->memory, err) != 0) {
        nt_hint_destroy(h);
        return NULL;
    }
    h->ntasks = n;
    memcpy(h->rank_host, rank_host, n * sizeof *h->rank_host);
    order_hosts(h, map, placed);
    struct nt_metrics none = {(double)NAN, (double)NAN, (double)NAN, (double)NAN, false};
    h->metrics = h->metrics_default = none;
    h->cost = h->cost_default = h->message_bytes = h->lower_bound = (double)NAN;
    h->gain = 1;
    return h;
}

static size_t put_ranks(uint32_t *rank_host, size_t n, uint32_t host, uint32_t ranks)
{
    for (uint32_t k = 0; k < ranks; k++)
        rank_host[n++] = host;
    return n;
}

int nt_hint_add_missing(struct nt_hint *hint, const struct nt_map *map, const uint32_t *capacity,
                        struct nt_err *err)
{
    size_t n = 0, ntasks = hint->ntasks, placed = 0, hosts = map->model->hosts;
    uint32_t first = 0;
    for (uint32_t h = 0; h < hosts; h++)
        ntasks += map->model->missing[h] ? capacity[h] : 0;
    if (ntasks == hint->ntasks)
        return 0;
    uint32_t *rank_host = nt_arena_array(&hint->memory, ntasks + 1, sizeof *rank_host);
    uint32_t *order = nt_arena_array(&hint->memory, hosts + 1, sizeof *order);
    if (nt_arena_check(&hint->memory, err) != 0)
        return -1;
    while (first < hosts && capacity[first] == 0)
        first++;
    bool leads = first < hosts && map->model->missing[first];
    if (leads) {
        n = put_ranks(rank_host, n, first, capacity[first]);
        order[placed++] = first;
    }
    memcpy(rank_host + n, hint->rank_host, hint->ntasks * sizeof *rank_host);
    n += hint->ntasks;
    for (size_t k = 0; k < hint->hosts; k++) {
        uint32_t h = hint->host_order[k];
        if (leads && h == first)
            continue;
        order[placed++] = h;
        if (map->model->missing[h])
            n = put_ranks(rank_host, n, h, capacity[h]);
    }
    hint->rank_host = rank_host;
    hint->host_order = order;
    hint->ntasks = n;
    return 0;
}

/* Places ranks on each host of the map in sequence, up to its capacity. */
static int put_in_turn(const struct nt_map *map, const uint32_t *capacity, uint32_t *rank_host,
                       size_t ntasks, struct nt_err *err)
{
    size_t n = 0;
    for (uint32_t h = 0; h < map->model->hosts; h++)
        for (uint32_t k = 0; k < capacity[h] && !map->model->missing[h] && n < ntasks; k++)
            rank_host[n++] = h;
    if (n < ntasks)
        return nt_err_set(err, NT_ERR_INPUT, "%zu tasks do not fit: the hosts have room for %zu",
                          ntasks, n);
    return 0;
}

int nt_hint_unchanged(const struct nt_map *map, const char *pattern, const uint32_t *capacity,
                      size_t ntasks, struct nt_hint **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *rank_host = nt_arena_array(&memory, ntasks + 1, sizeof *rank_host);
    if (nt_arena_check(&memory, err) != 0 ||
        put_in_turn(map, capacity, rank_host, ntasks, err) != 0)
        return -1;
    *out = begin_hint(map, pattern, rank_host, ntasks, err);
    return *out == NULL ? -1 : 0;
}

void nt_hint_destroy(struct nt_hint *hint)
{
    nt_object_destroy(hint);
}

/* ---- how it is found ------------------------------------------------------------------------- */

static const uint64_t SEED = 1; /* any fixed number, so that the same map gives the same hint */

/* Limit of partners evaluated while polishing: less than a tenth of a second. */
static const uint64_t POLISH_WORK = 5000000;

/* Number of seeds of Scotch's mapping, which starts from a random order and ends in different local
 * minima. */
enum { MAPS = 4 };

/* With more tasks, the other methods leave little to gain, and each exchange takes longer. */
enum { EXCHANGE_TASKS = 32, EXCHANGES_MAX = 20000 };

#define SUM_SLACK 1e-9  /* sums of the same numbers in another order differ in their last digits */
#define SURE_SDS 2.0    /* a gain counts if it exceeds this many of its standard errors */
#define GAIN_LEAST 1.01 /* and this */
#define FIRST_PERCENT 1.0 /* cost of rank 0 on the first host that is not reported */
#define UNKNOWN_RATE 0.02 /* relative error of a bandwidth without one */

/* A possible network, with the costs of Slurm's order and of the best one on it. */
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
    struct nt_model *equalised; /* the map's model with equalised values (equal_parts.h) */
    struct nt_model *certain;   /* and without uncertain groups; NULL: all are certain */
    /* The model without uncertain groups, for the search; the equalised one if it differs */
    struct view view[3];
    size_t views; /* number of these; after them the map's own model, for the reported gain */
    struct nt_hierarchy *hierarchy;
    uint32_t *best, *trial;
    bool changed;   /* best is recommended instead of Slurm's order */
    uint32_t *rank; /* by host: position, near hosts together */
};

static int put_scheduler_order(const struct search *s, uint32_t *rank_host, struct nt_err *err)
{
    return put_in_turn(s->map, s->capacity, rank_host, s->traffic->tasks, err);
}

static bool costs_no_more(const struct nt_metrics *is, const struct nt_metrics *was)
{
    return nt_cost_total_us(is) <= nt_cost_total_us(was) * (1 + SUM_SLACK);
}

static int cost_in(const struct search *s, const struct view *v, const uint32_t *rank_host,
                   struct nt_metrics *m, struct nt_err *err)
{
    return nt_cost(v->distance, s->traffic, rank_host, m, err);
}

/* Uses trial as best if its predicted time is lower than the best so far, and at most that of
 * Slurm's order, with and without the uncertain groups. */
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

/* Returns whether hosts are linked to hosts in cycles: a torus, mesh or hypercube. There Scotch's
 * mapping is better than halving (tests/bench place). */
static bool is_direct(const struct search *s)
{
    const struct view *v = &s->view[0];
    return v->model->switches == 0 && !nt_distance_is_tree(v->distance);
}

/* ---- pairs of tasks are swapped while that brings partners nearer ---------------------------- */

struct polishing {
    const struct nt_distance *distance;
    const struct nt_traffic *traffic;
    uint32_t *rank_host;
    const uint32_t *rank; /* hosts */
    uint32_t *seat,
        *tasks_by_rank; /* tasks by their host's rank: tasks_by_rank[seat[k]..seat[k+1]) */
    uint32_t *at;       /* by task: index in tasks_by_rank */
    uint64_t work;
};

/* Returns the weighted latency of task r on host h, without its partner `not`. */
static double task_pull(struct polishing *b, uint32_t r, uint32_t h, uint32_t not )
{
    const struct nt_traffic *t = b->traffic;
    double sum = 0;
    for (size_t k = t->start[r]; k < t->start[r + 1]; k++)
        if (t->partner[k] != not )
            sum += (double)t->bytes[k] *
                   nt_distance_latency(b->distance, h, b->rank_host[t->partner[k]]);
    size_t looked = t->start[r + 1] - t->start[r] + 1;
    b->work = b->work > looked ? b->work - looked : 0;
    return sum;
}

/* Returns the gain of exchanging the hosts of r and s, whose own exchange stays the same. */
static double swap_gain(struct polishing *b, uint32_t r, uint32_t s)
{
    uint32_t hr = b->rank_host[r], hs = b->rank_host[s];
    return task_pull(b, r, hr, s) - task_pull(b, r, hs, s) + task_pull(b, s, hs, r) -
           task_pull(b, s, hr, r);
}

static void swap_ranks(struct polishing *b, uint32_t r, uint32_t s)
{
    uint32_t h = b->rank_host[r], at = b->at[r];
    b->rank_host[r] = b->rank_host[s];
    b->rank_host[s] = h;
    b->tasks_by_rank[b->at[s]] = r;
    b->tasks_by_rank[at] = s;
    b->at[r] = b->at[s];
    b->at[s] = at;
}

/* Tries to place r on the host of its partner p, or near it. */
static bool move_near(struct polishing *b, uint32_t r, uint32_t p)
{
    enum { NEXT_TO = 4 };
    uint32_t h = b->rank_host[p], best = UINT32_MAX;
    double most = 1e-12 * b->traffic->total_bytes;
    uint32_t low = b->seat[b->rank[h]], high = b->seat[b->rank[h] + 1];
    low = low > NEXT_TO ? low - NEXT_TO : 0;
    high = high + NEXT_TO < b->traffic->tasks ? high + NEXT_TO : (uint32_t)b->traffic->tasks;
    if (high - low > 64)
        high = low + 64;
    for (uint32_t k = low; k < high && b->work > 0; k++) {
        uint32_t s = b->tasks_by_rank[k];
        if (s == r || s == p || b->rank_host[s] == b->rank_host[r])
            continue;
        double g = swap_gain(b, r, s);
        if (g > most) {
            most = g;
            best = s;
        }
    }
    if (best == UINT32_MAX)
        return false;
    swap_ranks(b, r, best);
    return true;
}

static void index_tasks(struct polishing *b, size_t hosts)
{
    size_t n = b->traffic->tasks;
    uint32_t *end = b->seat + 1;
    for (size_t r = 0; r < n; r++)
        end[b->rank[b->rank_host[r]]]++;
    for (size_t h = 1; h < hosts; h++)
        end[h] += end[h - 1];
    for (size_t r = n; r-- > 0;) {
        uint32_t k = --end[b->rank[b->rank_host[r]]];
        b->tasks_by_rank[k] = (uint32_t)r;
        b->at[r] = k;
    }
    for (size_t h = 0; h < hosts; h++)
        b->seat[h] = end[h];
    b->seat[hosts] = (uint32_t)n;
}

/* Lowers the weighted latency of the trial in the first view, never raises it. Hosts keep their
 * numbers of tasks. POLISH_WORK bounds the partners evaluated, so that the same input gives the
 * same result. */
static int lower_latency(struct search *s, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_traffic *traffic = s->traffic;
    size_t n = traffic->tasks, hosts = s->map->model->hosts;
    struct polishing b = {.distance = s->view[0].distance,
                          .rank = s->rank,
                          .traffic = traffic,
                          .rank_host = s->trial,
                          .work = POLISH_WORK};
    b.seat = nt_arena_array(&memory, hosts + 2, sizeof *b.seat);
    b.tasks_by_rank = nt_arena_array(&memory, n + 1, sizeof *b.tasks_by_rank);
    b.at = nt_arena_array(&memory, n + 1, sizeof *b.at);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    index_tasks(&b, hosts);
    for (bool changed = true; changed && b.work > 0;) {
        changed = false;
        for (uint32_t r = 0; r < n && b.work > 0; r++)
            for (size_t k = traffic->start[r]; k < traffic->start[r + 1] && b.work > 0; k++)
                if (s->trial[traffic->partner[k]] != s->trial[r])
                    changed = move_near(&b, r, traffic->partner[k]) || changed;
    }
    return 0;
}

static int polish_trial(struct search *s, struct nt_err *err)
{
    return lower_latency(s, err) != 0 ? -1 : consider_candidate(s, err);
}

static int map_tasks(const struct search *s, uint64_t seed, uint32_t *rank_host, struct nt_err *err)
{
    const struct nt_scotch_job job = {s->view[0].distance, s->traffic, s->capacity, s->rank};
    return nt_scotch_map(&job, seed, rank_host, err);
}

/* The cheapest mapping before polishing need not be the cheapest after it. */
static int try_map(struct search *s, struct nt_err *err)
{
    for (uint64_t k = 0; k < MAPS; k++)
        if (map_tasks(s, SEED + k, s->trial, err) != 0 || consider_candidate(s, err) != 0 ||
            polish_trial(s, err) != 0)
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

/* Exchanges two ranks, or reverses all between them (2-opt: G. A. Croes, 1958), as long as that
 * lowers the total cost, which the other methods only know in parts. */
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
                    if (turn == 0) /* revert all but the two */
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
        return 0; /* only the set of used hosts matters */
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

/* Returns a lower bound. It is known if every placement must cross the same links: a ring must
 * enter and leave every part of a tree with some of its ranks, a chain must at least enter or leave
 * it. */
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
        return (double)NAN; /* the set of used hosts is not fixed */
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

/* Returns the view with the smallest gain among the first ones. */
static struct view least_gain(const struct search *s, size_t views)
{
    size_t least = 0;
    for (size_t k = 1; k < views; k++)
        if (gain_of(&s->view[k]) < gain_of(&s->view[least]))
            least = k;
    return s->view[least];
}

/* Returns the view with the smaller gain: the given one, or the same with infinite bandwidth where
 * none or only a lower bound was measured. The time of an order falls with such a bandwidth, and at
 * most to that. If Slurm's order loads these links more, the gain falls, too. */
static struct view without_unmeasured(const struct view *v)
{
    struct view least = *v;
    least.start.max_link_load = v->start.least_link_load;
    least.found.max_link_load = v->found.least_link_load;
    return gain_of(&least) < gain_of(v) ? least : *v;
}

/* Returns the mean message size; each rank of a pair sends half. */
static double message_bytes(const struct nt_traffic *t, const struct nt_metrics *m)
{
    double pairs = t->kind == NT_TRAFFIC_ALL ? (double)t->tasks * (double)(t->tasks - 1) / 2
                                             : (double)t->start[t->tasks] / 2;
    return m->load_is_time && pairs > 0 ? t->total_bytes / pairs / 2 : NT_HINT_SHORT_BYTES;
}

static int make_hint(const struct search *s, const char *pattern, struct nt_hint **out,
                     struct nt_err *err)
{
    struct nt_hint *h = begin_hint(s->map, pattern, s->best, s->traffic->tasks, err);
    if (h == NULL)
        return -1;
    /* the reported gain holds with and without uncertain groups */
    struct view v = least_gain(s, s->views + 1);
    if (s->changed)
        v = without_unmeasured(&v);
    h->metrics_default = v.start;
    h->metrics = v.found;
    h->message_bytes = message_bytes(s->traffic, &v.start);
    h->cost_default = nt_cost_total_us(&v.start);
    h->cost = nt_cost_total_us(&v.found);
    h->gain = s->changed ? fmax(1, gain_of(&v)) : 1;
    h->lower_bound = lower_bound_us(s, &v);
    h->first_percent = s->first_percent;
    *out = h;
    return 0;
}

/* ---- whether it is worth it ------------------------------------------------------------------*/

/* Returns the variance of the time of the busiest link. */
static double load_variance(const struct nt_model *m, const double *bytes, double time_us)
{
    size_t way = nt_cost_busiest(m, bytes);
    const struct nt_link *l = &m->link[way / 2];
    double rate = way % 2 == 0 ? l->bandwidth_MBps : l->bandwidth_back_MBps;
    double se = way % 2 == 0 ? l->bandwidth_se_MBps : l->bandwidth_back_se_MBps;
    double relative = isfinite(se) && rate > 0 ? se / rate : UNKNOWN_RATE;
    return relative * relative * time_us * time_us;
}

/* Computes the standard error of the cost difference between Slurm's order and the best one, from
 * the errors of links that only one of them uses more. */
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
        nt_cost_loads(v->distance, s->traffic, order, was, &start, err) != 0 ||
        nt_cost_loads(v->distance, s->traffic, s->best, is, &found, err) != 0)
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

/* Drops a gain within its own error. */
static int judge_gain(struct search *s, struct nt_err *err)
{
    const struct view v = least_gain(s, s->views), least = without_unmeasured(&v);
    double se, more = nt_cost_total_us(&v.start) - nt_cost_total_us(&v.found);
    if (difference_error(s, &se, err) != 0)
        return -1;
    s->changed = more > SURE_SDS * se && gain_of(&least) >= GAIN_LEAST;
    return 0;
}

/* ---- rank 0 on the first host: orders that cost the same as a given one, or nearly ----------- */

enum anchor {
    ANCHOR_ROTATE,   /* rotate a ring */
    ANCHOR_REFLECT,  /* reverse a ring */
    ANCHOR_XOR,      /* recursive doubling, of 2^k ranks */
    ANCHOR_NEAREST,  /* on a tree: the first host's switch first, then the switch above, ... */
    ANCHOR_MOVE,     /* permute hosts with all distances unchanged, as shifting a torus */
    ANCHOR_EXCHANGE, /* exchange the host of rank 0 and the first host */
    ANCHORS
};

/* Returns the first rank on the host whose cyclic neighbour, the previous or next rank, is on
 * another host; ntasks: the host has no rank. */
static size_t edge_rank(const uint32_t *from, size_t ntasks, uint32_t first, size_t step)
{
    size_t any = ntasks;
    for (size_t r = 0; r < ntasks; r++) {
        if (from[r] != first)
            continue;
        if (from[(r + step) % ntasks] != first)
            return r;
        any = any == ntasks ? r : any;
    }
    return any;
}

/* Places ranks by the height of the path to the first host, otherwise in their order. */
static int put_nearest(const struct search *s, const uint32_t *from, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_distance *d = s->view[0].distance;
    size_t n = s->traffic->tasks, vertices = s->map->model->hosts + s->map->model->switches;
    size_t *height = nt_arena_array(&memory, vertices + 1, sizeof *height);
    size_t *at = nt_arena_array(&memory, vertices + 2, sizeof *at), levels = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t v = s->first; v != UINT32_MAX; v = nt_distance_parent(d, v))
        height[v] = ++levels; /* 0: not above the first host */
    for (int fill = 0; fill < 2; fill++) {
        for (size_t r = 0; r < n; r++) {
            uint32_t v = from[r];
            while (height[v] == 0 && nt_distance_parent(d, v) != UINT32_MAX)
                v = nt_distance_parent(d, v);
            size_t level = height[v] == 0 ? levels : height[v] - 1; /* levels: not connected */
            if (fill == 0)
                at[level + 1]++;
            else
                s->trial[at[level]++] = from[r];
        }
        for (size_t k = 0; fill == 0 && k <= levels; k++)
            at[k + 1] += at[k];
    }
    return 0;
}

/* ---- hosts change places, distances stay ---- */

enum { MOVE_HOSTS = 64, MOVE_WORK = 1000000 };

struct move {
    const uint32_t *capacity;
    uint32_t host[MOVE_HOSTS]; /* with tasks */
    size_t kind[MOVE_HOSTS];   /* the first host with the same room and row, in any order */
    size_t image[MOVE_HOSTS];  /* the host whose place each takes */
    size_t hosts, work;
    double us[MOVE_HOSTS][MOVE_HOSTS], sorted[MOVE_HOSTS][MOVE_HOSTS]; /* latencies; each row's */
};

static bool same_latency(double was, double is)
{
    return fabs(is - was) <= 1e-6 * fabs(was);
}

static bool same_kind(const struct move *m, size_t a, size_t b)
{
    bool same = m->capacity[m->host[a]] == m->capacity[m->host[b]];
    for (size_t j = 0; j < m->hosts && same; j++)
        same = same_latency(m->sorted[a][j], m->sorted[b][j]);
    return same;
}

static void fill_latencies(struct move *m, const struct nt_distance *d)
{
    for (size_t k = 0; k < m->hosts; k++) {
        for (size_t j = 0; j < m->hosts; j++)
            m->us[k][j] = nt_distance_latency(d, m->host[k], m->host[j]);
        memcpy(m->sorted[k], m->us[k], sizeof m->us[k]);
        qsort(m->sorted[k], m->hosts, sizeof **m->sorted, nt_compare_doubles);
        while (m->kind[k] < k && !same_kind(m, m->kind[k], k))
            m->kind[k]++;
    }
}

static bool may_go(struct move *m, size_t k, size_t to)
{
    bool may = m->kind[k] == m->kind[to];
    for (size_t j = 0; j < k && may; j++, m->work++)
        may = m->image[j] != to && same_latency(m->us[j][k], m->us[m->image[j]][to]);
    return may;
}

/* Depth-first search for images; the first host's image is given. */
static bool find_images(struct move *m)
{
    size_t k = 1;
    if (!may_go(m, 0, m->image[0]))
        return false;
    while (k > 0 && k < m->hosts && m->work < MOVE_WORK) {
        size_t *to = &m->image[k];
        while (*to < m->hosts && !may_go(m, k, *to))
            ++*to;
        if (*to < m->hosts) {
            k++;
        } else {
            *to = 0;
            m->image[--k]++;
        }
    }
    return k == m->hosts;
}

static bool move_hosts(const struct search *s, const uint32_t *from)
{
    const uint32_t *capacity = s->capacity;
    size_t hosts = s->map->model->hosts;
    struct move m = {.capacity = capacity};
    if (hosts > MOVE_HOSTS || capacity[s->first] == 0)
        return false;
    m.host[m.hosts++] = from[0];
    for (uint32_t h = 0; h < hosts; h++) {
        if (h == s->first)
            m.image[0] = h == from[0] ? 0 : m.hosts;
        if (capacity[h] > 0 && h != from[0])
            m.host[m.hosts++] = h;
    }
    fill_latencies(&m, s->view[0].distance);
    if (!find_images(&m))
        return false;
    for (size_t r = 0; r < s->traffic->tasks; r++)
        for (size_t k = 0; k < m.hosts; k++)
            if (m.host[k] == from[r])
                s->trial[r] = m.host[m.image[k]];
    return true;
}

/* Exchanges two hosts; false if one of them has no room for the other's ranks. */
static bool exchange_hosts(const struct search *s, const uint32_t *from)
{
    uint32_t first = s->first, other = from[0];
    size_t mine = 0, others = 0, n = s->traffic->tasks;
    for (size_t r = 0; r < n; r++) {
        mine += from[r] == first;
        others += from[r] == other;
    }
    if (mine > s->capacity[other] || others > s->capacity[first])
        return false;
    for (size_t r = 0; r < n; r++)
        s->trial[r] = from[r] == first ? other : from[r] == other ? first : from[r];
    return true;
}

/* Fills trial with from, changed so that rank 0 is on the first host. *made: false if this change
 * leads to no such order; trial is then undefined. */
static int anchor_trial(struct search *s, enum anchor way, const uint32_t *from, bool *made,
                        struct nt_err *err)
{
    size_t n = s->traffic->tasks;
    size_t k = edge_rank(from, n, s->first, way == ANCHOR_REFLECT ? 1 : n - 1);
    *made = k < n;
    if (way == ANCHOR_MOVE)
        *made = move_hosts(s, from);
    else if (way == ANCHOR_EXCHANGE)
        *made = exchange_hosts(s, from);
    else if (way == ANCHOR_NEAREST && *made) {
        *made = nt_distance_is_tree(s->view[0].distance);
        if (*made && put_nearest(s, from, err) != 0)
            return -1;
    } else if (way == ANCHOR_XOR) {
        *made = *made && (n & (n - 1)) == 0;
        for (size_t r = 0; *made && r < n; r++)
            s->trial[r] = from[r ^ k];
    } else {
        for (size_t r = 0; *made && r < n; r++)
            s->trial[r] = from[(way == ANCHOR_ROTATE ? r + k : k + n - r) % n];
    }
    *made = *made && s->trial[0] == s->first;
    return 0;
}

static int consider_anchored(struct search *s, const uint32_t *from, struct nt_err *err)
{
    bool made;
    for (enum anchor way = 0; way < ANCHORS; way++)
        if (anchor_trial(s, way, from, &made, err) != 0 ||
            (made && consider_candidate(s, err) != 0))
            return -1;
    return 0;
}

/* Tries exchanges from each of the anchored orders, which end in different local minima; the last
 * one is Slurm's order. */
static int try_exchanges_of_each(struct search *s, const uint32_t *from, uint32_t *best,
                                 struct nt_err *err)
{
    size_t n = s->traffic->tasks;
    struct view kept[3];
    bool made = true;
    for (enum anchor way = 0; n <= EXCHANGE_TASKS && way <= ANCHORS; way++) {
        if (way < ANCHORS ? anchor_trial(s, way, from, &made, err) != 0
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

/* Replaces the best of all orders by the best one that starts on the first host. */
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
        if (try_exchanges_of_each(s, any, from, err) != 0)
            return -1;
        if (!is_direct(s) || k == MAPS)
            break;
        if (map_tasks(s, SEED + k, any, err) != 0)
            return -1;
    }
    s->first_percent = over_percent(s, any_us) > FIRST_PERCENT ? over_percent(s, any_us) : 0;
    return 0;
}

/* Finishes the hint; without a gain Slurm's order remains. */
static int finish_hint(struct search *s, struct nt_err *err)
{
    if (judge_gain(s, err) != 0)
        return -1;
    for (size_t k = 0; k < s->views && !s->changed; k++)
        s->view[k].found = s->view[k].start;
    return s->changed ? 0 : put_scheduler_order(s, s->best, err);
}

/* Orders equivalent parts as Slurm does, and computes the values of the result on the map's own
 * model. */
static int keep_order(struct search *s, struct nt_err *err)
{
    struct view *own = &s->view[s->views];
    struct nt_metrics m;
    memcpy(s->trial, s->best, s->traffic->tasks * sizeof *s->trial);
    if (s->changed) {
        if (nt_equal_parts_order(s->view[0].model, s->capacity, s->traffic->tasks, s->trial, err) !=
                0 ||
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
    if (nt_equal_figures_create(s->map->model, &s->equalised, err) != 0 ||
        nt_supported_tree_create(s->equalised, &s->certain, err) != 0)
        return -1;
    s->view[0].model = s->certain != NULL ? s->certain : s->equalised;
    s->view[1].model = s->equalised;
    s->views = s->certain != NULL ? 2 : 1;
    s->view[s->views].model = s->map->model;
    for (size_t k = 0; k <= s->views; k++) {
        if (k > 0 && !nt_distance_is_tree(s->view[0].distance)) {
            s->view[k] =
                s->view[0]; /* paths of all pairs take too much memory to store them twice */
            continue;
        }
        if (nt_distance_create(s->view[k].model, &s->view[k].distance, err) != 0)
            return -1;
    }
    const struct view *v = &s->view[0];
    return nt_hierarchy_create(v->distance, s->capacity, &s->hierarchy, err);
}

static int find_hint(const struct nt_map *map, const struct nt_hint_request *asked,
                     const struct nt_traffic *traffic, struct nt_hint **out, struct nt_err *err)
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
        s.capacity[h] = map->model->missing[h] ? 0 : asked->capacity[h];
    if (put_scheduler_order(&s, s.best, err) != 0 || search_candidates(&s, err) != 0)
        goto out;
    nt_hierarchy_rank(s.hierarchy, s.rank, hosts);
    if (find_best(&s, err) != 0 || (!asked->any_first && keep_first(&s, err) != 0) ||
        finish_hint(&s, err) != 0 || keep_order(&s, err) != 0)
        goto out;
    rc = make_hint(&s, asked->pattern, out, err);
out:
    nt_hierarchy_destroy(s.hierarchy);
    for (size_t k = 0; k < 3; k++)
        if (k == 0 || s.view[k].distance != s.view[0].distance)
            nt_distance_destroy(s.view[k].distance);
    nt_model_destroy(s.certain);
    nt_model_destroy(s.equalised);
    return rc;
}

int nt_hint_create(const struct nt_map *map, const struct nt_hint_request *request,
                   struct nt_hint **out, struct nt_err *err)
{
    struct nt_traffic *made;
    if (request->traffic != NULL)
        return find_hint(map, request, request->traffic, out, err);
    if (nt_traffic_create(request->pattern, request->tasks, &made, err) != 0)
        return -1;
    if (request->message_bytes > 0)
        nt_traffic_set_message(made, request->message_bytes);
    int rc = find_hint(map, request, made, out, err);
    nt_traffic_destroy(made);
    return rc;
}
