/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a map to a prior. */
#include <math.h>
#include <string.h>

#include "graph.h"
#include "prior.h"
#include "stats.h"
#include "switch_support.h"

/* The prior has one latency for all pairs whose path turns at a switch: it may be wrong by 6 % for
 * a pair, if one of its ends deviates by twice that. */
static const double END_OFF = 2 * 0.06;
/* Weight in the median of a host whose place is uncertain. */
static const double UNSURE = 1e-6;

/* A tree during a walk; arrays are indexed by vertex. */
struct rooted {
    const struct nt_map *map;
    const struct nt_model *m;
    const int32_t *day; /* of the last measurement, by vertex; NULL: today */
    int32_t today;
    size_t vertices;
    struct nt_graph graph;
    struct nt_bfs bfs;
    double *us;    /* latency from the start of the walk */
    double *sum;   /* sum of latencies to the hosts below that count */
    double *hosts; /* number of these hosts */
    bool *loose;   /* its distance to the switch above differs from that of the others */
    struct nt_weighted *way;
    double *support; /* probability of the uplink */
    uint32_t *name;  /* index in the prior */
};

static int rooted_init(struct rooted *t, const struct nt_map *map, const int32_t *day,
                       struct nt_arena *memory, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    size_t n = m->hosts + m->switches;
    /* for a map taken from a prior: the day of the prior */
    const char *seen = map->sweep.prior.all_taken ? map->sweep.prior.oldest : map->created;
    *t = (struct rooted){.map = map,
                         .m = m,
                         .day = day,
                         .vertices = n,
                         .us = nt_arena_array(memory, n + 1, sizeof *t->us),
                         .sum = nt_arena_array(memory, n + 1, sizeof *t->sum),
                         .hosts = nt_arena_array(memory, n + 1, sizeof *t->hosts),
                         .loose = nt_arena_array(memory, n + 1, sizeof *t->loose),
                         .way = nt_arena_array(memory, n + 1, sizeof *t->way),
                         .support = nt_arena_array(memory, n + 1, sizeof *t->support),
                         .name = nt_arena_array(memory, n + 1, sizeof *t->name)};
    if (nt_prior_day(seen, strlen(seen), &t->today) != 0)
        t->today = 0;
    if (nt_arena_check(memory, err) != 0 || nt_graph_init(&t->graph, m, memory, err) != 0)
        return -1;
    return nt_bfs_init(&t->bfs, n, memory, err);
}

/* Walks from a vertex; false: the model is not a tree. */
static bool walk(struct rooted *t, uint32_t from)
{
    nt_bfs_clear(&t->bfs);
    bool tree = nt_bfs_from(&t->bfs, &t->graph, from);
    for (size_t k = 0; k < t->bfs.reached; k++) {
        uint32_t v = t->bfs.order[k], up = t->bfs.up[v];
        double us = up == NT_NO_LINK ? 0 : t->m->link[up].latency_us;
        t->us[v] = us + (up == NT_NO_LINK ? 0 : t->us[t->bfs.parent[v]]);
    }
    return tree && isfinite(t->us[t->bfs.order[t->bfs.reached - 1]]);
}

static uint32_t farthest_host(const struct rooted *t)
{
    uint32_t best = NT_NO_VERTEX;
    for (size_t k = 0; k < t->bfs.reached; k++) {
        uint32_t v = t->bfs.order[k];
        if (v < t->m->hosts && (best == NT_NO_VERTEX || t->us[v] > t->us[best]))
            best = v;
    }
    return best;
}

/* Finds the switches on both sides of the middle of the longest path; the same switch twice if one
 * is near the middle. */
static int find_middle(struct rooted *t, uint32_t ends[2], struct nt_err *err)
{
    static const double near = 0.1; /* relative to half of the path */
    uint32_t first = 0;
    while (first < t->m->hosts && (t->m->missing[first] || nt_graph_degree(&t->graph, first) != 1))
        first++;
    if (first == t->m->hosts || t->m->switches == 0 || !walk(t, first))
        return nt_err_set(err, NT_ERR_INPUT,
                          "a prior requires a tree of switches, which this network is not");
    uint32_t far = farthest_host(t);
    if (!walk(t, far))
        return nt_err_set(err, NT_ERR_INPUT,
                          "a prior requires the latencies of all links, but some links have none");
    uint32_t v = farthest_host(t);
    double half = t->us[v] / 2;
    while (t->us[t->bfs.parent[v]] >= half && t->bfs.parent[v] >= t->m->hosts)
        v = t->bfs.parent[v];
    uint32_t over = v, below = t->bfs.parent[v]; /* the middle is between them */
    if (over < t->m->hosts)
        over = below;
    if (below < t->m->hosts)
        below = over;
    ends[0] = over;
    ends[1] = below;
    if (fabs(t->us[over] - half) <= near * half)
        ends[1] = over;
    else if (fabs(t->us[below] - half) <= near * half)
        ends[0] = below;
    return 0;
}

/* Returns the latency of the uplink of v, or 0. */
static double link_us(const struct rooted *t, uint32_t v)
{
    uint32_t up = t->bfs.up[v];
    return up == NT_NO_LINK ? 0 : t->m->link[up].latency_us;
}

/* Returns the mean latency from the switch above v to the hosts below v that count. */
static double mean_us(const struct rooted *t, uint32_t v)
{
    return (t->hosts[v] > 0 ? t->sum[v] / t->hosts[v] : 0) + link_us(t, v);
}

