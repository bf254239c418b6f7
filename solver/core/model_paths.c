/* SPDX-License-Identifier: Apache-2.0 */
/* Paths over a model: modelled latencies, and the canonical form, which depends on the hosts below
 * each switch. */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"

/* The graph of a model; the links of a model from a file must be checked. */
static int graph_of(const struct nt_model *m, struct nt_graph *g, struct nt_arena *memory,
                    struct nt_err *err)
{
    size_t vertices = m->hosts + m->switches;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->a >= vertices || l->b >= vertices || l->a == l->b)
            return nt_err_set(err, NT_ERR_INPUT, "link %zu joins %u and %u of %zu vertices", k,
                              l->a, l->b, vertices);
    }
    return nt_graph_init(g, m, memory, err);
}

/* A one-way link leads nowhere from its end. */
static void forget_backward(const struct nt_model *m, struct nt_graph *g)
{
    uint32_t to = 0, from = 0;
    for (size_t v = 0; v < g->vertices; v++) {
        uint32_t end = g->start[v + 1];
        for (g->start[v] = to; from < end; from++) {
            if (m->link[g->link[from]].simplex && m->link[g->link[from]].a != v)
                continue;
            g->to[to] = g->to[from];
            g->link[to++] = g->link[from];
        }
    }
    g->start[g->vertices] = to;
}

/* A host with one link, to a switch; UINT32_MAX: it has none or several. */
struct leaf_host {
    uint32_t at;
    double us;
};

/* Removes such hosts from the switches, because no path passes them; with many hosts per switch,
 * searches become short. Returns their number. */
static size_t detach_leaf_hosts(const struct nt_model *m, struct nt_graph *g,
                                struct leaf_host *leaf_host)
{
    uint32_t to = 0, from = 0;
    size_t hanging = 0;
    for (size_t h = 0; h < m->hosts; h++) {
        uint32_t p = g->start[h];
        bool one = g->start[h + 1] == p + 1 && g->to[p] >= m->hosts;
        leaf_host[h].at = UINT32_MAX;
        if (one && !m->link[g->link[p]].simplex) {
            leaf_host[h] = (struct leaf_host){g->to[p], m->link[g->link[p]].latency_us};
            hanging++;
        }
    }
    for (size_t v = 0; v < g->vertices; v++) {
        uint32_t end = g->start[v + 1];
        for (g->start[v] = to; from < end; from++) {
            if (v >= m->hosts && g->to[from] < m->hosts && leaf_host[g->to[from]].at == v)
                continue;
            g->to[to] = g->to[from];
            g->link[to++] = g->link[from];
        }
    }
    g->start[g->vertices] = to;
    return hanging;
}

static void fill_row(const struct nt_model *m, const struct leaf_host *leaf_host, size_t i,
                     const double *distance, float *row)
{
    double own = m->overhead_us[i];
    for (size_t j = 0; j < m->hosts; j++) {
        double way = leaf_host[j].at != UINT32_MAX ? distance[leaf_host[j].at] + leaf_host[j].us
                                                   : distance[j];
        row[j] = isinf(way) ? NAN : (float)(way + own + m->overhead_us[j]);
    }
    for (size_t j = 0; j < m->hosts; j++)
        if (m->missing[j])
            row[j] = NAN;
    row[i] = NAN;
}

/* Working memory for the latencies of one model: a search if there are no cycles, else shortest
 * paths. */
struct ways {
    const struct nt_model *model;
    struct nt_graph graph;
    struct leaf_host *leaf_host;
    double *latency_us; /* by link */
    uint32_t *queue, *by;
    struct nt_shortest shortest;
};

static int ways_init(struct ways *w, const struct nt_model *m, struct nt_arena *memory,
                     struct nt_err *err)
{
    size_t vertices = m->hosts + m->switches;
    w->model = m;
    w->leaf_host = nt_arena_array(memory, m->hosts, sizeof *w->leaf_host);
    w->latency_us = nt_arena_array(memory, m->links, sizeof *w->latency_us);
    w->queue = nt_arena_array(memory, vertices, sizeof *w->queue);
    w->by = nt_arena_array(memory, vertices, sizeof *w->by);
    if (graph_of(m, &w->graph, memory, err) != 0 ||
        nt_shortest_init(&w->shortest, vertices, memory, err) != 0)
        return -1;
    for (size_t k = 0; k < m->links; k++)
        w->latency_us[k] = m->link[k].latency_us;
    forget_backward(m, &w->graph);
    return 0;
}

/* The distances of the vertices from first on: NaN if not reached; earlier vertices are on no path.
 */
