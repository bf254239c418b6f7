/* SPDX-License-Identifier: Apache-2.0 */
/* Static routes: one path a pair, by rules that a router of the family would use. */
#include "paths.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { TABLE_MAX_BYTES = 512 << 20 };

static size_t int_power(size_t base, size_t exponent)
{
    size_t p = 1;
    while (exponent-- > 0)
        p *= base;
    return p;
}

/* ---- fat tree ---------------------------------------------------------------------------- */

size_t nt_fattree_switch(const struct nt_spec *spec, size_t level, size_t k)
{
    size_t half = spec->dimension[0] / 2, levels = spec->dimension[1];
    return levels == 1 ? 0 : (level - 1) * 2 * int_power(half, levels - 1) + k;
}

/* From a switch towards host. Down where the digits that this level can no longer change are
 * host's; else up, by the digit of host that belongs to the level (Zahavi 2010: d-mod-k). */
static size_t fattree_next(const struct nt_spec *spec, size_t at, size_t host)
{
    size_t half = spec->dimension[0] / 2, levels = spec->dimension[1];
    if (levels == 1)
        return host;
    size_t words = int_power(half, levels - 2), each = 2 * half * words;
    size_t level = at / each + 1, k = at % each;
    size_t leaf = host / half, pod = leaf / words, word = leaf % words;
    if (level == levels)
        return spec->hosts + nt_fattree_switch(spec, level - 1, pod * words + k / half);
    size_t digit =
        int_power(half, level - 1); /* the one that changes between this level and the next */
    if (k / words == pod && k % words / digit == word / digit) {
        if (level == 1)
            return host;
        size_t below = digit / half, w = k % words;
        w = w - w / below % half * below + word / below % half * below;
        return spec->hosts + nt_fattree_switch(spec, level - 1, pod * words + w);
    }
    size_t up = host / digit % half;
    if (level == levels - 1)
        return spec->hosts + nt_fattree_switch(spec, levels, k % words * half + up);
    return spec->hosts +
           nt_fattree_switch(spec, level + 1, k - k / digit % half * digit + up * digit);
}

/* ---- dragonfly --------------------------------------------------------------------------- */

/* Switches of a group, those of them with links to other groups, and the first of these. */
struct group_shape {
    size_t switches, gates, first_gate;
};

static struct group_shape shape_of(const struct nt_spec *spec)
{
    const uint32_t *d = spec->dimension;
    switch (spec->topology) {
    case NT_TOPOLOGY_ARIES:
        return (struct group_shape){(size_t)d[1] * d[2], (size_t)d[1] * d[2], 0};
    case NT_TOPOLOGY_DRAGONFLY_PLUS:
        return (struct group_shape){(size_t)d[1] + d[2], d[2], d[1]};
    default:
        return (struct group_shape){d[1], d[1], 0};
    }
}

size_t nt_dragonfly_gate(const struct nt_spec *spec, size_t group, size_t other)
{
    size_t groups = spec->dimension[0];
    struct group_shape g = shape_of(spec);
    size_t port = (other + groups - group - 1) % groups; /* 0..groups-2 */
    return group * g.switches + g.first_gate + port % g.gates;
}

/* Towards another switch of the same group: along the row, then the column; or over a spine, which
 * the destination decides. */
static size_t local_next(const struct nt_spec *spec, size_t at, size_t goal, size_t host)
{
    const uint32_t *d = spec->dimension;
    struct group_shape g = shape_of(spec);
    size_t first = at - at % g.switches, x = at - first, y = goal - first;
    if (spec->topology == NT_TOPOLOGY_ARIES && x % d[2] != y % d[2])
        return first + x - x % d[2] + y % d[2];
    if (spec->topology == NT_TOPOLOGY_DRAGONFLY_PLUS && x < d[1] && y < d[1])
        return first + d[1] + host % d[2];
    return goal;
}

/* Cray's Aries (Faanes et al., SC 2012), dragonfly+ (Shpiner et al., HiPINEB 2017): minimal. */
static size_t groups_next(const struct nt_spec *spec, size_t at, size_t host)
{
    struct group_shape g = shape_of(spec);
    size_t each = spec->topology == NT_TOPOLOGY_ARIES ? g.switches : g.first_gate;
    size_t leaf = host / spec->dimension[3];
    size_t goal_group = leaf / each, goal = goal_group * g.switches + leaf % each;
    size_t group = at / g.switches;
    if (at == goal)
        return host;
    if (group == goal_group)
        return spec->hosts + local_next(spec, at, goal, host);
    size_t gate = nt_dragonfly_gate(spec, group, goal_group);
    return spec->hosts + (at == gate ? nt_dragonfly_gate(spec, goal_group, group)
                                     : local_next(spec, at, gate, host));
}

