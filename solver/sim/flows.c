/* SPDX-License-Identifier: Apache-2.0 */
#include "flows.h"

#include <math.h>

#include "memory.h"

/* The flows of arc a are member[first[a]..first[a+1]), the arcs of flow f
 * via[start[f]..start[f+1]). */
struct crossing {
    size_t arcs, flows, steps;
    uint32_t *start, *via, *first, *member;
    uint32_t *active; /* by arc: number of its flows whose rate still increases */
    double *left;     /* by arc: MB/s not used by flows with a fixed rate */
    /* Heap of arcs by the level at which they are full; place: index + 1, 0: not in the heap */
    uint32_t *heap, *place;
    size_t heaped;
};

static size_t count_steps(const struct nt_network *n, const struct nt_flow *flow)
{
    struct nt_walk walk;
    uint32_t arc;
    size_t steps = 0;
    for (nt_walk_begin(n, flow->from, flow->to, &walk); nt_walk_next(&walk, &arc);)
        steps++;
    return steps;
}

static int allocate_arcs(struct crossing *c, struct nt_arena *memory, struct nt_err *err)
{
    c->start = nt_arena_array(memory, c->flows + 1, sizeof *c->start);
    c->via = nt_arena_array(memory, c->steps + 1, sizeof *c->via);
    c->first = nt_arena_array(memory, c->arcs + 2, sizeof *c->first);
    c->member = nt_arena_array(memory, c->steps + 1, sizeof *c->member);
    c->active = nt_arena_array(memory, c->arcs + 1, sizeof *c->active);
    c->left = nt_arena_array(memory, c->arcs + 1, sizeof *c->left);
    c->heap = nt_arena_array(memory, c->arcs + 1, sizeof *c->heap);
    c->place = nt_arena_array(memory, c->arcs + 1, sizeof *c->place);
    return nt_arena_check(memory, err);
}

/* Adds a flow. Without a path it gets rate 0 and no arcs; otherwise INFINITY until an arc limits
 * it. */
static void lay_flow(struct crossing *c, const struct nt_network *n, struct nt_flow *flow)
{
    uint32_t step = 0;
    for (size_t f = 0; f < c->flows; f++) {
        struct nt_walk walk;
        uint32_t arc;
        c->start[f] = step;
        for (nt_walk_begin(n, flow[f].from, flow[f].to, &walk); nt_walk_next(&walk, &arc);)
            c->via[step++] = arc;
        flow[f].rate_MBps = nt_walk_arrived(&walk) ? INFINITY : 0;
        if (!nt_walk_arrived(&walk))
            step = c->start[f];
    }
    c->start[c->flows] = step;
    for (size_t k = 0; k < step; k++)
        c->first[c->via[k] + 2]++;
    for (size_t a = 0; a < c->arcs; a++)
        c->first[a + 2] += c->first[a + 1];
    for (size_t f = 0; f < c->flows; f++)
        for (uint32_t k = c->start[f]; k < c->start[f + 1]; k++)
            c->member[c->first[c->via[k] + 1]++] = (uint32_t)f;
    for (size_t a = 0; a < c->arcs; a++) {
        c->active[a] = c->first[a + 1] - c->first[a];
        c->left[a] = n->arc[a].rate_MBps;
    }
}

/* ---- arcs by the common rate at which they are full ---------------------------------------- */

static double arc_level(const struct crossing *c, uint32_t arc)
{
    return c->left[arc] / c->active[arc];
}

static bool arc_sooner(const struct crossing *c, uint32_t a, uint32_t b)
{
    double x = arc_level(c, a), y = arc_level(c, b);
    return x < y ||
           (!(y < x) && a < b); /* ties by index, so that the result is the same everywhere */
}

static void heap_put(struct crossing *c, size_t k, uint32_t arc)
{
    c->heap[k] = arc;
    c->place[arc] = (uint32_t)k + 1;
}

static void heap_sift(struct crossing *c, size_t k, uint32_t arc)
{
    for (; k > 0 && arc_sooner(c, arc, c->heap[(k - 1) / 2]); k = (k - 1) / 2)
        heap_put(c, k, c->heap[(k - 1) / 2]);
    for (size_t child; (child = 2 * k + 1) < c->heaped; k = child) {
        if (child + 1 < c->heaped && arc_sooner(c, c->heap[child + 1], c->heap[child]))
            child++;
        if (!arc_sooner(c, c->heap[child], arc))
            break;
        heap_put(c, k, c->heap[child]);
    }
    heap_put(c, k, arc);
}

