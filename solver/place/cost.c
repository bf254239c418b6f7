/* SPDX-License-Identifier: Apache-2.0 */
#include "cost.h"

#include <math.h>
#include <string.h>

#include "memory.h"

/* The load of a placement on the network. */
struct load {
    const struct nt_model *m;
    const struct nt_distance *d;
    const struct nt_traffic *t;
    const uint32_t *rank_host;
    uint32_t *path; /* buffer for one path */
    double *bytes;  /* by directed link */
    double latency_bytes, hop_bytes;
    double steps_us, least_steps_us; /* sums over sequential steps */
};

static bool bandwidths_known(const struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++)
        if (isfinite(m->link[k].bandwidth_MBps))
            return true;
    return false;
}

/* Returns the time of a direction: bytes divided by MB/s are microseconds. A link without a
 * bandwidth counts as the widest known one, because it was never the bottleneck. */
static double time_of(const struct nt_model *m, const double *bytes, size_t way, double widest)
{
    const struct nt_link *l = &m->link[way / 2];
    double forth = l->bandwidth_MBps > 0 ? l->bandwidth_MBps : widest;
    double back = l->bandwidth_back_MBps > 0 ? l->bandwidth_back_MBps : forth;
    return bytes[way] / (way % 2 == 0 ? forth : back);
}

/* Returns the time of the busiest of the directions whose bandwidth is measured. */
static double least_load(const struct nt_model *m, const double *bytes)
{
    double most = 0;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->bandwidth_MBps > 0 && !l->at_least && !l->forth_at_least)
            most = fmax(most, bytes[2 * k] / l->bandwidth_MBps);
        if (l->bandwidth_back_MBps > 0 && !l->at_least && !l->back_at_least)
            most = fmax(most, bytes[2 * k + 1] / l->bandwidth_back_MBps);
    }
    return most;
}

static double widest_of(const struct nt_model *m)
{
    double widest = 1;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].bandwidth_MBps > widest)
            widest = m->link[k].bandwidth_MBps;
    return widest;
}

size_t nt_cost_busiest(const struct nt_model *m, const double *bytes)
{
    double widest = widest_of(m);
    size_t most = 0;
    if (!bandwidths_known(m))
        return SIZE_MAX;
    for (size_t way = 1; way < 2 * m->links; way++)
        if (time_of(m, bytes, way, widest) > time_of(m, bytes, most, widest))
            most = way;
    return most;
}

/* Returns the time of the busiest link, or its bytes if no bandwidth is known. */
static double largest_load(const struct nt_model *m, const double *bytes)
{
    size_t busiest = nt_cost_busiest(m, bytes);
    double most = 0;
    if (busiest != SIZE_MAX)
        return time_of(m, bytes, busiest, widest_of(m));
    for (size_t way = 0; way < 2 * m->links; way++)
        most = fmax(most, bytes[way]);
    return most;
}

static int add_pair(struct load *load, uint32_t a, uint32_t b, double bytes, struct nt_err *err)
{
    if (a == b || !(bytes > 0))
        return 0;
    double latency = nt_distance_latency(load->d, a, b);
    if (!isfinite(latency))
        return nt_err_set(err, NT_ERR_INPUT, "hosts %u and %u are not connected by the map's links",
                          a, b);
    uint32_t *path = load->path, n = nt_distance_path(load->d, a, b, path);
    for (uint32_t k = 0; k < n; k++) { /* half of the exchange in each direction */
        load->bytes[path[k]] += bytes / 2;
        load->bytes[path[k] ^ 1u] += bytes / 2;
    }
    load->latency_bytes += bytes * latency;
    load->hop_bytes += bytes * n;
    return 0;
}

static int add_edges(struct load *load, struct nt_err *err)
{
    const struct nt_traffic *t = load->t;
    const uint32_t *rank_host = load->rank_host;
    for (size_t r = 0; r < t->tasks; r++)
        for (size_t k = t->start[r]; k < t->start[r + 1]; k++)
            if (t->partner[k] > r && add_pair(load, rank_host[r], rank_host[t->partner[k]],
                                              (double)t->bytes[k], err) != 0)
                return -1;
    return 0;
}

/* Recursive doubling: a step starts when the previous one is complete, so each step adds the time
 * of its own busiest direction. */