/* Kim, Dally, Scott, Abts (2008): minimal, at most one local hop on either side. */
static size_t dragonfly_next(const struct nt_spec *spec, size_t at, size_t host)
{
    size_t routers = spec->dimension[1], goal = host / spec->dimension[2];
    size_t group = at / routers, goal_group = goal / routers;
    if (at == goal)
        return host;
    if (group == goal_group)
        return spec->hosts + goal;
    size_t gate = nt_dragonfly_gate(spec, group, goal_group);
    return spec->hosts + (at == gate ? nt_dragonfly_gate(spec, goal_group, group) : gate);
}

/* ---- grids: a record of signed hops, made at the source ----------------------------------- */

/* The ways from x to y around a ring of d, or along a line: shortest first choice, and whether
 * the other way round is as short. */
static int32_t ring_hops(const struct nt_spec *spec, uint32_t d, int32_t difference, bool *tie)
{
    int32_t size = (int32_t)d;
    *tie = false;
    if (spec->topology == NT_TOPOLOGY_MESH || d <= 2)
        return difference;
    int32_t hops = ((difference % size) + size) % size;
    *tie = 2 * hops == size;
    return 2 * hops > size ? hops - size : hops;
}

/* Equally short ways are taken in turn by place, so that the pairs of a whole exchange load both
 * alike: what a router that draws lots does on average. */
static void grid_record(const struct nt_spec *spec, uint32_t from, uint32_t to, int32_t *rest)
{
    uint32_t parity = 0, stride = 1;
    bool tie[NT_DIMENSIONS_MAX];
    for (uint32_t k = 0; k < spec->dimensions; stride *= spec->dimension[k++]) {
        uint32_t d = spec->dimension[k], x = from / stride % d, y = to / stride % d;
        parity += x + y;
        rest[k] = ring_hops(spec, d, (int32_t)y - (int32_t)x, &tie[k]);
    }
    stride = 1;
    for (uint32_t k = 0; k < spec->dimensions; stride *= spec->dimension[k++])
        if (tie[k] && (parity - to / stride % spec->dimension[k]) % 2 != 0)
            rest[k] = -rest[k];
}

/* Twisted torus (Camara et al. 2007): going around dimension 1 w times shifts dimension 0 by
 * w * twist; the shortest of the ways with w = -1, 0, 1, equals taken in turn. */
static void twisted_record(const struct nt_spec *spec, uint32_t from, uint32_t to, int32_t *rest)
{
    int32_t a = (int32_t)spec->dimension[0], b = (int32_t)spec->dimension[1];
    int32_t dx = (int32_t)to % a - (int32_t)from % a, dy = (int32_t)to / a - (int32_t)from / a;
    int32_t way[6][2], best = INT32_MAX;
    size_t ways = 0;
    for (int32_t w = -1; w <= 1; w++) {
        bool tie;
        int32_t y = dy + w * b;
        int32_t x = ring_hops(spec, (uint32_t)a, dx - w * (int32_t)spec->twist, &tie);
        for (int side = 0, sides = tie ? 2 : 1; side < sides; side++, x = -x) {
            int32_t hops = abs(x) + abs(y);
            if (hops < best)
                ways = 0;
            if (hops <= best) {
                best = hops;
                way[ways][0] = x;
                way[ways++][1] = y;
            }
        }
    }
    size_t turn = from % (uint32_t)a + 2 * (from / (uint32_t)a);
    memcpy(rest, way[turn % ways], sizeof way[0]);
}

/* One hop of the record in the preferred dimension, or the lowest that has any left. */
static uint32_t grid_next(const struct nt_spec *spec, uint32_t at, int32_t *rest, uint32_t prefer)
{
    uint32_t stride = 1, k = 0;
    bool here = rest[prefer] != 0;
    while (here ? k < prefer : rest[k] == 0)
        stride *= spec->dimension[k++];
    uint32_t d = spec->dimension[k], x = at / stride % d;
    bool forth = rest[k] > 0, wraps = forth ? x == d - 1 : x == 0;
    rest[k] += forth ? -1 : 1;
    if (!wraps)
        return forth ? at + stride : at - stride;
    uint32_t to = forth ? at - x * stride : at + (d - 1) * stride;
    if (k == 1 && spec->twist > 0) {
        uint32_t a = spec->dimension[0];
        to = to - to % a + (to + (forth ? spec->twist : a - spec->twist)) % a;
    }
    return to;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* Hops to host from everywhere, breadth first. */
static void spread_hops(const struct nt_network *n, uint32_t host, uint32_t *hops, uint32_t *queue)
{
    size_t head = 0, tail = 0;
    memset(hops, 0xff, (n->hosts + n->switches) * sizeof *hops);
    hops[host] = 0;
    queue[tail++] = host;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t k = n->first[v]; k < n->first[v + 1]; k++) {
            uint32_t w = n->arc[n->out[k]].to;
            if (hops[w] == UINT32_MAX) {
                hops[w] = hops[v] + 1;
                queue[tail++] = w;
            }
        }
    }
}

