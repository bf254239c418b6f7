/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <math.h>
#include <string.h>

#include "memory.h"
#include "paths.h"

static size_t vertex_count(const struct nt_network *n)
{
    return n->hosts + n->switches;
}

static int allocate_network(struct nt_network *n, struct nt_err *err)
{
    size_t v = vertex_count(n);
    n->arc = nt_arena_array(&n->memory, n->arcs, sizeof *n->arc);
    n->overhead_us = nt_arena_array(&n->memory, n->hosts, sizeof *n->overhead_us);
    n->first = nt_arena_array(&n->memory, v + 1, sizeof *n->first);
    n->out = nt_arena_array(&n->memory, n->arcs, sizeof *n->out);
    return nt_arena_check(&n->memory, err);
}

static double or_zero(double x)
{
    return isnan(x) ? 0 : x;
}

static void fill_arcs(struct nt_network *n)
{
    for (size_t k = 0; k < n->model->links; k++) {
        const struct nt_link *l = &n->model->link[k];
        double back = isnan(l->bandwidth_back_MBps) ? l->bandwidth_MBps : l->bandwidth_back_MBps;
        n->arc[2 * k] = (struct nt_arc){l->a, l->b, or_zero(l->latency_us), l->bandwidth_MBps};
        n->arc[2 * k + 1] = (struct nt_arc){l->b, l->a, or_zero(l->latency_us), back};
    }
    memcpy(n->overhead_us, n->model->overhead_us, n->hosts * sizeof *n->overhead_us);
}

/* Two passes of counting sort: by destination, then, keeping that order, by origin. */
static int order_arcs(struct nt_network *n, struct nt_err *err)
{
    size_t v = vertex_count(n);
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *place = nt_arena_array(&memory, v + 1, sizeof *place),
             *by_to = nt_arena_array(&memory, n->arcs + 1, sizeof *by_to);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < n->arcs; k++)
        place[n->arc[k].to + 1]++;
    for (size_t k = 0; k < v; k++)
        place[k + 1] += place[k];
    for (size_t k = 0; k < n->arcs; k++)
        by_to[place[n->arc[k].to]++] = (uint32_t)k;
    for (size_t k = 0; k < n->arcs; k++)
        n->first[n->arc[k].from + 1]++;
    for (size_t k = 0; k < v; k++)
        n->first[k + 1] += n->first[k];
    memcpy(place, n->first, v * sizeof *place);
    for (size_t k = 0; k < n->arcs; k++)
        n->out[place[n->arc[by_to[k]].from]++] = by_to[k];
    return 0;
}

/* Depth first from root without recursion (chains are deep): up, depth, enter, leave.
 * Returns false when a vertex is met twice: a cycle. next[] holds the arc to try. */
static bool climb_tree(struct nt_network *n, uint32_t root, uint32_t *next, uint32_t *clock)
{
    uint32_t v = root;
    n->up[v] = UINT32_MAX;
    n->depth[v] = 0;
    n->enter[v] = (*clock)++;
    for (;;) {
        if (next[v] == n->first[v + 1]) {
            n->leave[v] = *clock;
            if (n->up[v] == UINT32_MAX)
                return true;
            v = n->arc[n->up[v]].to;
            continue;
        }
        uint32_t down = n->out[next[v]++], w = n->arc[down].to;
        if (down == (n->up[v] ^ 1) || down == n->up[v])
            continue; /* the link that we came by */
        if (n->enter[w] != UINT32_MAX)
            return false;
        n->up[w] = down ^ 1;
        n->depth[w] = n->depth[v] + 1;
        n->enter[w] = (*clock)++;
        v = w;
    }
}

/* So that the children of a vertex stand together, in the order in which they were visited. */
static void up_last(struct nt_network *n)
{
    for (size_t v = 0; v < vertex_count(n); v++) {
        uint32_t last = n->first[v + 1], k = n->first[v];
        while (k < last && n->out[k] != n->up[v])
            k++;
        if (k == last)
            continue;
        memmove(n->out + k, n->out + k + 1, (last - k - 1) * sizeof *n->out);
        n->out[last - 1] = n->up[v];
    }
}

/* 1: a tree or forest, indexed; 0: it has a cycle; -1: memory. */
static int index_tree(struct nt_network *n, struct nt_err *err)
{
    size_t v = vertex_count(n);
    uint32_t clock = 0;
    bool tree = true;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_arena_block *before = nt_arena_mark(&n->memory);
    uint32_t *next = nt_arena_array(&memory, v, sizeof *next);
    n->up = nt_arena_array(&n->memory, v, sizeof *n->up);
    n->depth = nt_arena_array(&n->memory, v, sizeof *n->depth);
    n->enter = nt_arena_array(&n->memory, v, sizeof *n->enter);
    n->leave = nt_arena_array(&n->memory, v, sizeof *n->leave);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&n->memory, err) != 0)
        return -1;
    memcpy(next, n->first, v * sizeof *next);
    memset(n->enter, 0xff, v * sizeof *n->enter);
    for (size_t k = v; tree && k-- > 0;) /* a switch as the root: shorter ways up */
        if (n->enter[k] == UINT32_MAX)
            tree = climb_tree(n, (uint32_t)k, next, &clock);
    if (tree) {
        up_last(n);
    } else {
        nt_arena_release(&n->memory, before);
        n->up = n->depth = n->enter = n->leave = NULL;
    }
    return tree;
}

