/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_match.h"

#include <math.h>
#include <string.h>

#include "distance.h"
#include "graph.h"
#include "host_match.h"
#include "memory.h"
#include "network.h"

#define NONE UINT32_MAX

/* Slurm wants hosts or switches below a switch, not both, so nt_export_topology_conf gives the
 * hosts of a switch X that has switches a leaf X-hosts, which no other source has: the same as X.
 */
static void join_hosts_leaves(const struct nt_map *map, uint32_t *at)
{
    static const char suffix[] = "-hosts";
    const struct nt_model *m = map->model;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t end[2] = {m->link[k].a, m->link[k].b};
        if (end[0] < m->hosts || end[1] < m->hosts || isfinite(m->link[k].latency_us) ||
            isfinite(m->link[k].bandwidth_MBps))
            continue;
        for (int s = 0; s < 2; s++) {
            const char *leaf = map->switch_name[end[s] - m->hosts];
            const char *up = map->switch_name[end[1 - s] - m->hosts];
            size_t bytes = strlen(up);
            if (strncmp(leaf, up, bytes) == 0 && strcmp(leaf + bytes, suffix) == 0)
                at[end[s]] = at[end[1 - s]];
        }
    }
}

static bool keeps_link(const uint32_t *at, const struct nt_link *l)
{
    return at[l->a] != NONE && at[l->b] != NONE && at[l->a] != at[l->b];
}

/* The model with only the hosts keep[k], in that order; switches that are left without anything
 * are still there. */
static int keep_hosts(const struct nt_map *map, const uint32_t *keep, size_t n,
                      struct nt_model **out, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *at = nt_arena_array(&memory, m->hosts + m->switches + 1, sizeof *at);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t v = 0; v < m->hosts; v++)
        at[v] = NONE;
    for (size_t s = 0; s < m->switches; s++)
        at[m->hosts + s] = (uint32_t)(n + s);
    for (size_t k = 0; k < n; k++)
        at[keep[k]] = (uint32_t)k;
    join_hosts_leaves(map, at);
    size_t links = 0;
    for (size_t k = 0; k < m->links; k++)
        links += keeps_link(at, &m->link[k]);
    struct nt_model *kept;
    int rc = nt_model_create(n, m->switches, links, &kept, err);
    if (rc == 0) {
        size_t e = 0;
        for (size_t k = 0; k < m->links; k++) {
            if (!keeps_link(at, &m->link[k]))
                continue;
            kept->link[e] = m->link[k];
            kept->link[e].a = at[m->link[k].a];
            kept->link[e++].b = at[m->link[k].b];
        }
        memcpy(kept->tier, m->tier, m->switches * sizeof *m->tier);
        for (size_t k = 0; k < n; k++) {
            kept->overhead_us[k] = m->overhead_us[keep[k]];
            kept->missing[k] = m->missing[keep[k]];
            kept->host_suspect[k] = m->host_suspect[keep[k]];
        }
        kept->family = m->family;
        kept->confidence = m->confidence;
        kept->tiers = m->tiers;
        *out = kept;
    }
    return rc;
}

/* The vertex of each part that would connect it to others, in at[] of the vertex that represents
 * the part: the highest tier, then the most links. NONE: no host in it. */
static size_t find_part_roots(const struct nt_model *m, uint32_t *top, struct nt_arena *memory)
{
    size_t n = m->hosts + m->switches, parts = 0;
    uint32_t *up = nt_arena_array(memory, n, sizeof *up);
    uint32_t *degree = nt_arena_array(memory, n, sizeof *degree);
    bool *used = nt_arena_array(memory, n, sizeof *used);
    if (memory->failed != 0)
        return 0;
    nt_sets_init(up, n);
    for (size_t k = 0; k < m->links; k++) {
        nt_sets_join(up, m->link[k].a, m->link[k].b);
        degree[m->link[k].a]++;
        degree[m->link[k].b]++;
    }
    for (uint32_t h = 0; h < m->hosts; h++)
        used[nt_sets_find(up, h)] = true;
    for (uint32_t v = 0; v < n; v++)
        top[v] = NONE;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t part = nt_sets_find(up, v), best = top[part];
        if (!used[part])
            continue;
        parts += best == NONE;
        uint32_t tier = nt_model_tier(m, v), most = best == NONE ? 0 : nt_model_tier(m, best);
        if (best == NONE || tier > most || (tier == most && degree[v] > degree[best]))
            top[part] = v;
    }
    return parts;
}

