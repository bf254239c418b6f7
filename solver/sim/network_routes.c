/* SPDX-License-Identifier: Apache-2.0 */
#include "network_routes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "memory.h"

/* One direction of a pair. */
struct way {
    size_t n;
    uint32_t link[NT_ROUTE_LINKS_MAX];
};

/* 1; 0: no path; -1: too long. */
static int walk_route(const struct nt_network *net, uint32_t from, uint32_t to, struct way *way)
{
    struct nt_walk w;
    uint32_t arc;
    way->n = 0;
    if (net->overhead_us[from] > 0)
        way->link[way->n++] = (uint32_t)net->model->links + from;
    for (nt_walk_begin(net, from, to, &w); nt_walk_next(&w, &arc);) {
        if (way->n + 1 >= NT_ROUTE_LINKS_MAX)
            return -1;
        way->link[way->n++] = arc / 2;
    }
    if (!nt_walk_arrived(&w))
        return 0;
    if (net->overhead_us[to] > 0)
        way->link[way->n++] = (uint32_t)net->model->links + to;
    return 1;
}

static bool same_links(const struct way *there, const struct way *back)
{
    if (there->n != back->n)
        return false;
    for (size_t k = 0; k < there->n; k++)
        if (there->link[k] != back->link[back->n - 1 - k])
            return false;
    return true;
}

static int add_pair(struct nt_routes_builder *b, const struct nt_network *net, uint32_t from,
                    uint32_t to, struct way way[2], struct nt_err *err)
{
    int there = walk_route(net, from, to, &way[0]), back = walk_route(net, to, from, &way[1]);
    if (there < 0 || back < 0)
        return nt_err_set(err, NT_ERR_INPUT, "over %d links between two hosts",
                          (int)NT_ROUTE_LINKS_MAX);
    if (there == 0 || back == 0 || way[0].n == 0)
        return 0;
    if (nt_routes_builder_add(b, from, to, way[0].link, way[0].n, err) != 0)
        return -1;
    if (same_links(&way[0], &way[1]))
        return 0;
    return nt_routes_builder_add(b, to, from, way[1].link, way[1].n, err);
}

int nt_network_routes(const struct nt_network *net, struct nt_routes **out, struct nt_err *err)
{
    struct nt_routes_builder *b;
    struct nt_routes *routes = NULL;
    if (net->hosts > NT_NETWORK_ROUTES_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "routes of %zu hosts: at most %d", net->hosts,
                          (int)NT_NETWORK_ROUTES_HOSTS_MAX);
    NT_SCOPED struct nt_arena memory = {0};
    struct way *way = nt_arena_array(&memory, 2, sizeof *way);
    if (nt_arena_check(&memory, err) != 0 || nt_routes_builder_create(&b, err) != 0)
        return -1;
    int rc = 0;
    for (uint32_t from = 0; from < net->hosts && rc == 0; from++)
        for (uint32_t to = from + 1; to < net->hosts && rc == 0; to++)
            rc = add_pair(b, net, from, to, way, err);
    if (rc == 0)
        rc = nt_routes_builder_finish(b, net->hosts, net->model->links + net->hosts, &routes, err);
    nt_routes_builder_destroy(b);
    if (rc == 0 && routes->pairs == 0) {
        nt_routes_destroy(routes);
        return nt_err_set(err, NT_ERR_INPUT, "no two hosts are joined, so there are no routes");
    }
    if (rc == 0)
        *out = routes;
    return rc;
}

int nt_network_measured(const struct nt_network *network, const struct nt_measure_noise *noise,
                        const struct nt_routes *routes, struct nt_measured **out,
                        struct nt_err *err)
{
    struct nt_measured *m = calloc(1, sizeof *m);
    if (m != NULL) {
        m->pair = malloc((routes->pairs + 1) * sizeof *m->pair);
        m->latency_us = malloc((routes->pairs + 1) * sizeof *m->latency_us);
    }
    if (m == NULL || m->pair == NULL || m->latency_us == NULL) {
        nt_measured_destroy(m);
        return nt_err_memory(err);
    }
    for (size_t p = 0; p < routes->pairs; p++) {
        uint32_t a = routes->host[p][0], b = routes->host[p][1];
        double us = (nt_measure_latency(network, noise, a, b, 0) +
                     nt_measure_latency(network, noise, b, a, 0)) /
                    2;
        if (isnan(us))
            continue;
        m->pair[m->count] = (uint32_t)p;
        m->latency_us[m->count++] = us;
    }
    *out = m;
    return 0;
}