static int make_routes(struct nt_network *n, struct nt_err *err)
{
    if (n->routing != NT_ROUTING_TREE)
        return n->routing == NT_ROUTING_TABLE ? nt_routes_tabulate(n, err) : 0;
    int tree = index_tree(n, err);
    if (tree != 0)
        return tree < 0 ? -1 : 0;
    n->routing = NT_ROUTING_TABLE;
    return nt_routes_tabulate(n, err);
}

static int check_links(const struct nt_model *m, struct nt_err *err)
{
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts + m->switches || m->link[k].b >= m->hosts + m->switches ||
            m->link[k].a == m->link[k].b)
            return nt_err_set(err, NT_ERR_INPUT, "link %zu of the network: from %u to %u", k,
                              m->link[k].a, m->link[k].b);
    return 0;
}

int nt_network_with_routes(const struct nt_model *model, enum nt_routing routing,
                           const struct nt_spec *spec, struct nt_network **out, struct nt_err *err)
{
    if (check_links(model, err) < 0)
        return -1;
    struct nt_network *n = nt_object_create(sizeof *n, err);
    if (n == NULL)
        return -1;
    n->hosts = model->hosts;
    n->switches = model->switches;
    n->arcs = 2 * model->links;
    n->routing = routing;
    if (spec != NULL)
        n->spec = *spec;
    if (allocate_network(n, err) != 0)
        goto destroy;
    if (nt_model_copy(model, &n->model, err) < 0)
        goto destroy;
    fill_arcs(n);
    if (order_arcs(n, err) < 0 || make_routes(n, err) < 0)
        goto destroy;
    *out = n;
    return 0;
destroy:
    nt_network_destroy(n);
    return -1;
}

int nt_network_from_model(const struct nt_model *model, struct nt_network **out, struct nt_err *err)
{
    return nt_network_with_routes(model, NT_ROUTING_TREE, NULL, out, err);
}

void nt_network_destroy(struct nt_network *network)
{
    if (network == NULL)
        return;
    nt_network_destroy(network->next_rail);
    nt_model_destroy(network->model);
    nt_object_destroy(network);
}

/* Both ends go up to the lowest common ancestor, without reading children. */
static double tree_latency(const struct nt_network *n, uint32_t a, uint32_t b)
{
    double sum = 0;
    while (a != b) {
        bool a_climbs = n->depth[a] >= n->depth[b];
        uint32_t up = a_climbs ? n->up[a] : n->up[b];
        if (up == UINT32_MAX)
            return NAN;
        sum += n->arc[a_climbs ? up : up ^ 1].latency_us;
        *(a_climbs ? &a : &b) = n->arc[up].to;
    }
    return sum;
}

static double route_latency(const struct nt_network *n, uint32_t a, uint32_t b)
{
    struct nt_walk walk;
    uint32_t arc;
    double sum = 0;
    if (n->routing == NT_ROUTING_TREE)
        return tree_latency(n, a, b);
    for (nt_walk_begin(n, a, b, &walk); nt_walk_next(&walk, &arc);)
        sum += n->arc[arc].latency_us;
    return nt_walk_arrived(&walk) ? sum : (double)NAN;
}

/* The mean of the way and of ways by routers of other groups (Valiant's; UGAL: Kim et al. 2008),
 * which are those of some hosts; the same both ways. */
static double adaptive_latency(const struct nt_network *n, uint32_t a, uint32_t b)
{
    enum { DETOURS = 8 };
    size_t each = n->hosts / n->spec.dimension[0];
    double straight = route_latency(n, a, b), sum = 0;
    size_t ways = 0;
    if (a / each == b / each || n->spec.dimension[0] < 3)
        return straight;
    for (size_t k = 0; k < DETOURS; k++) {
        uint32_t by = (uint32_t)((a + (uint64_t)b + 1 + k * (n->hosts / DETOURS + 1)) % n->hosts);
        if (by / each == a / each || by / each == b / each)
            continue;
        sum += route_latency(n, a, by) + route_latency(n, by, b) -
               2 * n->arc[n->out[n->first[by]]].latency_us;
        ways++;
    }
    return ways == 0 ? straight : (straight + sum / (double)ways) / 2;
}

double nt_network_latency(const struct nt_network *network, uint32_t a, uint32_t b)
{
    double us = network->adaptive ? adaptive_latency(network, a, b) : route_latency(network, a, b);
    return us + network->overhead_us[a] + network->overhead_us[b];
}