static void heap_remove(struct crossing *c, uint32_t arc)
{
    size_t k = c->place[arc] - 1;
    uint32_t last = c->heap[--c->heaped];
    c->place[arc] = 0;
    if (last != arc)
        heap_sift(c, k, last);
}

/* ---- filling -------------------------------------------------------------------------------- */

/* Fixes the rate of a flow, and reduces the rest and the number of flows of its other arcs. */
static void fix_flow_rate(struct crossing *c, uint32_t f, double rate)
{
    for (uint32_t k = c->start[f]; k < c->start[f + 1]; k++) {
        uint32_t arc = c->via[k];
        if (c->place[arc] == 0)
            continue;
        c->left[arc] = fmax(0, c->left[arc] - rate);
        if (--c->active[arc] == 0)
            heap_remove(c, arc);
        else
            heap_sift(c, c->place[arc] - 1, arc);
    }
}

static void fill_arcs(struct crossing *c, struct nt_flow *flow)
{
    for (uint32_t arc = 0; arc < c->arcs; arc++)
        if (c->active[arc] > 0 && c->left[arc] > 0) /* a rate of 0 or NaN is no limit */
            heap_sift(c, c->heaped++, arc);
    while (c->heaped > 0) {
        uint32_t full = c->heap[0];
        double rate = arc_level(c, full);
        heap_remove(c, full);
        for (uint32_t k = c->first[full]; k < c->first[full + 1]; k++) {
            uint32_t f = c->member[k];
            if (!isinf(flow[f].rate_MBps))
                continue;
            flow[f].rate_MBps = rate;
            fix_flow_rate(c, f, rate);
        }
    }
}

static int check_flows(const struct nt_network *network, const struct nt_flow *flow, size_t n,
                       struct nt_err *err)
{
    for (size_t f = 0; f < n; f++)
        if (flow[f].from >= network->hosts || flow[f].to >= network->hosts)
            return nt_err_set(err, NT_ERR_INPUT, "flow %zu from host %u to %u: %zu hosts", f,
                              flow[f].from, flow[f].to, network->hosts);
    return 0;
}

int nt_flows_share_rail(const struct nt_network *network, struct nt_flow *flow, size_t n,
                        struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct crossing c = {.arcs = network->arcs, .flows = n};
    if (check_flows(network, flow, n, err) < 0)
        return -1;
    for (size_t f = 0; f < n; f++)
        c.steps += count_steps(network, &flow[f]);
    if (c.steps >= UINT32_MAX || n >= UINT32_MAX)
        return nt_err_set(err, NT_ERR_SYSTEM, "%zu flows over %zu links are too many", n, c.steps);
    if (allocate_arcs(&c, &memory, err) != 0)
        return -1;
    lay_flow(&c, network, flow);
    fill_arcs(&c, flow);
    return 0;
}

int nt_flows_share(const struct nt_network *network, struct nt_flow *flow, size_t n,
                   struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    if (network->next_rail == NULL)
        return nt_flows_share_rail(network, flow, n, err);
    double *sum = nt_arena_array(&memory, n + 1, sizeof *sum);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (const struct nt_network *rail = network; rail != NULL; rail = rail->next_rail) {
        if (nt_flows_share_rail(rail, flow, n, err) < 0)
            return -1;
        for (size_t f = 0; f < n; f++)
            sum[f] += flow[f].rate_MBps;
    }
    for (size_t f = 0; f < n; f++)
        flow[f].rate_MBps = sum[f];
    return 0;
}

static double narrowest_link(const struct nt_network *n, uint32_t from, uint32_t to)
{
    struct nt_walk walk;
    uint32_t arc;
    double rate = NAN;
    for (nt_walk_begin(n, from, to, &walk); nt_walk_next(&walk, &arc);)
        if (n->arc[arc].rate_MBps > 0)
            rate = fmin(rate, n->arc[arc].rate_MBps); /* fmin ignores NaN */
    return nt_walk_arrived(&walk) ? rate : NAN;
}

int nt_flows_alone(const struct nt_network *network, struct nt_matrix **out, struct nt_err *err)
{
    struct nt_matrix *m;
    if (nt_matrix_create(network->hosts, NT_MATRIX_BANDWIDTH_MBPS, &m, err) < 0)
        return -1;
    for (uint32_t a = 0; a < network->hosts; a++)
        for (uint32_t b = 0; b < network->hosts; b++) {
            double rate = 0;
            for (const struct nt_network *n = network; n != NULL; n = n->next_rail)
                rate += narrowest_link(n, a, b);
            if (a != b)
                nt_matrix_set(m, a, b, (float)rate);
        }
    *out = m;
    return 0;
}
