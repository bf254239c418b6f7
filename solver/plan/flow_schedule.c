/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* ---- the sheet ---- */

void nt_flow_schedule_fini(struct nt_flow_schedule *d)
{
    nt_arena_fini(&d->memory);
    *d = (struct nt_flow_schedule){0};
}

int nt_flow_schedule_init(struct nt_flow_schedule *d, const struct nt_rooted_tree *rooted,
                          double max_load, struct nt_err *err)
{
    size_t n = rooted->hosts + 1, v = rooted->vertices + 1;
    *d = (struct nt_flow_schedule){.rooted = rooted, .max_load = max_load};
    d->missing = nt_arena_array(&d->memory, n, sizeof *d->missing);
    d->quality = nt_arena_array(&d->memory, v, sizeof *d->quality);
    d->pair = nt_arena_array(&d->memory, n, sizeof *d->pair);
    d->busy = nt_arena_array(&d->memory, n, sizeof *d->busy);
    d->closed = nt_arena_array(&d->memory, v, sizeof *d->closed);
    d->receivers = nt_arena_array(&d->memory, v, sizeof *d->receivers);
    d->load = nt_arena_array(&d->memory, v, sizeof *d->load);
    d->list = nt_arena_array(&d->memory, v, sizeof *d->list);
    d->list2 = nt_arena_array(&d->memory, v, sizeof *d->list2);
    if (nt_arena_check(&d->memory, err) != 0) {
        nt_flow_schedule_fini(d);
        return -1;
    }
    for (size_t k = 0; k < v; k++)
        d->quality[k] = 1;
    return 0;
}

void nt_flow_schedule_clear(struct nt_flow_schedule *d)
{
    const struct nt_rooted_tree *h = d->rooted;
    d->pairs = 0;
    memset(d->busy, 0, h->hosts * sizeof *d->busy);
    memset(d->closed, 0, h->vertices * sizeof *d->closed);
    memset(d->receivers, 0, h->vertices * sizeof *d->receivers);
    memset(d->load, 0, h->vertices * sizeof *d->load);
    for (size_t k = h->tree ? h->reached : 0; k-- > 0;) {
        uint32_t v = h->order[k];
        if (v < h->hosts)
            d->receivers[v] = !d->missing[v];
        if (k > 0)
            d->receivers[h->parent[v]] += d->receivers[v];
    }
}

void nt_flow_schedule_swap(struct nt_flow_schedule *d)
{
    for (size_t k = 0; k < d->pairs; k++) {
        uint32_t from = d->pair[k][0];
        d->pair[k][0] = d->pair[k][1];
        d->pair[k][1] = from;
    }
}

bool nt_flow_schedule_add(struct nt_flow_schedule *d, uint32_t from, uint32_t to)
{
    if (from == to || d->missing[from] || d->missing[to] || d->busy[from] || d->busy[to])
        return false;
    d->busy[from] = d->busy[to] = true;
    d->pair[d->pairs][0] = from;
    d->pair[d->pairs++][1] = to;
    return true;
}

void nt_flow_schedule_undo(struct nt_flow_schedule *d, size_t first)
{
    for (; d->pairs > first; d->pairs--)
        d->busy[d->pair[d->pairs - 1][0]] = d->busy[d->pair[d->pairs - 1][1]] = false;
}

/* ---- neighbours ---- */

/* The hosts at a switch that take part; in list. */
static size_t own_hosts(struct nt_flow_schedule *d, uint32_t v)
{
    const struct nt_rooted_tree *h = d->rooted;
    size_t n = 0;
    for (uint32_t i = h->graph.start[v]; i < h->graph.start[v + 1]; i++) {
        uint32_t w = h->graph.to[i];
        if (w < h->hosts && !d->missing[w])
            d->list[n++] = w;
    }
    return n;
}

void nt_flow_schedule_shift(struct nt_flow_schedule *d, int parity, size_t most)
{
    const struct nt_rooted_tree *h = d->rooted;
    for (uint32_t v = (uint32_t)h->hosts; v < h->vertices; v++) {
        size_t n = own_hosts(d, v), joined = 0;
        if (n < 2 || (parity > 0 && n < 3) || (parity == 2 && n != 3))
            continue;
        for (size_t k = (size_t)parity; k < n && joined < most; k += 2)
            if (k + 1 < n || parity == 2 || (parity == 1 && n % 2 == 0))
                joined += nt_flow_schedule_add(d, d->list[k], d->list[(k + 1) % n]);
    }
}