/* Returns the latency of the median host below the children order[from..to) of one switch. */
static double median_us(struct rooted *t, size_t from, size_t to, uint32_t apart)
{
    double near = INFINITY, us = 0;
    size_t n = 0;
    for (size_t k = from; k < to; k++) {
        uint32_t v = t->bfs.order[k];
        if (v != apart)
            t->way[n++] = (struct nt_weighted){(float)mean_us(t, v), (float)t->hosts[v]};
    }
    double middle = (double)nt_stats_weighted_median(t->way, n);
    for (size_t k = from; k < to; k++) { /* between two values the median belongs to no host */
        double own = mean_us(t, t->bfs.order[k]);
        if (t->bfs.order[k] != apart && fabs(own - middle) < near) {
            near = fabs(own - middle);
            us = own;
        }
    }
    return us;
}

/* Marks the children of a switch whose latency differs from the median as loose; they do not count
 * above. */
static void mark_loose(struct rooted *t, size_t from, size_t to, uint32_t apart)
{
    uint32_t p = t->bfs.parent[t->bfs.order[from]];
    double middle = median_us(t, from, to, apart);
    for (size_t k = from; k < to; k++) {
        uint32_t v = t->bfs.order[k];
        if (v == apart)
            continue;
        t->loose[v] = fabs(mean_us(t, v) - middle) > END_OFF * middle;
        double counts = t->loose[v] ? 0 : t->hosts[v];
        t->hosts[p] += counts;
        t->sum[p] += counts * mean_us(t, v);
    }
}

/* Sums the latencies to the hosts below, children before parents. apart: child of the root. */
static void sum_latencies(struct rooted *t, uint32_t apart)
{
    for (size_t k = 0; k < t->bfs.reached; k++) {
        uint32_t v = t->bfs.order[k], up = t->bfs.up[v];
        t->support[v] = up == NT_NO_LINK ? 1 : t->m->link[up].probability;
        if (v < t->m->hosts)
            t->hosts[v] = t->support[v] < NT_SUPPORT_REPORTED ? UNSURE : 1;
    }
    for (size_t to = t->bfs.reached, from; to > 1; to = from) { /* siblings are consecutive */
        uint32_t p = t->bfs.parent[t->bfs.order[to - 1]];
        for (from = to - 1; from > 1 && t->bfs.parent[t->bfs.order[from - 1]] == p; from--)
            ;
        mark_loose(t, from, to, apart);
    }
    for (size_t k = 1; k < t->bfs.reached; k++) {
        uint32_t v = t->bfs.order[k];
        t->loose[v] = t->loose[v] || t->loose[t->bfs.parent[v]];
        if (v < t->m->hosts && t->loose[v])
            t->support[v] = 0;
    }
}

static int32_t day_of(const struct rooted *t, uint32_t v)
{
    return t->day != NULL ? t->day[v] : t->today;
}

static int add(struct nt_prior *p, struct rooted *t, uint32_t v, uint32_t up, struct nt_err *err)
{
    const char *name = nt_map_vertex_name(t->map, v);
    struct nt_prior_part part = {
        .up = up, .support = (float)fmin(fmax(t->support[v], 0), 1), .day = day_of(t, v)};
    if (v >= t->m->hosts)
        part.us = (float)(2 * (mean_us(t, v) - link_us(t, v)));
    t->name[v] = (uint32_t)p->switch_name.count;
    return nt_prior_add(p, v < t->m->hosts, name, strlen(name), &part, err);
}

/* Adds a switch above the two switches next to the middle. */
static int add_top(struct nt_prior *p, double us, int32_t day, struct nt_err *err)
{
    const struct nt_prior_part part = {
        .up = NT_PRIOR_TOP, .us = (float)us, .support = 1, .day = day};
    return nt_prior_add(p, false, "nettopo-top", 11, &part, err);
}

static int add_all(struct nt_prior *p, struct rooted *t, const uint32_t ends[2], struct nt_err *err)
{
    bool between = ends[0] != ends[1];
    walk(t, ends[0]);
    double us = t->us[ends[1]];
    sum_latencies(t, between ? ends[1] : NT_NO_VERTEX);
    int rc = 0;
    if (between) { /* the other end is a child of the root and counts separately */
        double one = 2 * (mean_us(t, ends[0]) - link_us(t, ends[0]));
        double two = 2 * (mean_us(t, ends[1]) - link_us(t, ends[1]));
        t->support[ends[0]] = t->support[ends[1]];
        rc = add_top(p, one / 2 + two / 2 + us, day_of(t, ends[0]), err);
    }
    for (size_t k = 0; rc == 0 && k < t->bfs.reached; k++) {
        uint32_t v = t->bfs.order[k], up = t->bfs.parent[v];
        uint32_t above = up == NT_NO_VERTEX        ? (between ? 0 : NT_PRIOR_TOP)
                         : between && v == ends[1] ? 0
                                                   : t->name[up];
        if (v >= t->m->hosts || !t->m->missing[v])
            rc = add(p, t, v, above, err);
    }
    return rc;
}

int nt_prior_from_map(const struct nt_map *map, const int32_t *day, struct nt_prior **out,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct rooted t;
    struct nt_prior *p;
    uint32_t ends[2] = {0, 0};
    if (rooted_init(&t, map, day, &memory, err) != 0 || find_middle(&t, ends, err) != 0 ||
        nt_prior_create(map->cluster, &p, err) != 0)
        return -1;
    if (add_all(p, &t, ends, err) != 0) {
        nt_prior_destroy(p);
        return -1;
    }
    *out = p;
    return 0;
}
