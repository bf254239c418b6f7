/* SPDX-License-Identifier: Apache-2.0 */
#include "unique_paths.h"

#include <math.h>
#include <stdlib.h>

#include "graph.h"

struct nt_unique_paths {
    struct nt_arena memory;
    const struct nt_rooted_tree *rooted;
    uint32_t *at;   /* hosts: their switch; NT_NO_VERTEX */
    uint32_t *into; /* [from * switches + to]: the last channel of the only path; NT_NO_LINK: the
                       same switch, no path, or another one as short */
};

enum { SWITCHES_MAX = 2048 }; /* 16 MB of into */

/* Another path must be longer by more than this share of the shortest link: in a network of equal
 * links it is as long as the shortest path or longer by a link, so half a link separates the two
 * cases. */
static const double near_path = 0.5;

void nt_unique_paths_destroy(struct nt_unique_paths *p)
{
    nt_object_destroy(p);
}

/* Working memory for Dijkstra's algorithm among the switches alone, numbered from 0. */
struct among {
    size_t switches;
    double least_us; /* the shortest link */
    struct nt_graph graph;
    struct nt_shortest shortest;
    double *latency_us; /* by link of graph, */
    uint32_t *link;     /*   and which of the model it is */
    struct place {
        double us;
        uint32_t vertex;
    } * order; /* switches by distance */
};

static bool is_inner(const struct nt_model *m, const struct nt_link *l)
{
    return l->a >= m->hosts && l->b >= m->hosts;
}

/* Hosts have one link, to a switch; all others have latencies both ways. Counts these. */
static bool is_known(const struct nt_model *m, const struct nt_rooted_tree *h, size_t *inner)
{
    *inner = 0;
    if (h->tree || m->switches < 2 || m->switches > SWITCHES_MAX)
        return false;
    for (size_t v = 0; v < m->hosts; v++)
        if (nt_graph_degree(&h->graph, (uint32_t)v) > 1)
            return false;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (!is_inner(m, l) && (l->a < m->hosts) == (l->b < m->hosts))
            return false;
        if (is_inner(m, l) && (!(l->latency_us > 0) || l->simplex))
            return false;
        *inner += is_inner(m, l);
    }
    return *inner > 0;
}

static int among_init(struct among *x, const struct nt_model *m, size_t inner,
                      struct nt_arena *memory, struct nt_err *err)
{
    struct nt_model *alone;
    size_t n = 0;
    x->switches = m->switches;
    x->least_us = INFINITY;
    x->latency_us = nt_arena_array(memory, inner, sizeof *x->latency_us);
    x->link = nt_arena_array(memory, inner, sizeof *x->link);
    x->order = nt_arena_array(memory, m->switches, sizeof *x->order);
    if (nt_arena_check(memory, err) != 0 ||
        nt_shortest_init(&x->shortest, m->switches, memory, err) != 0 ||
        nt_model_create(0, m->switches, inner, &alone, err) != 0)
        return -1;
    for (size_t k = 0; k < m->links; k++) {
        if (!is_inner(m, &m->link[k]))
            continue;
        alone->link[n].a = m->link[k].a - (uint32_t)m->hosts;
        alone->link[n].b = m->link[k].b - (uint32_t)m->hosts;
        x->latency_us[n] = m->link[k].latency_us;
        x->least_us = fmin(x->least_us, m->link[k].latency_us);
        x->link[n++] = (uint32_t)k;
    }
    int rc = nt_graph_init(&x->graph, alone, memory, err);
    nt_model_destroy(alone);
    return rc;
}

static int by_distance(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return NT_ORDER(x->us, y->us, NT_ORDER(x->vertex, y->vertex, 0));
}

/* The channel into v over that end of the graph. */
static uint32_t channel_into(const struct nt_unique_paths *p, const struct among *x, uint32_t v,
                             uint32_t end)
{
    uint32_t k = x->link[x->graph.link[end]];
    return 2 * k + (p->rooted->ends[k][1] == p->rooted->hosts + v ? 0 : 1);
}

/* The last channel of the path from the source to v; NT_NO_LINK if another path has nearly this
 * length. Two paths meet at a last vertex, which both reach at about the same distance, so checking
 * each vertex of a path compares all paths. into: of the nearer vertices. */