/* ---- between switches of a network with cycles ---- */

/* Share of the hosts there that may send over one link. */
static size_t bounded_load(const struct nt_flow_schedule *d, size_t flows)
{
    size_t most = (size_t)((double)flows * d->max_load);
    return flows > 0 && most == 0 ? 1 : most;
}

/* The first free host at a switch; NT_NO_VERTEX. */
static uint32_t free_host(const struct nt_flow_schedule *d, uint32_t at)
{
    const struct nt_rooted_tree *h = d->rooted;
    for (uint32_t i = h->graph.start[at]; i < h->graph.start[at + 1]; i++) {
        uint32_t w = h->graph.to[i];
        if (w < h->hosts && !d->missing[w] && !d->busy[w])
            return w;
    }
    return NT_NO_VERTEX;
}

static size_t join_switches(struct nt_flow_schedule *d, uint32_t from, uint32_t to, size_t most)
{
    size_t joined = 0;
    for (uint32_t a, b; joined < most; joined++) {
        a = free_host(d, from);
        b = free_host(d, to);
        if (a == NT_NO_VERTEX || b == NT_NO_VERTEX || !nt_flow_schedule_add(d, a, b))
            break;
    }
    return joined;
}

size_t nt_flow_schedule_between(struct nt_flow_schedule *d, uint32_t from, uint32_t to)
{
    size_t a = own_hosts(d, from), b = own_hosts(d, to);
    return join_switches(d, from, to, bounded_load(d, a < b ? a : b));
}

/* The neighbours of a switch but one, then itself; in list. */
static size_t list_around(const struct nt_rooted_tree *h, uint32_t at, uint32_t but, uint32_t *list)
{
    size_t n = 0;
    for (uint32_t i = h->graph.start[at]; i < h->graph.start[at + 1]; i++)
        if (h->graph.to[i] >= h->hosts && h->graph.to[i] != but)
            list[n++] = h->graph.to[i];
    list[n++] = at;
    return n;
}

static bool goes_over(const uint32_t *channel, size_t n, uint32_t over)
{
    for (size_t k = 0; k < n; k++)
        if (channel[k] == over)
            return true;
    return false;
}

/* Neighbours of the sending end send first, if possible to the receiving end, so that the ends keep
 * hosts for farther partners. A sender's path to the receiving end has to come over the channel: so
 * over all channels a pair of switches is a sender and a receiving end once, and the paths to the
 * receivers of all channels take no longer than the table of paths took. */
size_t nt_flow_schedule_over(struct nt_flow_schedule *d, const struct nt_unique_paths *paths,
                             uint32_t over, uint32_t *switches, uint32_t *channel)
{
    const uint32_t *ends = d->rooted->ends[over / 2];
    uint32_t u = ends[over % 2], v = ends[1 - over % 2];
    size_t senders = list_around(d->rooted, u, v, switches), joined = 0;
    size_t receivers = list_around(d->rooted, v, u, switches + senders);
    for (size_t i = 0; i < senders; i++) {
        uint32_t s = switches[i];
        if (nt_unique_paths_last(paths, s, v) != over)
            continue;
        for (size_t j = 0; j < receivers; j++) {
            uint32_t t = switches[senders + (s == u ? j : receivers - 1 - j)];
            if (goes_over(channel, nt_unique_paths_between(paths, s, t, channel), over))
                joined += join_switches(d, s, t, bounded_load(d, own_hosts(d, s)));
        }
    }
    return joined;
}

/* ---- who sends when ---- */

void nt_fan_fini(struct nt_fan *f)
{
    nt_arena_fini(&f->memory);
    *f = (struct nt_fan){0};
}

struct group {
    uint32_t vertex, hosts;
};

static int by_size(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return NT_ORDER(y->hosts, x->hosts, NT_ORDER(x->vertex, y->vertex, 0));
}

/* A sender's uplink should carry well more than a receiver's downlink: a turn has at most a
 * third of the hosts (first fit, largest groups first), unless a group alone has more. With 0.4 a
 * slow receiver pushes the others' downlinks to the edge too. */