/* A reference may be in parts, as a topology.conf without a switch over all. The map shows that
 * they are connected: one switch more joins them, so that each part is compared by its shape. */
static int join_parts(struct nt_model **model, size_t *parts, struct nt_err *err)
{
    const struct nt_model *m = *model;
    size_t n = m->hosts + m->switches;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_model *joined;
    uint32_t *top = nt_arena_array(&memory, n, sizeof *top);
    *parts = find_part_roots(m, top, &memory);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (*parts < 2)
        return 0;
    if (nt_model_create(m->hosts, m->switches + 1, m->links + *parts, &joined, err) != 0)
        return -1;
    memcpy(joined->link, m->link, m->links * sizeof *m->link);
    memcpy(joined->tier, m->tier, m->switches * sizeof *m->tier);
    memcpy(joined->missing, m->missing, m->hosts * sizeof *m->missing);
    memcpy(joined->overhead_us, m->overhead_us, m->hosts * sizeof *m->overhead_us);
    memcpy(joined->host_suspect, m->host_suspect, m->hosts * sizeof *m->host_suspect);
    joined->confidence = m->confidence;
    for (size_t v = 0, k = m->links; v < n; v++)
        if (top[v] != NONE) {
            joined->link[k].a = top[v];
            joined->link[k++].b = (uint32_t)n;
        }
    nt_model_destroy(*model);
    *model = joined;
    return 0;
}

/* Far above any latency, so that the sum of a path with an unknown latency shows it. */
static const double UNKNOWN_US = 1e15;

/* The network as these hosts could find it: without switches without links, with one link for a
 * switch with two links, and one switch for parallel spines. Networks without switches are
 * unchanged. */
static int reduce_model(struct nt_model **model, struct nt_err *err)
{
    struct nt_network *network;
    struct nt_model *truth;
    if ((*model)->switches == 0)
        return 0;
    for (size_t k = 0; k < (*model)->links; k++)
        if (!((*model)->link[k].latency_us > 0))
            (*model)->link[k].latency_us = UNKNOWN_US;
    if (nt_network_from_model(*model, &network, err) != 0)
        return -1;
    int rc = nt_network_truth(network, &truth, err);
    nt_network_destroy(network);
    if (rc != 0)
        return -1;
    memcpy(truth->host_suspect, (*model)->host_suspect, truth->hosts * sizeof *truth->host_suspect);
    truth->confidence = (*model)->confidence;
    for (size_t k = 0; k < truth->links; k++)
        if (!(truth->link[k].latency_us < UNKNOWN_US / 1000))
            truth->link[k].latency_us = (double)NAN;
    nt_model_destroy(*model);
    *model = truth;
    return 0;
}

static int match_names(struct nt_reference_match *a, const struct nt_map *map,
                       const struct nt_map *reference, struct nt_err *err)
{
    size_t hosts = map->model->hosts, n = 0;
    uint32_t *at = nt_arena_array(&a->memory, hosts, sizeof *at);
    uint32_t *mine = nt_arena_array(&a->memory, hosts, sizeof *mine);
    a->host_name = nt_arena_array(&a->memory, hosts, sizeof *a->host_name);
    a->unknown_name = nt_arena_array(&a->memory, hosts, sizeof *a->unknown_name);
    a->missing_name = nt_arena_array(&a->memory, hosts, sizeof *a->missing_name);
    if (nt_arena_check(&a->memory, err) != 0 ||
        nt_host_match((const char *const *)map->host_name, hosts,
                      (const char *const *)reference->host_name, reference->model->hosts, at,
                      err) != 0)
        return -1;
    for (uint32_t h = 0; h < hosts; h++) {
        if (at[h] == NONE) {
            a->unknown_name[a->unknown++] = map->host_name[h];
            continue;
        }
        /* a host that did not answer has no link: the rest is compared with a network without it */
        bool missing = map->model->missing[h], was_missing = reference->model->missing[at[h]];
        if (missing && !was_missing)
            a->missing_name[a->missing++] = map->host_name[h];
        if (missing || was_missing)
            continue;
        a->host_name[n] = map->host_name[h];
        mine[n] = h;
        at[n++] = at[h];
    }
    if (a->unknown == hosts)
        return nt_err_set(err, NT_ERR_INPUT,
                          "the map and the reference have no host in common: the map has %.64s, "
                          "the reference %.64s",
                          hosts > 0 ? map->host_name[0] : "none",
                          reference->model->hosts > 0 ? reference->host_name[0] : "none");
    bool linked = map->model->links > 0 && reference->model->links > 0;
    if (n == 0 || (n > 1 && !linked))
        return nt_err_set(err, NT_ERR_INPUT,
                          "no host that the map and the reference have in common is on a link");
    a->map = map;
    a->whole = reference;
    a->at = at;
    a->mine = mine;
    if (keep_hosts(map, mine, n, &a->found, err) != 0 || reduce_model(&a->found, err) != 0 ||
        keep_hosts(reference, at, n, &a->reference, err) != 0 ||
        join_parts(&a->reference, &a->parts, err) != 0)
        return -1;
    return reduce_model(&a->reference, err);
}