static uint32_t last_channel(const struct nt_unique_paths *p, const struct among *x, uint32_t v,
                             const uint32_t *into, uint32_t source)
{
    const double *us = x->shortest.distance;
    double limit = us[v] + near_path * x->least_us;
    uint32_t found = NT_NO_LINK;
    for (uint32_t i = x->graph.start[v]; i < x->graph.start[v + 1]; i++) {
        uint32_t w = x->graph.to[i];
        if (!(us[w] + x->latency_us[x->graph.link[i]] < limit))
            continue;
        if (found != NT_NO_LINK || (w != source && into[w] == NT_NO_LINK))
            return NT_NO_LINK;
        found = channel_into(p, x, v, i);
    }
    return found;
}

static void fill_row(struct nt_unique_paths *p, struct among *x, uint32_t source)
{
    uint32_t *into = p->into + source * x->switches;
    nt_shortest_from(&x->shortest, &x->graph, x->latency_us, source);
    for (uint32_t v = 0; v < x->switches; v++)
        x->order[v] = (struct place){x->shortest.distance[v], v};
    qsort(x->order, x->switches, sizeof *x->order, by_distance);
    for (size_t k = 0; k < x->switches; k++) {
        uint32_t v = x->order[k].vertex;
        into[v] =
            v == source || isinf(x->order[k].us) ? NT_NO_LINK : last_channel(p, x, v, into, source);
    }
}

static int fill_table(struct nt_unique_paths *p, const struct nt_model *m, size_t inner,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct among x;
    p->at = nt_arena_array(&p->memory, m->hosts + 1, sizeof *p->at);
    p->into = nt_arena_array(&p->memory, m->switches * m->switches, sizeof *p->into);
    if (nt_arena_check(&p->memory, err) != 0 || among_init(&x, m, inner, &memory, err) != 0)
        return -1;
    const struct nt_graph *g = &p->rooted->graph;
    for (uint32_t h = 0; h < m->hosts; h++)
        p->at[h] = nt_graph_degree(g, h) == 0 ? NT_NO_VERTEX : g->to[g->start[h]];
    for (uint32_t s = 0; s < m->switches; s++)
        fill_row(p, &x, s);
    return 0;
}

int nt_unique_paths_create(const struct nt_model *model, const struct nt_rooted_tree *rooted,
                           struct nt_unique_paths **out, struct nt_err *err)
{
    size_t inner;
    *out = NULL;
    if (!is_known(model, rooted, &inner))
        return 0;
    struct nt_unique_paths *p = nt_object_create(sizeof *p, err);
    if (p == NULL)
        return -1;
    p->rooted = rooted;
    if (fill_table(p, model, inner, err) != 0) {
        nt_unique_paths_destroy(p);
        return -1;
    }
    *out = p;
    return 0;
}

uint32_t nt_unique_paths_switch(const struct nt_unique_paths *paths, uint32_t host)
{
    return paths->at[host];
}

uint32_t nt_unique_paths_last(const struct nt_unique_paths *p, uint32_t from, uint32_t to)
{
    size_t hosts = p->rooted->hosts, switches = p->rooted->vertices - hosts;
    return p->into[(from - hosts) * switches + (to - hosts)];
}

size_t nt_unique_paths_between(const struct nt_unique_paths *p, uint32_t from, uint32_t to,
                               uint32_t *channel)
{
    size_t n = 0;
    for (uint32_t c; to != from; to = p->rooted->ends[c / 2][c % 2]) {
        c = nt_unique_paths_last(p, from, to);
        if (c == NT_NO_LINK)
            return 0;
        channel[n++] = c;
    }
    for (size_t k = 0; k < n / 2; k++) {
        uint32_t c = channel[k];
        channel[k] = channel[n - 1 - k];
        channel[n - 1 - k] = c;
    }
    return n;
}

size_t nt_unique_paths_find(const struct nt_unique_paths *p, const struct nt_rooted_tree *rooted,
                            uint32_t a, uint32_t b, uint32_t *channel)
{
    if (p == NULL || a == b || a >= rooted->hosts || b >= rooted->hosts ||
        p->at[a] == NT_NO_VERTEX || p->at[b] == NT_NO_VERTEX)
        return nt_rooted_tree_path(rooted, a, b, channel);
    size_t n = nt_unique_paths_between(p, p->at[a], p->at[b], channel + 1);
    if (n == 0 && p->at[a] != p->at[b])
        return 0;
    uint32_t from = rooted->graph.link[rooted->graph.start[a]];
    uint32_t to = rooted->graph.link[rooted->graph.start[b]];
    channel[0] = 2 * from + (rooted->ends[from][0] == a ? 0 : 1);
    channel[n + 1] = 2 * to + (rooted->ends[to][1] == b ? 0 : 1);
    return n + 2;
}