static const double turn_share = 0.34, tight_share = 0.45;

static void deal_groups(struct nt_fan *f, const struct nt_rooted_tree *h, uint32_t v,
                        struct group *g, uint32_t *used)
{
    size_t n = 0, all = nt_rooted_tree_count(h, v);
    for (uint32_t i = h->first[v]; i < h->first[v + 1]; i++) {
        uint32_t c = h->child[i];
        if (c >= h->hosts && nt_rooted_tree_count(h, c) > 0)
            g[n++] = (struct group){c, nt_rooted_tree_count(h, c)};
    }
    qsort(g, n, sizeof *g, by_size);
    for (size_t k = 0; k < n; k++) {
        uint32_t b = 0;
        while (b < f->bins[v] && (double)(used[b] + g[k].hosts) > turn_share * (double)all)
            b++;
        if (b == f->bins[v])
            used[f->bins[v]++] = 0;
        used[b] += g[k].hosts;
        f->bin[g[k].vertex] = b;
    }
    f->tight[v] = v != h->root && n > 0 && (double)g[0].hosts > tight_share * (double)all;
}

static void measure_heights(struct nt_fan *f, const struct nt_rooted_tree *h)
{
    for (size_t k = h->reached; k-- > 1;) {
        uint32_t v = h->order[k], p = h->parent[v];
        if (f->height[v] + 1 > f->height[p])
            f->height[p] = f->height[v] + 1;
    }
    f->highest = h->tree ? f->height[h->root] : 0;
}

/* Seats alternate along the tree, so that neighbours can receive from each other. */
static int number_tight_parents(struct nt_fan *f, const struct nt_rooted_tree *h,
                                struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *next = nt_arena_array(&memory, f->highest + 1, sizeof *next);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t v = h->order[k];
        if (f->tight[v])
            f->seat[v] = next[f->height[v]]++;
    }
    return 0;
}

int nt_fan_init(struct nt_fan *f, const struct nt_rooted_tree *h, struct nt_err *err)
{
    size_t v = h->vertices + 1;
    NT_SCOPED struct nt_arena memory = {0};
    struct group *g = nt_arena_array(&memory, v, sizeof *g);
    uint32_t *used = nt_arena_array(&memory, v, sizeof *used);
    *f = (struct nt_fan){0};
    f->bin = nt_arena_array(&f->memory, v, sizeof *f->bin);
    f->bins = nt_arena_array(&f->memory, v, sizeof *f->bins);
    f->tight = nt_arena_array(&f->memory, v, sizeof *f->tight);
    f->height = nt_arena_array(&f->memory, v, sizeof *f->height);
    f->seat = nt_arena_array(&f->memory, v, sizeof *f->seat);
    int rc = nt_arena_check(&memory, err) != 0 ? -1 : nt_arena_check(&f->memory, err);
    if (rc == 0 && h->tree) {
        measure_heights(f, h);
        for (size_t k = 0; k < h->reached; k++)
            if (f->height[h->order[k]] >= 2)
                deal_groups(f, h, h->order[k], g, used);
        rc = number_tight_parents(f, h, err);
    }
    if (rc != 0)
        nt_fan_fini(f);
    return rc;
}

/* ---- flows between groups ---- */

/* Removes one receiver below v and above it, not above closed vertices. */
static void take_vertex(struct nt_flow_schedule *d, uint32_t v)
{
    for (bool counted = true; v != NT_NO_VERTEX; v = d->rooted->parent[v]) {
        d->receivers[v] -= counted;
        d->load[v]++;
        counted = counted && !d->closed[v];
    }
}

/* A switch's own hosts come first: their paths have no link between switches that could also limit
 * the flow. */
static const double own_host = 0.1;

/* The free host below v by the least loaded way: at each switch the branch that has the fewest
 * flows for its size and quality. */
