/* SPDX-License-Identifier: Apache-2.0 */
/* A prior from a map. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "prior.h"

/* A tree as it is walked; arrays by vertex. */
struct hung {
    const struct nt_model *m;
    size_t vertices;
    struct nt_graph graph;
    struct nt_bfs bfs;
    double *us;     /* from where the walk began */
    double *sum;    /* of the ways down to all hosts below, */
    double *hosts;  /* and how many these are */
    double *sure;   /* probability of the link upwards */
    uint32_t *name; /* number in the prior */
};

static int hung_init(struct hung *t, const struct nt_model *m, struct nt_arena *memory,
                     struct nt_err *err)
{
    size_t n = m->hosts + m->switches;
    *t = (struct hung){.m = m,
                       .vertices = n,
                       .us = nt_arena_array(memory, n + 1, sizeof *t->us),
                       .sum = nt_arena_array(memory, n + 1, sizeof *t->sum),
                       .hosts = nt_arena_array(memory, n + 1, sizeof *t->hosts),
                       .sure = nt_arena_array(memory, n + 1, sizeof *t->sure),
                       .name = nt_arena_array(memory, n + 1, sizeof *t->name)};
    if (nt_arena_check(memory, err) != 0 || nt_graph_init(&t->graph, m, memory, err) != 0)
        return -1;
    return nt_bfs_init(&t->bfs, n, memory, err);
}

/* From a vertex on; false: it is no tree. */
static bool walk(struct hung *t, uint32_t from)
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

static uint32_t farthest_host(const struct hung *t)
{
    uint32_t best = NT_NO_VERTEX;
    for (size_t k = 0; k < t->bfs.reached; k++) {
        uint32_t v = t->bfs.order[k];
        if (v < t->m->hosts && (best == NT_NO_VERTEX || t->us[v] > t->us[best]))
            best = v;
    }
    return best;
}

/* The switches at both ends of the middle of the longest way; the same twice, where that is near
 * one. */
static int find_middle(struct hung *t, uint32_t ends[2], struct nt_err *err)
{
    static const double near = 0.1; /* of half the way */
    uint32_t first = 0;
    while (first < t->m->hosts && (t->m->missing[first] || nt_graph_degree(&t->graph, first) != 1))
        first++;
    if (first == t->m->hosts || t->m->switches == 0 || !walk(t, first))
        return nt_err_set(err, NT_ERR_INPUT, "the network is no tree of switches");
    uint32_t far = farthest_host(t);
    if (!walk(t, far))
        return nt_err_set(err, NT_ERR_INPUT, "the network has links without latencies");
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

/* Children before their parents: the ways to the hosts below. */
static void sum_up(struct hung *t)
{
    for (size_t k = t->bfs.reached; k-- > 0;) {
        uint32_t v = t->bfs.order[k], up = t->bfs.up[v];
        if (v < t->m->hosts)
            t->hosts[v] = 1;
        t->sure[v] = up == NT_NO_LINK ? 1 : t->m->link[up].probability;
        if (up == NT_NO_LINK)
            continue;
        uint32_t p = t->bfs.parent[v];
        t->hosts[p] += t->hosts[v];
        t->sum[p] += t->sum[v] + t->hosts[v] * t->m->link[up].latency_us;
    }
}

static int add(struct nt_prior *p, const struct nt_map *map, struct hung *t, uint32_t v,
               uint32_t up, int32_t day, struct nt_err *err)
{
    const char *name = nt_map_vertex_name(map, v);
    struct nt_prior_part part = {
        .up = up, .support = (float)fmin(fmax(t->sure[v], 0), 1), .day = day};
    if (v >= t->m->hosts)
        part.us = (float)(2 * t->sum[v] / fmax(t->hosts[v], 1));
    t->name[v] = (uint32_t)p->switch_name.count;
    return nt_prior_add(p, v < t->m->hosts, name, strlen(name), &part, err);
}

/* Above the two switches that the middle is between. */
static int add_top(struct nt_prior *p, double us, int32_t day, struct nt_err *err)
{
    const struct nt_prior_part part = {
        .up = NT_PRIOR_TOP, .us = (float)us, .support = 1, .day = day};
    return nt_prior_add(p, false, "nettopo-top", 11, &part, err);
}

static int add_all(struct nt_prior *p, const struct nt_map *map, struct hung *t,
                   const uint32_t ends[2], const int32_t *day, int32_t today, struct nt_err *err)
{
    bool between = ends[0] != ends[1];
    walk(t, ends[0]);
    double us = t->us[ends[1]];
    sum_up(t);
    int rc = 0;
    if (between) { /* the other end hangs at the top, and counts for itself */
        double other = t->hosts[ends[1]];
        t->sum[ends[0]] -= t->sum[ends[1]] + other * us;
        t->hosts[ends[0]] -= other;
        double one = 2 * t->sum[ends[0]] / fmax(t->hosts[ends[0]], 1);
        double two = 2 * t->sum[ends[1]] / fmax(other, 1);
        t->sure[ends[0]] = t->sure[ends[1]];
        rc = add_top(p, one / 2 + two / 2 + us, day != NULL ? day[ends[0]] : today, err);
    }
    for (size_t k = 0; rc == 0 && k < t->bfs.reached; k++) {
        uint32_t v = t->bfs.order[k], up = t->bfs.parent[v];
        uint32_t above = up == NT_NO_VERTEX        ? (between ? 0 : NT_PRIOR_TOP)
                         : between && v == ends[1] ? 0
                                                   : t->name[up];
        if (v >= t->m->hosts || !t->m->missing[v])
            rc = add(p, map, t, v, above, day != NULL ? day[v] : today, err);
    }
    return rc;
}

int nt_prior_of_map(const struct nt_map *map, const int32_t *day, struct nt_prior **out,
                    struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct hung t;
    struct nt_prior *p;
    uint32_t ends[2] = {0, 0};
    int32_t today = 0;
    /* of a map that was not measured the day of what it was taken from */
    const char *seen = map->sweep.prior.all_taken ? map->sweep.prior.oldest : map->created;
    if (nt_prior_day(seen, strlen(seen), &today) != 0)
        today = 0;
    if (hung_init(&t, map->model, &memory, err) != 0 || find_middle(&t, ends, err) != 0 ||
        nt_prior_create(map->cluster, &p, err) != 0)
        return -1;
    if (add_all(p, map, &t, ends, day, today, err) != 0) {
        nt_prior_destroy(p);
        return -1;
    }
    *out = p;
    return 0;
}