/* Of the arcs that come nearer, the next one in turn. */
static uint32_t nearer_neighbour(const struct nt_network *n, uint32_t v, uint32_t host,
                                 const uint32_t *hops)
{
    uint32_t count = 0, pick;
    for (uint32_t k = n->first[v]; k < n->first[v + 1]; k++)
        count += hops[n->arc[n->out[k]].to] == hops[v] - 1;
    if (hops[v] == 0 || hops[v] == UINT32_MAX || count == 0)
        return UINT32_MAX;
    pick = (host + v) % count;
    for (uint32_t k = n->first[v]; k < n->first[v + 1]; k++)
        if (hops[n->arc[n->out[k]].to] == hops[v] - 1 && pick-- == 0)
            return n->out[k];
    return UINT32_MAX;
}

int nt_routes_tabulate(struct nt_network *n, struct nt_err *err)
{
    size_t v = n->hosts + n->switches;
    if (v > TABLE_MAX_BYTES / sizeof *n->table / (n->hosts + 1))
        return nt_err_set(err, NT_ERR_INPUT,
                          "%zu hosts and %zu switches with cycles: a table of their routes would "
                          "be over %d MB",
                          n->hosts, n->switches, TABLE_MAX_BYTES >> 20);
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *hops = nt_arena_array(&memory, v, sizeof *hops);
    uint32_t *queue = nt_arena_array(&memory, v, sizeof *queue);
    n->table = nt_arena_array(&n->memory, v * n->hosts, sizeof *n->table);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&n->memory, err) != 0)
        return -1;
    for (uint32_t host = 0; host < n->hosts; host++) {
        spread_hops(n, host, hops, queue);
        for (uint32_t at = 0; at < v; at++)
            n->table[at * n->hosts + host] = nearer_neighbour(n, at, host, hops);
    }
    return 0;
}

/* ---- the walk ----------------------------------------------------------------------------- */

/* The arc to a neighbour; out is sorted by destination. */
static uint32_t arc_between(const struct nt_network *n, uint32_t from, uint32_t to)
{
    uint32_t low = n->first[from], high = n->first[from + 1];
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (n->arc[n->out[mid]].to < to)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n->first[from + 1] && n->arc[n->out[low]].to == to ? n->out[low] : UINT32_MAX;
}

/* Down into the child that has the goal below it, or up. Children stand in out in the order of the
 * depth-first walk, the way up behind them. */
static uint32_t tree_arc(const struct nt_network *n, uint32_t at, uint32_t to)
{
    if (n->enter[to] < n->enter[at] || n->enter[to] >= n->leave[at])
        return n->up[at];
    uint32_t low = n->first[at], high = n->first[at + 1] - (n->up[at] != UINT32_MAX);
    while (high - low > 1) { /* the last child that begins at or before the goal */
        uint32_t mid = low + (high - low) / 2;
        if (n->enter[n->arc[n->out[mid]].to] <= n->enter[to])
            low = mid;
        else
            high = mid;
    }
    return n->out[low];
}

void nt_walk_begin(const struct nt_network *network, uint32_t from, uint32_t to,
                   struct nt_walk *walk)
{
    *walk = (struct nt_walk){.network = network, .at = from, .to = to};
    if (network->routing != NT_ROUTING_GRID)
        return;
    if (network->spec.topology == NT_TOPOLOGY_TWISTED_TORUS)
        twisted_record(&network->spec, from, to, walk->rest);
    else
        grid_record(&network->spec, from, to, walk->rest);
}

static uint32_t next_arc(struct nt_walk *walk)
{
    const struct nt_network *n = walk->network;
    const struct nt_spec *spec = &n->spec;
    uint32_t at = walk->at, to = walk->to;
    size_t next = to;
    switch (n->routing) {
    case NT_ROUTING_TREE:
        return tree_arc(n, at, to);
    case NT_ROUTING_TABLE:
        return n->table[at * n->hosts + to];
    case NT_ROUTING_GRID:
        next = grid_next(spec, at, walk->rest, walk->prefer);
        break;
    case NT_ROUTING_CUBE:
        next = at ^ ((at ^ to) & (~(at ^ to) + 1));
        break;
    case NT_ROUTING_FULL_MESH:
        break;
    case NT_ROUTING_FATTREE:
    case NT_ROUTING_DRAGONFLY:
    case NT_ROUTING_GROUPS:
        if (at < n->hosts)
            return n->out[n->first[at]];
        next = n->routing == NT_ROUTING_FATTREE     ? fattree_next(spec, at - n->hosts, to)
               : n->routing == NT_ROUTING_DRAGONFLY ? dragonfly_next(spec, at - n->hosts, to)
                                                    : groups_next(spec, at - n->hosts, to);
        break;
    }
    return arc_between(n, at, (uint32_t)next);
}

bool nt_walk_next(struct nt_walk *walk, uint32_t *arc)
{
    if (walk->at == walk->to)
        return false;
    uint32_t a = next_arc(walk);
    if (a == UINT32_MAX)
        return false;
    walk->at = walk->network->arc[a].to;
    *arc = a;
    return true;
}