/* ---- findings of the map ---- */

/* A part of a network as the hosts in common on one side of it: a host, or a link of a tree. */
static bool mark_part(const struct nt_reference_match *a, const struct nt_map *map,
                      const struct nt_fault_part *part, bool *side, bool *whole)
{
    const struct nt_model *m = map->model;
    bool host[2] = {part->a < m->hosts, part->b < m->hosts};
    memset(whole, 0, m->hosts * sizeof *whole);
    if (part->kind == NT_FAULT_PATH_SHARED || (host[0] && host[1] && part->a != part->b))
        return false;
    if (host[0] || host[1]) {
        whole[host[0] ? part->a : part->b] = true;
    } else {
        uint32_t k = 0;
        while (k < m->links && !((m->link[k].a == part->a && m->link[k].b == part->b) ||
                                 (m->link[k].a == part->b && m->link[k].b == part->a)))
            k++;
        if (k == m->links || !nt_compare_side(m, k, whole))
            return false;
    }
    for (size_t h = 0; h < a->found->hosts; h++)
        side[h] = whole[map == a->map ? a->mine[h] : a->at[h]];
    return true;
}

/* Whether a value of the reference explains the finding's link, so that the finding is known. */
static bool is_decided(const struct nt_reference_match *a, const struct nt_fault *f,
                       const bool *side)
{
    bool by_latency = f->part.kind == NT_FAULT_LINK_SLOW;
    int64_t is = nt_compare_find(a->found, side), was = nt_compare_find(a->reference, side);
    if ((!by_latency && f->part.kind != NT_FAULT_LINK_NARROW) || is < 0 || was < 0 ||
        a->comparison->matched[was] != is)
        return false;
    const struct nt_link *l = &a->reference->link[was];
    return isfinite(by_latency ? l->latency_us : l->bandwidth_MBps);
}

/* The reference may be an older map that has the same finding. side: NULL where names decide. */
static bool is_known(const struct nt_reference_match *a, const struct nt_fault *f, const bool *side,
                     bool *other, bool *whole)
{
    const struct nt_fault_part *part = &f->part;
    for (size_t k = 0; k < a->whole->faults; k++) {
        const struct nt_fault_part *old = &a->whole->fault[k].part;
        if (old->kind != part->kind || a->whole->fault[k].way != f->way)
            continue;
        bool marked = mark_part(a, a->whole, old, other, whole);
        if (marked != (side != NULL))
            continue;
        bool same = marked ? nt_compare_find(a->found, side) == nt_compare_find(a->found, other)
                           : strcmp(nt_map_vertex_name(a->map, part->a),
                                    nt_map_vertex_name(a->whole, old->a)) == 0 &&
                                 strcmp(nt_map_vertex_name(a->map, part->b),
                                        nt_map_vertex_name(a->whole, old->b)) == 0;
        if (same)
            return true;
    }
    return false;
}

/* Counts parts that the models lack. Links of one side alone: the link of each host that did not
 * answer or that the reference lacks, and, for each part of the reference but one, the link that
 * joins it. Values: those of findings, each of a common link. */
