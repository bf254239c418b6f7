/* SPDX-License-Identifier: Apache-2.0 */
#include "map_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attachment.h"
#include "graph.h"
#include "memory.h"
#include "switch_support.h"

struct check {
    const struct nt_map *map;
    const struct nt_model *model;
    struct nt_attachment attachment;
    struct nt_findings *findings;
    struct nt_err *err;
    bool no_memory;
};

#define FOUND(c, ...)                                                                              \
    do {                                                                                           \
        if (nt_findings_add((c)->findings, (c)->err, __VA_ARGS__) != 0)                            \
            (c)->no_memory = true;                                                                 \
    } while (0)

static bool is_tree(const struct nt_model *m)
{
    return m->family == NT_FAMILY_STAR || m->family == NT_FAMILY_TREE;
}

static bool is_direct(const struct nt_model *m)
{
    return m->family == NT_FAMILY_TORUS || m->family == NT_FAMILY_MESH ||
           m->family == NT_FAMILY_RING || m->family == NT_FAMILY_HYPERCUBE ||
           m->family == NT_FAMILY_FULL_MESH;
}

static size_t answering_hosts(const struct nt_model *m)
{
    size_t count = 0;
    for (size_t k = 0; k < m->hosts; k++)
        count += !m->missing[k];
    return count;
}

/* ---- vertices ---- */

static void check_hosts(struct check *c)
{
    const struct nt_model *m = c->model;
    bool any_missing = false;
    for (size_t k = 0; k < m->hosts; k++) {
        uint32_t links = c->attachment.links_at[k];
        any_missing |= m->missing[k];
        if (m->missing[k] && links > 0)
            FOUND(c, "node %s: expected a missing host on no link, found it on %u",
                  c->map->host_name[k], links);
        if (!m->missing[k] && links > 1 && is_tree(m))
            FOUND(c, "node %s: expected one link in a %s, found %u", c->map->host_name[k],
                  nt_family_name(m->family), links);
    }
    if (any_missing && c->map->status == NT_STATUS_OK)
        FOUND(c, "status: expected partial or failed when hosts are missing, found ok");
}

static void check_switches(struct check *c)
{
    const struct nt_model *m = c->model;
    uint32_t top = 0, fewest = answering_hosts(m) == 1 ? 1 : 2;
    for (size_t k = 0; k < m->switches; k++) {
        uint32_t links = c->attachment.links_at[m->hosts + k];
        if (links < fewest)
            FOUND(c, "switch %s: expected at least two links, found %u", c->map->switch_name[k],
                  links);
        if (m->tier[k] == 0)
            FOUND(c, "switch %s: expected a tier from 1, found 0", c->map->switch_name[k]);
        top = m->tier[k] > top ? m->tier[k] : top;
    }
    if (is_tree(m) && m->switches > 0 && m->tiers != top)
        FOUND(c, "structure.tiers: expected the highest tier of a switch, %u, found %u", top,
              m->tiers);
    if (is_direct(m) && m->switches > 0 && m->switches < 4)
        FOUND(c, "switches: expected none or at least 4 in a %s, found %zu",
              nt_family_name(m->family), m->switches);
}

/* Checks that a switch of tier t has a switch of tier t - 1 below. */
static void check_tiers(struct check *c)
{
    const struct nt_model *m = c->model;
    bool *stands = calloc(m->switches + 1, sizeof *stands);
    if (stands == NULL) {
        c->no_memory = true;
        return;
    }
    for (size_t k = 0; k < m->links; k++) {
        uint32_t ends[] = {m->link[k].a, m->link[k].b};
        for (size_t e = 0; e < 2; e++)
            if (ends[e] >= m->hosts && ends[1 - e] >= m->hosts &&
                m->tier[ends[e] - m->hosts] == m->tier[ends[1 - e] - m->hosts] + 1)
                stands[ends[e] - m->hosts] = true;
    }
    for (size_t k = 0; k < m->switches; k++)
        if (m->tier[k] > 1 && !stands[k])
            FOUND(c, "switch %s: expected a switch of tier %u below its tier %u, found none",
                  c->map->switch_name[k], m->tier[k] - 1, m->tier[k]);
    free(stands);
}

/* ---- links ---- */

static int by_ends(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return NT_ORDER(x[0], y[0], NT_ORDER(x[1], y[1], 0));
}