static void walk_tree(struct ways *w, uint32_t from, size_t first)
{
    const struct nt_graph *g = &w->graph;
    double *distance = w->shortest.distance;
    uint32_t *queue = w->queue, *by = w->by;
    for (size_t v = first; v < g->vertices; v++)
        by[v] = UINT32_MAX;
    size_t head = 0, tail = 0;
    queue[tail++] = from;
    distance[from] = 0;
    by[from] = UINT32_MAX - 1;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (size_t p = g->start[v]; p < g->start[v + 1]; p++) {
            uint32_t to = g->to[p];
            if (by[to] != UINT32_MAX)
                continue;
            by[to] = g->link[p];
            distance[to] = distance[v] + w->latency_us[g->link[p]];
            queue[tail++] = to;
        }
    }
    for (size_t v = first; v < g->vertices; v++)
        if (by[v] == UINT32_MAX)
            distance[v] = NAN;
}

static void fill_latencies(struct ways *w, struct nt_matrix *out)
{
    const struct nt_model *m = w->model;
    double *distance = w->shortest.distance;
    bool forest = nt_links_are_forest(m->link, m->links, w->by, w->graph.vertices);
    size_t first = detach_leaf_hosts(m, &w->graph, w->leaf_host) == m->hosts ? m->hosts : 0;
    for (size_t i = 0; i < m->hosts; i++) {
        if (m->missing[i])
            continue;
        if (forest)
            walk_tree(w, (uint32_t)i, first);
        else
            nt_shortest_from(&w->shortest, &w->graph, w->latency_us, (uint32_t)i);
        fill_row(m, w->leaf_host, i, distance, out->at + i * out->n);
    }
}

int nt_model_latencies(const struct nt_model *model, struct nt_matrix **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct ways ways;
    struct nt_matrix *m;
    if (ways_init(&ways, model, &memory, err) != 0 ||
        nt_matrix_create(model->hosts, NT_MATRIX_LATENCY_US, &m, err) != 0)
        return -1;
    fill_latencies(&ways, m);
    *out = m;
    return 0;
}

/* ---- canonical form ---- */

struct switch_key {
    uint32_t old, smallest, largest, tier;
};

static int key_compare(const void *x, const void *y)
{
    const struct switch_key *a = x, *b = y;
    return NT_ORDER(
        a->smallest, b->smallest,
        NT_ORDER(b->tier, a->tier, NT_ORDER(a->largest, b->largest, NT_ORDER(a->old, b->old, 0))));
}

static int link_compare(const void *x, const void *y)
{
    const struct nt_link *a = x, *b = y;
    return NT_ORDER(a->a, b->a, NT_ORDER(a->b, b->b, NT_ORDER(a->latency_us, b->latency_us, 0)));
}

/* Computes the tiers of a forest of switches by removing the outermost ones round by round. The
 * last one is the root; two equal ends of a last link are peers without a parent. */
static void forest_tiers(const struct nt_model *m, const struct nt_graph *g, uint32_t *degree,
                         uint32_t *queue)
{
    size_t h = m->hosts, head = 0, tail = 0;
    for (size_t s = 0; s < m->switches; s++) {
        degree[s] = 0;
        m->tier[s] = 0;
        for (size_t p = g->start[h + s]; p < g->start[h + s + 1]; p++)
            degree[s] += g->to[p] >= h;
        if (degree[s] <= 1) {
            queue[tail++] = (uint32_t)s;
            m->tier[s] = 1;
        }
    }
    while (head < tail) {
        uint32_t s = queue[head++];
        degree[s] = 0;
        for (size_t p = g->start[h + s]; p < g->start[h + s + 1]; p++) {
            if (g->to[p] < h || degree[g->to[p] - h] == 0)
                continue;
            uint32_t up = (uint32_t)(g->to[p] - h);
            if (--degree[up] == 1) {
                m->tier[up] = m->tier[s] + 1;
                queue[tail++] = up;
            }
        }
    }
}

/* With cycles a switch's tier is its distance to the nearest host. */
static void nearest_tiers(const struct nt_model *m, const struct nt_graph *g, uint32_t *queue)
{
    size_t h = m->hosts, head = 0, tail = 0;
    for (size_t s = 0; s < m->switches; s++) {
        m->tier[s] = 0;
        for (size_t p = g->start[h + s]; p < g->start[h + s + 1]; p++)
            if (g->to[p] < h)
                m->tier[s] = 1;
        if (m->tier[s] == 1)
            queue[tail++] = (uint32_t)s;
    }
    while (head < tail) {
        uint32_t s = queue[head++];
        for (size_t p = g->start[h + s]; p < g->start[h + s + 1]; p++) {
            if (g->to[p] < h || m->tier[g->to[p] - h] != 0)
                continue;
            m->tier[g->to[p] - h] = m->tier[s] + 1;
            queue[tail++] = (uint32_t)(g->to[p] - h);
        }
    }
    for (size_t s = 0; s < m->switches; s++)
        if (m->tier[s] == 0)
            m->tier[s] = 1;
}

/* Smallest and largest host below each switch, tier by tier upwards. place: working memory for the
 * position of each tier in the queue; tiers are at most the number of switches. */