static void count_unmatched(struct nt_reference_match *a)
{
    struct nt_comparison *c = a->comparison;
    double links = (double)c->links, was = c->figures_percent;
    double all = links + (double)(a->missing + a->unknown + (a->parts > 1 ? a->parts - 1 : 0));
    for (size_t k = 0; links > 0 && k < a->findings; k++) {
        double found = a->finding[k]->found, expected = a->finding[k]->expected;
        double likeness = fmin(found, expected) / fmax(found, expected);
        c->figures_percent -= 100 * (1 - (likeness > 0 ? likeness : 0)) / links;
    }
    c->figures_percent = fmax(c->figures_percent, 0);
    if (was > 0)
        c->similarity_percent *= c->figures_percent / was;
    if (all > 0) {
        c->similarity_percent *= links / all;
        c->common_percent *= links / all;
    }
}

static int take_findings(struct nt_reference_match *a, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t hosts = a->map->model->hosts + a->whole->model->hosts;
    bool *side = nt_arena_array(&memory, hosts, sizeof *side);
    bool *other = nt_arena_array(&memory, hosts, sizeof *other);
    bool *whole = nt_arena_array(&memory, hosts, sizeof *whole);
    a->finding = nt_arena_array(&a->memory, a->map->faults, sizeof(struct nt_fault *));
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&a->memory, err) != 0)
        return -1;
    for (size_t k = 0; k < a->map->faults; k++) {
        const struct nt_fault *f = &a->map->fault[k];
        bool marked = mark_part(a, a->map, &f->part, side, whole);
        if (!(marked && is_decided(a, f, side)) &&
            !is_known(a, f, marked ? side : NULL, other, whole))
            a->finding[a->findings++] = f;
    }
    return 0;
}

int nt_reference_match_create(const struct nt_map *map, const struct nt_map *reference,
                              double tolerance, struct nt_reference_match **out, struct nt_err *err)
{
    struct nt_reference_match *a = nt_object_create(sizeof *a, err);
    if (a == NULL)
        return -1;
    if (match_names(a, map, reference, err) != 0 ||
        nt_compare(a->found, a->reference, tolerance, &a->comparison, err) != 0 ||
        take_findings(a, err) != 0) {
        nt_reference_match_destroy(a);
        return -1;
    }
    count_unmatched(a);
    *out = a;
    return 0;
}

void nt_reference_match_destroy(struct nt_reference_match *a)
{
    if (a == NULL)
        return;
    nt_comparison_destroy(a->comparison);
    nt_model_destroy(a->found);
    nt_model_destroy(a->reference);
    nt_object_destroy(a);
}

/* ---- redistribution ---- */

static double rate_of(const struct nt_model *m, uint32_t directed)
{
    const struct nt_link *l = &m->link[directed / 2];
    bool back = directed % 2 == 1 && isfinite(l->bandwidth_back_MBps);
    return back ? l->bandwidth_back_MBps : l->bandwidth_MBps;
}

/* Time of a message between two hosts of the found network. */
static double time_us(const struct nt_model *m, const struct nt_distance *d, uint32_t a, uint32_t b,
                      double bytes, uint32_t *path)
{
    double narrowest = INFINITY;
    uint32_t n = nt_distance_path(d, a, b, path);
    for (uint32_t k = 0; k < n; k++) {
        double rate = rate_of(m, path[k]);
        if (rate > 0 && rate < narrowest)
            narrowest = rate;
    }
    return nt_distance_latency(d, a, b) + (isfinite(narrowest) ? bytes / narrowest : 0);
}

/* The time of a link of the reference; NaN: unknown. */
static double ideal_time(const struct nt_model *r, uint32_t directed, double bytes)
{
    double rate = rate_of(r, directed), latency = r->link[directed / 2].latency_us;
    double us = rate > 0 ? bytes / rate : (double)NAN;
    if (!(latency > 0))
        return us;
    return isfinite(us) ? us + latency : latency;
}

struct distribution {
    struct nt_distance *found, *whole;
    uint32_t *path;
    double *paths;
    double *least; /* per directed link: the factor of the path over it that deviates least */
};

/* Equation 4, with the ideal time of a link instead of the inverse of its rate, which is equal if
 * only rates are known. An unknown link counts as the mean of the others. */