/* Returns whether the map was made from bandwidths and has no latencies. */
static bool has_rates_alone(const struct nt_model *m)
{
    bool alone = true;
    for (size_t k = 0; k < m->links; k++)
        alone = alone && isnan(m->link[k].latency_us) && isfinite(m->link[k].bandwidth_MBps);
    return alone;
}

static void check_links(struct check *c)
{
    const struct nt_model *m = c->model;
    bool rates_alone = has_rates_alone(m);
    uint32_t(*ends)[2] = calloc(m->links + 1, sizeof *ends);
    if (ends == NULL) {
        c->no_memory = true;
        return;
    }
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        bool ordered = l->a < l->b;
        ends[k][0] = ordered ? l->a : l->b;
        ends[k][1] = ordered ? l->b : l->a;
        if ((isnan(l->bandwidth_MBps) && !isnan(l->bandwidth_se_MBps)) ||
            (isnan(l->bandwidth_back_MBps) && !isnan(l->bandwidth_back_se_MBps)))
            FOUND(c, "link %s %s: expected a bandwidth with its standard error, found none",
                  nt_map_vertex_name(c->map, l->a), nt_map_vertex_name(c->map, l->b));
        if (isnan(l->latency_us) && !rates_alone && answering_hosts(m) > 1)
            FOUND(c, "link %s %s: expected a latency_us, found nothing",
                  nt_map_vertex_name(c->map, l->a), nt_map_vertex_name(c->map, l->b));
    }
    qsort(ends, m->links, sizeof *ends, by_ends);
    for (size_t k = 1; k < m->links; k++)
        if (by_ends(ends[k - 1], ends[k]) == 0)
            FOUND(c, "link %s %s: expected once, found again",
                  nt_map_vertex_name(c->map, ends[k][0]), nt_map_vertex_name(c->map, ends[k][1]));
    free(ends);
}

static bool is_host_link(const struct nt_model *m, const struct nt_link *l)
{
    return (l->a < m->hosts) != (l->b < m->hosts);
}

/* Checks that no host's link is 0 if latencies were measured. */
static void check_host_links(struct check *c)
{
    const struct nt_model *m = c->model;
    for (size_t k = 0; k < m->links && isfinite(m->resolution_us); k++)
        if (is_host_link(m, &m->link[k]) && m->link[k].latency_us <= 0)
            FOUND(c, "link %s %s: expected a latency_us above 0 of a host behind a switch, found 0",
                  nt_map_vertex_name(c->map, m->link[k].a),
                  nt_map_vertex_name(c->map, m->link[k].b));
}

/* Returns the link between two vertices; m->links: none. */
static size_t find_link(const struct nt_model *m, const struct nt_graph *g, uint32_t a, uint32_t b)
{
    for (uint32_t k = g->start[a]; k < g->start[a + 1]; k++)
        if (g->to[k] == b)
            return g->link[k];
    return m->links;
}

static void check_part(struct check *c, const struct nt_graph *g, const struct nt_fault_part *p)
{
    const struct nt_model *m = c->model;
    bool host = p->kind == NT_FAULT_HOST_SLOW;
    if (host ? p->a != p->b || p->a >= m->hosts
             : p->kind != NT_FAULT_PATH_SHARED && find_link(m, g, p->a, p->b) == m->links)
        FOUND(c, "findings: expected a %s, found %s %s", host ? "host" : "link of the map",
              nt_map_vertex_name(c->map, p->a), nt_map_vertex_name(c->map, p->b));
}

/* Checks that a link is suspect if and only if a finding names it first. */
static void check_faults(struct check *c)
{
    const struct nt_model *m = c->model;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_graph g;
    bool *named = nt_arena_array(&memory, m->links + 1, sizeof *named);
    if (nt_arena_check(&memory, c->err) != 0 || nt_graph_init(&g, m, &memory, c->err) != 0) {
        c->no_memory = true;
        return;
    }
    for (size_t f = 0; f < c->map->faults; f++) {
        const struct nt_fault *x = &c->map->fault[f];
        check_part(c, &g, &x->part);
        for (uint32_t k = 0; k < x->others; k++)
            check_part(c, &g, &x->other[k]);
        named[find_link(m, &g, x->part.a, x->part.b)] = true;
    }
    for (size_t k = 0; k < m->links && c->map->judged; k++)
        if (m->link[k].suspect != named[k])
            FOUND(c, "link %s %s: expected %s, found %s", nt_map_vertex_name(c->map, m->link[k].a),
                  nt_map_vertex_name(c->map, m->link[k].b),
                  named[k] ? "a suspect, which a finding names" : "a finding that names a suspect",
                  named[k] ? "none" : "no such finding");
}