static uint32_t pick_below(const struct nt_flow_schedule *d, uint32_t v, uint32_t except)
{
    const struct nt_rooted_tree *h = d->rooted;
    while (v >= h->hosts) {
        uint32_t best = NT_NO_VERTEX;
        double least = INFINITY;
        for (uint32_t i = h->first[v]; i < h->first[v + 1]; i++) {
            uint32_t c = h->child[i];
            if (d->closed[c] || d->receivers[c] == 0 || c == except)
                continue;
            double share = (d->load[c] + 1) / (nt_rooted_tree_count(h, c) * d->quality[c]);
            share *= c < h->hosts ? own_host : 1;
            if (share < least) {
                least = share;
                best = c;
            }
        }
        if (best == NT_NO_VERTEX)
            return NT_NO_VERTEX;
        v = best;
    }
    return v;
}

/* The nearest free host outside v. */
static uint32_t pick_outside(const struct nt_flow_schedule *d, uint32_t v)
{
    for (; d->rooted->parent[v] != NT_NO_VERTEX; v = d->rooted->parent[v]) {
        uint32_t found = pick_below(d, d->rooted->parent[v], v);
        if (found != NT_NO_VERTEX)
            return found;
    }
    return NT_NO_VERTEX;
}

static size_t gcd(size_t a, size_t b)
{
    while (b != 0) {
        size_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* The k-th of the hosts below v in an order that spreads over its branches: steps of the golden
 * section, which fill an interval evenly. */
static uint32_t spread_host(const struct nt_rooted_tree *h, uint32_t v, size_t k)
{
    const double GOLDEN = 0.618;
    size_t n = nt_rooted_tree_count(h, v), step = (size_t)(GOLDEN * (double)n) + 1;
    while (gcd(step, n) != 1)
        step++;
    return h->host[h->head[v] + k * step % n];
}

static size_t allowed_flows(const struct nt_flow_schedule *d, size_t hosts)
{
    return (size_t)fmax(1, floor(d->max_load * (double)hosts + 1e-9));
}

/* Nobody below receives from outside. */
static void close_group(struct nt_flow_schedule *d, uint32_t c)
{
    d->closed[c] = true;
    for (uint32_t v = d->rooted->parent[c]; v != NT_NO_VERTEX; v = d->rooted->parent[v])
        d->receivers[v] -= d->receivers[c];
}

static void send_one(struct nt_flow_schedule *d, uint32_t parent, uint32_t from, bool outside)
{
    uint32_t to = outside ? pick_outside(d, parent) : pick_below(d, parent, NT_NO_VERTEX);
    if (to == NT_NO_VERTEX && outside)
        to = pick_below(d, parent, NT_NO_VERTEX);
    if (to == NT_NO_VERTEX || d->missing[from] || d->busy[from])
        return;
    nt_flow_schedule_add(d, from, to);
    take_vertex(d, to);
}

/* The closed groups below a parent send, one host each in turn; with outside, every other flow
 * leaves the parent. */
static void send_all(struct nt_flow_schedule *d, uint32_t parent, bool outside)
{
    const struct nt_rooted_tree *h = d->rooted;
    bool more = true;
    for (size_t k = 0; more; k++) {
        more = false;
        for (uint32_t i = h->first[parent]; i < h->first[parent + 1]; i++) {
            uint32_t c = h->child[i];
            if (!d->closed[c] || k >= allowed_flows(d, nt_rooted_tree_count(h, c)))
                continue;
            more = true;
            send_one(d, parent, spread_host(h, c, k), outside && k % 2 == 1);
        }
    }
}

static void close_turn(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t parent,
                       uint32_t turn)
{
    const struct nt_rooted_tree *h = d->rooted;
    for (uint32_t i = h->first[parent]; i < h->first[parent + 1]; i++) {
        uint32_t c = h->child[i];
        if (c >= h->hosts && nt_rooted_tree_count(h, c) > 0 && f->bin[c] == turn)
            close_group(d, c);
    }
}

void nt_flow_schedule_fan(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                          uint32_t turn)
{
    const struct nt_rooted_tree *h = d->rooted;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t v = h->order[k];
        if (f->height[v] != height || f->tight[v] || turn >= f->bins[v])
            continue;
        close_turn(d, f, v, turn);
        send_all(d, v, false);
    }
}

void nt_flow_schedule_spill(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                            uint32_t turn, uint32_t parity)
{
    const struct nt_rooted_tree *h = d->rooted;
    size_t n = 0;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t v = h->order[k];
        if (f->height[v] != height || !f->tight[v] || turn >= f->bins[v] ||
            f->seat[v] % 2 != parity)
            continue;
        close_turn(d, f, v, turn);
        d->list[n++] = v;
    }
    /* hosts below an active parent are for its own groups only: others would load its links */
    for (size_t k = 0; k < n; k++)
        close_group(d, d->list[k]);
    for (size_t k = 0; k < n; k++)
        send_all(d, d->list[k], true);
}