static int add_steps(struct load *load, struct nt_err *err)
{
    const struct nt_model *m = load->m;
    const struct nt_traffic *t = load->t;
    const uint32_t *rank_host = load->rank_host;
    NT_SCOPED struct nt_arena memory = {0};
    double *all = load->bytes, *step = nt_arena_array(&memory, 2 * m->links + 1, sizeof *step);
    int rc = nt_arena_check(&memory, err);
    for (size_t bit = 1; bit < t->tasks && rc == 0; bit <<= 1) {
        memset(step, 0, 2 * m->links * sizeof *step);
        load->bytes = step;
        for (size_t r = 0; r < t->tasks && rc == 0; r++)
            if ((r & bit) == 0 && (r | bit) < t->tasks)
                rc = add_pair(load, rank_host[r], rank_host[r | bit], t->edge_bytes, err);
        load->bytes = all;
        for (size_t way = 0; way < 2 * m->links; way++)
            all[way] += step[way];
        load->steps_us += largest_load(m, step);
        load->least_steps_us += least_load(m, step);
    }
    return rc;
}

/* All with all: only the number of tasks per host matters. On a tree the load of a link is the
 * product of the tasks on its sides; in other networks every pair of hosts is visited. */
static int add_everyone(struct load *load, struct nt_err *err)
{
    const struct nt_model *m = load->m;
    const struct nt_distance *d = load->d;
    const struct nt_traffic *t = load->t;
    size_t vertices = m->hosts + m->switches;
    NT_SCOPED struct nt_arena memory = {0};
    double *below = nt_arena_array(&memory, vertices + 1, sizeof *below);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    int rc = 0;
    for (size_t r = 0; r < t->tasks; r++)
        below[load->rank_host[r]]++;
    if (!nt_distance_is_tree(d)) {
        for (uint32_t a = 0; a < m->hosts && rc == 0; a++)
            for (uint32_t b = 0; b < a && rc == 0; b++)
                rc = add_pair(load, a, b, below[a] * below[b] * t->edge_bytes, err);
        return rc;
    }
    double total = (double)t->tasks;
    for (uint32_t h = 0; h < m->hosts; h++) {
        double own = below[h];
        load->latency_bytes += own * (total - own) * t->edge_bytes * m->overhead_us[h];
    }
    double *tasks = nt_arena_array(&memory, vertices + 1, sizeof *tasks);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t h = 0; h < m->hosts; h++)
        for (uint32_t v = h; below[h] > 0 && v != UINT32_MAX; v = nt_distance_parent(d, v))
            tasks[v] += below[h];
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        double low = tasks[nt_distance_parent(d, a) == b ? a : b];
        double bytes = low * (total - low) * t->edge_bytes;
        load->bytes[2 * k] += bytes / 2;
        load->bytes[2 * k + 1] += bytes / 2;
        load->hop_bytes += bytes;
        load->latency_bytes +=
            bytes * (isfinite(m->link[k].latency_us) ? m->link[k].latency_us : 1);
    }
    return rc;
}

int nt_cost_loads(const struct nt_distance *distance, const struct nt_traffic *traffic,
                  const uint32_t *rank_host, double *bytes, struct nt_metrics *metrics,
                  struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_model *model = nt_distance_model(distance);
    struct load load = {
        .m = model, .d = distance, .t = traffic, .rank_host = rank_host, .bytes = bytes};
    load.path = nt_arena_array(&memory, nt_distance_path_max(distance) + 2u, sizeof *load.path);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memset(bytes, 0, 2 * model->links * sizeof *bytes);
    bool steps = traffic->kind == NT_TRAFFIC_DOUBLING && bandwidths_known(model);
    int rc = steps                             ? add_steps(&load, err)
             : traffic->kind == NT_TRAFFIC_ALL ? add_everyone(&load, err)
                                               : add_edges(&load, err);
    if (rc != 0)
        return -1;
    metrics->latency_us = traffic->total_bytes > 0 ? load.latency_bytes / traffic->total_bytes : 0;
    metrics->hop_bytes = load.hop_bytes;
    metrics->max_link_load = steps ? load.steps_us : largest_load(model, bytes);
    metrics->least_link_load = steps ? load.least_steps_us : least_load(model, bytes);
    metrics->load_is_time = bandwidths_known(model);
    return 0;
}

int nt_cost(const struct nt_distance *distance, const struct nt_traffic *traffic,
            const uint32_t *rank_host, struct nt_metrics *metrics, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t ways = 2 * nt_distance_model(distance)->links;
    double *bytes = nt_arena_array(&memory, ways + 1, sizeof *bytes);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    return nt_cost_loads(distance, traffic, rank_host, bytes, metrics, err);
}

double nt_cost_total_us(const struct nt_metrics *metrics)
{
    return metrics->latency_us + (metrics->load_is_time ? metrics->max_link_load : 0);
}