/* Checks that no link between switches is below the resolution. */
static void check_resolution(struct check *c)
{
    const struct nt_model *m = c->model;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->a >= m->hosts && l->b >= m->hosts && l->latency_us < m->resolution_us)
            FOUND(c,
                  "link %s %s: expected a latency_us of fit.resolution_us, %g, or more of a link "
                  "between switches, found %g",
                  nt_map_vertex_name(c->map, l->a), nt_map_vertex_name(c->map, l->b),
                  m->resolution_us, l->latency_us);
    }
}

static void check_support(struct check *c)
{
    const struct nt_model *m = c->model;
    double *support;
    if (nt_support_create(m, &support, c->err) != 0) {
        c->no_memory = true;
        return;
    }
    for (size_t k = 0; k < m->switches; k++) {
        if (support[k] < NT_SUPPORT_REPORTED)
            FOUND(c, "switch %s: expected a support from %g of a switch that is stated, found %g",
                  c->map->switch_name[k], NT_SUPPORT_REPORTED, support[k]);
        if (m->confidence > support[k])
            FOUND(c,
                  "structure.confidence: expected %g at the most, the support of switch %s, "
                  "found %g",
                  support[k], c->map->switch_name[k], m->confidence);
    }
    free(support);
}

/* Checks that all hosts that answered are connected, in a tree by one path only. */
static void check_connected(struct check *c)
{
    const struct nt_model *m = c->model;
    size_t vertices = m->hosts + m->switches, joined = 0;
    uint32_t *parent = malloc((vertices + 1) * sizeof *parent);
    if (parent == NULL) {
        c->no_memory = true;
        return;
    }
    nt_sets_init(parent, vertices);
    for (size_t k = 0; k < m->links; k++)
        joined += nt_sets_join(parent, m->link[k].a, m->link[k].b);
    free(parent);
    size_t loops = m->links - joined;
    size_t present = answering_hosts(m) + m->switches;
    if (present > 1 && joined < present - 1 && m->family != NT_FAMILY_UNDETERMINED)
        FOUND(c, "links: expected all hosts and switches connected, found %zu separate parts",
              present - joined);
    if (is_tree(m) && loops > 0)
        FOUND(c, "links: expected no loop in a %s, found %zu", nt_family_name(m->family), loops);
}

/* ---- the rest ---- */

static void check_dimensions(struct check *c)
{
    const struct nt_model *m = c->model;
    uint64_t product = 1;
    if (m->dimensions == 0 || m->family == NT_FAMILY_UNDETERMINED)
        return;
    for (size_t k = 0; k < m->dimensions && product <= NT_HOSTS_MAX; k++)
        product *= m->dimension[k];
    bool fits = m->switches > 0 ? product == m->switches
                                : product == m->hosts || product == answering_hosts(m);
    if (is_direct(m) && !fits)
        FOUND(c, "structure.parameters.dimensions: expected a product of %zu %s, found %llu",
              m->switches > 0 ? m->switches : m->hosts, m->switches > 0 ? "switches" : "hosts",
              (unsigned long long)product);
}

static void check_sweep(struct check *c)
{
    const struct nt_sweep *s = &c->map->sweep;
    uint64_t n = c->model->hosts, total = n == 0 ? 0 : n * (n - 1) / 2;
    if (s->pairs_total != total)
        FOUND(c, "sweep.pairs_total: expected %llu for %llu nodes, found %llu",
              (unsigned long long)total, (unsigned long long)n, (unsigned long long)s->pairs_total);
    if (s->pairs_measured > total)
        FOUND(c, "sweep.pairs_measured: expected at most %llu, found %llu",
              (unsigned long long)total, (unsigned long long)s->pairs_measured);
}

/* Checks that the congested direction belongs to a link of the stated tier. */
static void check_congested(struct check *c, const struct nt_stress *s)
{
    const struct nt_model *m = c->model;
    bool linked = false;
    for (size_t k = 0; k < m->links && !linked; k++)
        linked = (m->link[k].a == s->from && m->link[k].b == s->to) ||
                 (m->link[k].b == s->from && m->link[k].a == s->to);
    if (!linked) {
        FOUND(c, "stress %s: expected a link from %s to %s, found none", s->kernel,
              nt_map_vertex_name(c->map, s->from), nt_map_vertex_name(c->map, s->to));
        return;
    }
    uint32_t from = nt_model_tier(m, s->from);
    uint32_t to = nt_model_tier(m, s->to);
    if (s->tier != (from < to ? from : to))
        FOUND(c, "stress %s: expected the tier of the lower end, %u, found %u", s->kernel,
              from < to ? from : to, s->tier);
}