/* Closes marked groups below the parent; how many hosts they have. */
static uint32_t close_marked(struct nt_flow_schedule *d, uint32_t parent, const bool *marked)
{
    const struct nt_rooted_tree *h = d->rooted;
    uint32_t senders = 0;
    for (uint32_t i = h->first[parent]; i < h->first[parent + 1]; i++) {
        uint32_t c = h->child[i], n = nt_rooted_tree_count(h, c);
        if (c < h->hosts || !marked[c] || n == 0)
            continue;
        if (senders > 0 && senders + n > tight_share * nt_rooted_tree_count(h, parent))
            continue;
        senders += n;
        close_group(d, c);
    }
    return senders;
}

void nt_flow_schedule_repeat(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                             const bool *marked)
{
    const struct nt_rooted_tree *h = d->rooted;
    size_t n = 0;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t v = h->order[k];
        if (f->height[v] != height || close_marked(d, v, marked) == 0)
            continue;
        close_group(d, v);
        d->list[n++] = v;
    }
    for (size_t k = 0; k < n; k++)
        send_all(d, d->list[k], f->tight[d->list[k]]);
}

/* ---- pairs of groups ---- */

/* Groups of a parent in list: its switches; the parent itself represents its own hosts. */
static size_t list_groups(struct nt_flow_schedule *d, uint32_t v)
{
    const struct nt_rooted_tree *h = d->rooted;
    size_t n = 0;
    bool own = false;
    for (uint32_t i = h->first[v]; i < h->first[v + 1]; i++) {
        uint32_t c = h->child[i];
        if (c < h->hosts)
            own = true;
        else if (nt_rooted_tree_count(h, c) > 0)
            d->list2[n++] = c;
    }
    if (own)
        d->list2[n++] = v;
    return n;
}

static size_t group_size(const struct nt_rooted_tree *h, uint32_t parent, uint32_t group)
{
    size_t own = 0;
    if (group != parent)
        return nt_rooted_tree_count(h, group);
    for (uint32_t i = h->first[parent]; i < h->first[parent + 1]; i++)
        own += h->child[i] < h->hosts;
    return own;
}

/* A parent's hosts are the first of its children. */
static uint32_t group_host(const struct nt_rooted_tree *h, uint32_t parent, uint32_t group,
                           size_t k)
{
    return group == parent ? h->child[h->first[parent] + k] : spread_host(h, group, k);
}

static size_t join_groups(struct nt_flow_schedule *d, uint32_t parent, uint32_t from, uint32_t to,
                          size_t most)
{
    const struct nt_rooted_tree *h = d->rooted;
    size_t n = group_size(h, parent, from), m = group_size(h, parent, to), i = 0, j = 0;
    size_t full = n < m ? n : m, joined = 0;
    size_t limit = most < allowed_flows(d, full) ? most : allowed_flows(d, full);
    while (i < n && j < m && joined < limit) {
        uint32_t a = group_host(h, parent, from, i), b = group_host(h, parent, to, j);
        if (d->missing[a])
            i++;
        else if (d->missing[b])
            j++;
        else {
            joined += nt_flow_schedule_add(d, a, b);
            i++;
            j++;
        }
    }
    return full;
}

size_t nt_flow_schedule_pairs(struct nt_flow_schedule *d, const struct nt_fan *f, uint32_t height,
                              int parity, size_t most)
{
    const struct nt_rooted_tree *h = d->rooted;
    size_t largest = 0;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t v = h->order[k];
        if (f->height[v] != height)
            continue;
        size_t n = list_groups(d, v);
        if (parity == 1 && n < 3)
            continue;
        for (size_t i = (size_t)parity; i < n; i += 2) {
            if (i + 1 >= n && !(parity == 1 && n % 2 == 0))
                continue;
            size_t full = join_groups(d, v, d->list2[i], d->list2[(i + 1) % n], most);
            largest = full > largest ? full : largest;
        }
    }
    return largest;
}