static void keys_fill(const struct nt_model *m, const struct nt_graph *g, uint32_t *queue,
                      uint32_t *place, struct switch_key *key)
{
    size_t h = m->hosts;
    memset(place, 0, (m->switches + 2) * sizeof *place);
    for (size_t s = 0; s < m->switches; s++) {
        key[s] = (struct switch_key){(uint32_t)s, UINT32_MAX, 0, m->tier[s]};
        place[m->tier[s] + 1]++;
    }
    for (size_t tier = 1; tier <= m->switches; tier++)
        place[tier + 1] += place[tier];
    for (size_t s = 0; s < m->switches; s++)
        queue[place[m->tier[s]]++] = (uint32_t)s;
    for (size_t q = 0; q < m->switches; q++) {
        struct switch_key *me = &key[queue[q]];
        size_t v = h + queue[q];
        for (size_t p = g->start[v]; p < g->start[v + 1]; p++) {
            uint32_t w = g->to[p], low = w, high = w;
            if (w >= h) {
                if (m->tier[w - h] >= me->tier)
                    continue;
                low = key[w - h].smallest;
                high = key[w - h].largest;
            }
            me->smallest = low < me->smallest ? low : me->smallest;
            me->largest = high > me->largest ? high : me->largest;
        }
    }
}

static uint32_t renamed_vertex(const struct nt_model *m, const uint32_t *new_index, uint32_t v)
{
    return v < m->hosts ? v : (uint32_t)(m->hosts + new_index[v - m->hosts]);
}

static void links_turn(struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        uint32_t ra = nt_model_tier(m, l->a), rb = nt_model_tier(m, l->b);
        if (l->simplex || ra < rb || (ra == rb && l->a < l->b))
            continue;
        uint32_t v = l->a;
        double bandwidth = l->bandwidth_MBps, se = l->bandwidth_se_MBps;
        l->a = l->b;
        l->b = v;
        l->bandwidth_MBps = l->bandwidth_back_MBps;
        l->bandwidth_back_MBps = bandwidth;
        l->bandwidth_se_MBps = l->bandwidth_back_se_MBps;
        l->bandwidth_back_se_MBps = se;
    }
}

static void pairs_sort(struct nt_model *m)
{
    for (size_t k = 0; k < m->pairs_off; k++) {
        uint32_t *p = m->pair_off[k];
        if (p[0] > p[1]) {
            uint32_t t = p[0];
            p[0] = p[1];
            p[1] = t;
        }
    }
}

/* Values of a switch that move with it. */
struct switch_figures {
    double oversubscription;
    struct nt_throughput throughput;
};

/* new_index and figures: room for switches of them. */
static void apply_switch_order(struct nt_model *m, const struct switch_key *key,
                               uint32_t *new_index, struct switch_figures *figures)
{
    uint32_t top = 0;
    for (size_t s = 0; s < m->switches; s++)
        figures[s] = (struct switch_figures){m->oversubscription[s], m->throughput[s]};
    for (size_t s = 0; s < m->switches; s++) {
        new_index[key[s].old] = (uint32_t)s;
        m->tier[s] = key[s].tier;
        m->oversubscription[s] = figures[key[s].old].oversubscription;
        m->throughput[s] = figures[key[s].old].throughput;
        top = key[s].tier > top ? key[s].tier : top;
    }
    m->tiers = top;
    for (size_t k = 0; k < m->links; k++) {
        m->link[k].a = renamed_vertex(m, new_index, m->link[k].a);
        m->link[k].b = renamed_vertex(m, new_index, m->link[k].b);
    }
    links_turn(m);
    qsort(m->link, m->links, sizeof *m->link, link_compare);
    pairs_sort(m);
}

static bool switches_are_forest(const struct nt_model *m, uint32_t *up)
{
    nt_sets_init(up, m->hosts + m->switches);
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts &&
            !nt_sets_join(up, m->link[k].a, m->link[k].b))
            return false;
    return true;
}

int nt_model_canonicalise(struct nt_model *model, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_graph g;
    size_t s = model->switches;
    uint32_t *queue = nt_arena_array(&memory, s, sizeof *queue);
    uint32_t *work = nt_arena_array(&memory, model->hosts + s + 2, sizeof *work);
    struct switch_key *key = nt_arena_array(&memory, s, sizeof *key);
    struct switch_figures *figures = nt_arena_array(&memory, s, sizeof *figures);
    if (graph_of(model, &g, &memory, err) != 0)
        return -1;
    if (switches_are_forest(model, work))
        forest_tiers(model, &g, work, queue);
    else
        nearest_tiers(model, &g, queue);
    keys_fill(model, &g, queue, work, key);
    qsort(key, s, sizeof *key, key_compare);
    apply_switch_order(model, key, work, figures);
    return 0;
}
