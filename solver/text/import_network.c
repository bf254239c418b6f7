/* SPDX-License-Identifier: Apache-2.0 */
#include "import_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "import.h"
#include "matrix.h"
#include "memory.h"

void import_network_fini(struct import_network *n)
{
    nt_names_fini(&n->host);
    nt_names_fini(&n->switches);
    nt_arena_fini(&n->memory);
    *n = (struct import_network){0};
}

int import_network_add_cable(struct import_network *n, uint32_t a, uint32_t b, double rate_MBps,
                             struct nt_err *err)
{
    if (n->cables == IMPORT_CABLES_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d links", (int)IMPORT_CABLES_MAX);
    n->cable = nt_arena_grow(&n->memory, n->cable, &n->capacity, n->cables + 1, sizeof *n->cable);
    if (nt_arena_check(&n->memory, err) != 0)
        return -1;
    n->cable[n->cables++] =
        a < b ? (struct import_cable){a, b, rate_MBps} : (struct import_cable){b, a, rate_MBps};
    return 0;
}

static int compare_cables(const void *a, const void *b)
{
    const struct import_cable *x = a, *y = b;
    return NT_ORDER(x->a, y->a, NT_ORDER(x->b, y->b, 0));
}

static size_t merge_parallel(struct import_cable *cable, size_t cables)
{
    size_t links = 0;
    if (cables > 0)
        qsort(cable, cables, sizeof *cable, compare_cables);
    for (size_t k = 0; k < cables; k++) {
        if (links > 0 && compare_cables(&cable[k], &cable[links - 1]) == 0)
            cable[links - 1].rate_MBps += cable[k].rate_MBps;
        else
            cable[links++] = cable[k];
    }
    return links;
}

int import_network_add_host_below(struct import_network *n, uint32_t parent, const char *name,
                                  struct nt_err *err)
{
    uint32_t host;
    if (nt_names_add_copy(&n->host, name, strlen(name), &host, err) < 0)
        return -1;
    if (host >= NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d hosts", (int)NT_HOSTS_MAX);
    return import_network_add_cable(n, host, parent | IMPORT_SWITCH, NAN, err);
}

int import_network_add_switch_below(struct import_network *n, uint32_t parent, const char *name,
                                    uint32_t index, struct nt_err *err)
{
    if (index == parent)
        return nt_err_set(err, NT_ERR_INPUT, "%s is its own child", name);
    size_t most = n->above_count > index + 1 ? n->above_count : index + 1;
    n->above = nt_arena_grow(&n->memory, n->above, &n->above_room, most, sizeof *n->above);
    if (nt_arena_check(&n->memory, err) != 0)
        return -1;
    for (; n->above_count < most; n->above_count++)
        n->above[n->above_count] = 0;
    n->above[index] = parent + 1;
    return import_network_add_cable(n, index | IMPORT_SWITCH, parent | IMPORT_SWITCH, NAN, err);
}

static uint32_t vertex_of(const struct import_network *n, uint32_t end)
{
    return end & IMPORT_SWITCH ? (uint32_t)(n->host.count + (end & ~IMPORT_SWITCH)) : end;
}

/* Computes the distance to the nearest host by breadth-first search; UINT32_MAX: no path. */
static void measure_depth(const struct nt_model *m, const struct nt_graph *g, uint32_t *depth,
                          uint32_t *queue)
{
    size_t head = 0, tail = 0;
    for (size_t v = 0; v < m->hosts + m->switches; v++) {
        depth[v] = v < m->hosts ? 0 : UINT32_MAX;
        if (v < m->hosts)
            queue[tail++] = (uint32_t)v;
    }
    for (; head < tail; head++) {
        uint32_t v = queue[head];
        for (uint32_t k = g->start[v]; k < g->start[v + 1]; k++) {
            uint32_t u = g->to[k];
            if (depth[u] == UINT32_MAX) {
                depth[u] = depth[v] + 1;
                queue[tail++] = u;
            }
        }
    }
}

/* Raises tiers by the parents, because distances do not show the tier of a switch with both hosts
 * and switches. Takes as many iterations as there are tiers; in a cycle no switch is below
 * another. */
static void raise_parents(const struct import_network *n, const struct nt_model *m, uint32_t *depth)
{
    size_t hosts = m->hosts;
    bool still = n->above_count == 0;
    for (size_t s = 0; !still && s < m->switches; s++)
        depth[hosts + s] = depth[hosts + s] == UINT32_MAX ? UINT32_MAX : 1;
    for (size_t turn = 0; !still && turn <= m->switches; turn++) {
        still = true;
        for (size_t s = 0; s < n->above_count; s++) {
            if (n->above[s] == 0 || depth[hosts + s] == UINT32_MAX)
                continue;
            uint32_t *up = &depth[hosts + n->above[s] - 1];
            still &= *up > depth[hosts + s];
            if (*up <= depth[hosts + s])
                *up = depth[hosts + s] + 1;
        }
    }
}

/* Sets tiers. Switches without a path to a host keep tier 1. The lower end of a link comes
 * first. */
static void set_tiers(struct nt_model *m, const uint32_t *depth)
{
    m->tiers = m->switches > 0 ? 1 : 0;
    for (size_t s = 0; s < m->switches; s++) {
        uint32_t d = depth[m->hosts + s];
        m->tier[s] = d == UINT32_MAX ? 1 : d;
        m->tiers = m->tier[s] > m->tiers ? m->tier[s] : m->tiers;
    }
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *link = &m->link[k];
        if (depth[link->a] > depth[link->b]) {
            uint32_t a = link->a;
            link->a = link->b;
            link->b = a;
        }
    }
}

static int find_tiers(const struct import_network *n, struct nt_model *m, struct nt_err *err)
{
    size_t vertices = m->hosts + m->switches;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_graph graph;
    uint32_t *depth = nt_arena_array(&memory, vertices, sizeof *depth);
    uint32_t *queue = nt_arena_array(&memory, vertices, sizeof *queue);
    if (nt_graph_init(&graph, m, &memory, err) != 0)
        return -1;
    measure_depth(m, &graph, depth, queue);
    raise_parents(n, m, depth);
    set_tiers(m, depth);
    return 0;
}

void import_network_mark_missing(struct nt_model *m)
{
    for (size_t h = 0; h < m->hosts; h++)
        m->missing[h] = true;
    for (size_t k = 0; k < m->links; k++) {
        if (m->link[k].a < m->hosts)
            m->missing[m->link[k].a] = false;
        if (m->link[k].b < m->hosts)
            m->missing[m->link[k].b] = false;
    }
}

static int make_model(const struct import_network *n, size_t links, struct nt_model **out,
                      struct nt_err *err)
{
    size_t hosts = n->host.count, switches = n->switches.count;
    struct nt_model *m;
    if (nt_model_create(hosts, switches, links, &m, err) != 0)
        return -1;
    for (size_t k = 0; k < links; k++) {
        m->link[k].a = vertex_of(n, n->cable[k].a);
        m->link[k].b = vertex_of(n, n->cable[k].b);
        m->link[k].bandwidth_MBps = m->link[k].bandwidth_back_MBps = n->cable[k].rate_MBps;
    }
    import_network_mark_missing(m);
    if (find_tiers(n, m, err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    m->family = NT_FAMILY_UNDETERMINED;
    m->confidence = NAN;
    *out = m;
    return 0;
}

static int name_switches(struct nt_map *map, const struct nt_names *names, struct nt_err *err)
{
    for (size_t s = 0; s < names->count; s++)
        if (nt_map_set_text(&map->switch_name[s], names->name[s], err) != 0)
            return -1;
    return 0;
}

int import_network_map(struct import_network *n, struct nt_map **out, struct nt_err *err)
{
    struct nt_model *model = NULL;
    struct nt_map *map = NULL;
    if (make_model(n, merge_parallel(n->cable, n->cables), &model, err) != 0)
        return -1;
    if (nt_map_create(model, n->host.name, &map, err) != 0) {
        nt_model_destroy(model);
        return -1;
    }
    if (name_switches(map, &n->switches, err) != 0 || nt_map_sort(map, err) != 0) {
        nt_map_destroy(map);
        return -1;
    }
    *out = map;
    return 0;
}

void nt_import_assume_latency(struct nt_map *map, double host_link_us, double switch_link_us)
{
    struct nt_model *m = map->model;
    for (size_t k = 0; k < m->links; k++) {
        bool at_host = m->link[k].a < m->hosts || m->link[k].b < m->hosts;
        if (isnan(m->link[k].latency_us))
            m->link[k].latency_us = at_host ? host_link_us : switch_link_us;
    }
}
