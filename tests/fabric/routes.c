/* SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"

#include <stdbool.h>

/* Hops from every node to the port, -1 where there is no way. No way leads through a host: each of
 * its ports has one link only. */
static void count_hops(const struct nt_fab *fab, int port, int hops[NT_FAB_NODES_MAX])
{
    int queue[NT_FAB_NODES_MAX], head = 0, tail = 0;
    for (int n = 0; n < fab->node_count; n++)
        hops[n] = -1;
    hops[fab->ports[port].node] = 0;
    queue[tail++] = fab->ports[port].node;
    while (head < tail) {
        int node = queue[head++];
        for (int l = 0; l < fab->link_count; l++) {
            int from = fab->links[l].from;
            if (fab->links[l].to == node && hops[from] < 0) {
                hops[from] = hops[node] + 1;
                queue[tail++] = from;
            }
        }
    }
}

static bool is_step(const struct nt_fab *fab, int link, int node, const int *hops)
{
    return fab->links[link].from == node && hops[fab->links[link].to] == hops[node] - 1;
}

static int choose_link(const struct nt_fab *fab, int node, int port, const int *hops)
{
    int choices = 0;
    for (int l = 0; l < fab->link_count; l++)
        choices += is_step(fab, l, node, hops);
    if (choices == 0)
        return -1;
    int want = port % choices;
    for (int l = 0; l < fab->link_count; l++)
        if (is_step(fab, l, node, hops) && want-- == 0)
            return l;
    return -1;
}

int nt_fab_routes_find(const char *file, const struct nt_fab *fab, struct nt_fab_routes *routes,
                       struct nt_err *err)
{
    for (int port = 0; port < fab->port_count; port++) {
        int hops[NT_FAB_NODES_MAX];
        count_hops(fab, port, hops);
        for (int other = 0; other < fab->port_count; other++)
            if (fab->ports[other].rail == fab->ports[port].rail && hops[fab->ports[other].node] < 0)
                return nt_err_set(err, NT_ERR_INPUT, "%s: rail %d: no way from %s to %s", file,
                                  fab->ports[port].rail, fab->nodes[fab->ports[other].node].name,
                                  fab->nodes[fab->ports[port].node].name);
        for (int node = 0; node < fab->node_count; node++)
            routes->next[node][port] =
                (int16_t)(hops[node] > 0 ? choose_link(fab, node, port, hops) : -1);
    }
    return 0;
}

int64_t nt_fab_link_pass(const struct nt_fab_link *link, int64_t *free_ns, int64_t at_ns,
                         uint32_t bytes)
{
    int64_t start = *free_ns > at_ns ? *free_ns : at_ns;
    *free_ns = start + (int64_t)((double)bytes * 8e3 / link->rate_mbit + 0.5);
    return *free_ns + link->latency_ns;
}

int64_t nt_fab_path_ns(const struct nt_fab *fab, const struct nt_fab_routes *routes, int from_port,
                       int to_port, uint32_t bytes)
{
    int64_t at = 0;
    int node = fab->ports[from_port].node;
    for (int l = routes->next[node][to_port]; l >= 0; l = routes->next[node][to_port]) {
        int64_t idle = 0;
        at = nt_fab_link_pass(&fab->links[l], &idle, at, bytes);
        node = fab->links[l].to;
    }
    return at;
}