static void distribute_time(const struct nt_model *r, struct distribution *y, uint32_t n, double us,
                            double bytes, double *sum)
{
    const uint32_t *path = y->path;
    double all = 0;
    uint32_t known = 0;
    for (uint32_t k = 0; k < n; k++) {
        double x = ideal_time(r, path[k], bytes);
        known += isfinite(x) ? 1 : 0;
        all += isfinite(x) ? x : 0;
    }
    double mean = known > 0 ? all / known : 1;
    all += mean * (n - known);
    for (uint32_t k = 0; k < n; k++) {
        double x = ideal_time(r, path[k], bytes);
        sum[path[k] / 2] += us * (isfinite(x) ? x : mean) / all;
        y->paths[path[k] / 2]++;
    }
}

/* The time of a path by the reference's values, as far as known; NaN: all are unknown. */
static double expected_time(const struct nt_model *r, const uint32_t *path, uint32_t n,
                            double bytes)
{
    double latency = 0, narrowest = INFINITY;
    for (uint32_t k = 0; k < n; k++) {
        double us = r->link[path[k] / 2].latency_us, rate = rate_of(r, path[k]);
        latency += us > 0 ? us : 0;
        narrowest = rate > 0 ? fmin(narrowest, rate) : narrowest;
    }
    double us = latency + (isfinite(narrowest) ? bytes / narrowest : 0);
    return us > 0 ? us : (double)NAN;
}

static void keep_least(struct distribution *y, uint32_t n, double us, double expected)
{
    double off = us > expected ? us / expected : expected / us;
    for (uint32_t k = 0; k < n && isfinite(off); k++)
        y->least[y->path[k]] = fmin(y->least[y->path[k]], off);
}

static void laying_fini(struct distribution *y)
{
    nt_distance_destroy(y->found);
    nt_distance_destroy(y->whole);
}

static int laying_init(struct distribution *y, const struct nt_reference_match *a,
                       struct nt_arena *memory, struct nt_err *err)
{
    size_t links = a->whole->model->links;
    if (nt_distance_create(a->found, &y->found, err) != 0 ||
        nt_distance_create(a->whole->model, &y->whole, err) != 0)
        return -1;
    size_t longest = (size_t)nt_distance_path_max(y->found) + nt_distance_path_max(y->whole);
    y->path = nt_arena_array(memory, longest + 1, sizeof *y->path);
    y->paths = nt_arena_array(memory, links + 1, sizeof *y->paths);
    y->least = nt_arena_array(memory, 2 * links + 1, sizeof *y->least);
    for (size_t k = 0; y->least != NULL && k < 2 * links; k++)
        y->least[k] = INFINITY;
    return nt_arena_check(memory, err);
}

bool nt_reference_match_has_rates(const struct nt_reference_match *a)
{
    for (size_t k = 0; k < a->found->links; k++)
        if (a->found->link[k].bandwidth_MBps > 0)
            return true;
    return false;
}

/* The worse direction of a link. */
static double least_of(const double *least, size_t link)
{
    double a = least[2 * link], b = least[2 * link + 1];
    return isfinite(a) && isfinite(b) ? fmax(a, b) : fmin(a, b);
}

int nt_reference_match_redistribute(const struct nt_reference_match *a, double message_bytes,
                                    double *laid_us, double *ideal_us, double *least_off,
                                    struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_model *r = a->whole->model;
    struct distribution y = {0};
    int rc = laying_init(&y, a, &memory, err);
    for (size_t e = 0; rc == 0 && e < r->links; e++)
        laid_us[e] = 0;
    for (uint32_t i = 0; rc == 0 && i < a->found->hosts; i++) {
        for (uint32_t j = 0; j < a->found->hosts; j++) {
            double us =
                i == j ? (double)NAN : time_us(a->found, y.found, i, j, message_bytes, y.path);
            if (!isfinite(us))
                continue;
            uint32_t n = nt_distance_path(y.whole, a->at[i], a->at[j], y.path);
            distribute_time(r, &y, n, us, message_bytes, laid_us);
            keep_least(&y, n, us, expected_time(r, y.path, n, message_bytes));
        }
    }
    for (size_t e = 0; rc == 0 && e < r->links; e++) {
        laid_us[e] = y.paths[e] > 0 ? laid_us[e] / y.paths[e] : (double)NAN;
        if (least_off != NULL)
            least_off[e] = least_of(y.least, e);
        ideal_us[e] = (ideal_time(r, 2 * (uint32_t)e, message_bytes) +
                       ideal_time(r, 2 * (uint32_t)e + 1, message_bytes)) /
                      2;
    }
    laying_fini(&y);
    return rc;
}