static void check_stress(struct check *c)
{
    for (size_t k = 0; k < c->map->stresses; k++) {
        const struct nt_stress *s = &c->map->stress[k];
        if (s->hosts > c->model->hosts)
            FOUND(c, "stress %s: expected at most %zu hosts, found %u", s->kernel, c->model->hosts,
                  s->hosts);
        if (!(s->time_us > 0))
            FOUND(c, "stress %s: expected a time_us above 0", s->kernel);
        if (s->low_us > s->time_us || s->high_us < s->time_us)
            FOUND(c, "stress %s: expected time_us from %g to %g, found %g", s->kernel, s->low_us,
                  s->high_us, s->time_us);
        if (s->congested)
            check_congested(c, s);
    }
}

static void check_machines(struct check *c)
{
    for (size_t k = 0; k < c->map->machines; k++) {
        const struct nt_machine *m = &c->map->machine[k];
        if (m->threads < m->cores || m->allowed > m->threads)
            FOUND(c,
                  "model m%zu: expected no more cores (%u) and threads_allowed (%u) than "
                  "threads, found %u",
                  k + 1, m->cores, m->allowed, m->threads);
        for (int b = 0; b < NT_BETWEEN_END; b++) {
            const struct nt_core_latency *l = &m->between[b];
            if (l->hosts > 0 && (l->low_us > l->latency_us || l->high_us < l->latency_us))
                FOUND(c, "model m%zu: expected a latency from %g to %g between cores, found %g",
                      k + 1, l->low_us, l->high_us, l->latency_us);
        }
    }
    for (size_t k = 0; c->map->machine_of != NULL && k < c->model->hosts; k++)
        if (c->model->missing[k] && c->map->machine_of[k] != NT_MAP_NO_MACHINE)
            FOUND(c, "node %s: expected no model of a missing host, found m%u",
                  c->map->host_name[k], c->map->machine_of[k] + 1);
}

static void check_placement(struct check *c)
{
    const struct nt_placement *p = c->map->placement;
    if (p == NULL)
        return;
    bool *seen = calloc(c->model->hosts + 1, sizeof *seen);
    if (seen == NULL) {
        c->no_memory = true;
        return;
    }
    for (size_t k = 0; k < p->hosts; k++) {
        if (seen[p->order[k]])
            FOUND(c, "placement.node_order: expected each node once, found %s again",
                  c->map->host_name[p->order[k]]);
        seen[p->order[k]] = true;
    }
    for (size_t k = 0; k < p->spares; k++) {
        if (seen[p->spare[k]])
            FOUND(c, "placement.spares: expected hosts that are left out once, found %s again",
                  c->map->host_name[p->spare[k]]);
        seen[p->spare[k]] = true;
    }
    for (size_t k = 0; k < c->model->hosts; k++)
        if (!seen[k] && !c->model->missing[k])
            FOUND(c, "placement.node_order: expected every node, found no %s",
                  c->map->host_name[k]);
    free(seen);
    if (p->gain > 1 && fabs(p->cost_default / p->cost - p->gain) > 1e-4 * p->gain)
        FOUND(c, "placement.gain: expected predicted_default_us over predicted_us, %g, found %g",
              p->cost_default / p->cost, p->gain);
    if (p->gain < 1)
        FOUND(c, "placement.gain: expected at least 1, found %g", p->gain);
}

int nt_map_check(const struct nt_map *map, struct nt_findings *findings, struct nt_err *err)
{
    struct check c = {.map = map, .model = map->model, .findings = findings, .err = err};
    if (nt_attachment_init(&c.attachment, map->model, err) != 0)
        return -1;
    check_hosts(&c);
    check_switches(&c);
    check_tiers(&c);
    check_links(&c);
    check_host_links(&c);
    check_faults(&c);
    check_resolution(&c);
    check_support(&c);
    check_connected(&c);
    check_dimensions(&c);
    check_sweep(&c);
    check_stress(&c);
    check_machines(&c);
    check_placement(&c);
    nt_attachment_fini(&c.attachment);
    if (c.no_memory)
        return nt_err_memory(err);
    return 0;
}
