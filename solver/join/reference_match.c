/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distance.h"
#include "memory.h"
#include "names.h"
#include "network.h"

#define NONE UINT32_MAX

/* Where each host of the map stands in the reference, or NONE. */
static int find_hosts(const struct nt_map *map, const struct nt_map *reference, uint32_t *at,
                      size_t *common, struct nt_err *err)
{
    struct nt_names names = {0};
    uint32_t index;
    int rc = 0;
    for (size_t h = 0; h < reference->model->hosts && rc >= 0; h++)
        rc = nt_names_add(&names, reference->host_name[h], &index, err);
    *common = 0;
    for (size_t h = 0; h < map->model->hosts && rc >= 0; h++) {
        const char *name = map->host_name[h];
        at[h] = nt_names_find(&names, name, strlen(name));
        *common += at[h] != NONE;
    }
    nt_names_fini(&names);
    return rc < 0 ? -1 : 0;
}

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

/* Far over any latency, so that a way with a part of unknown latency is known by its sum. */
static const double UNKNOWN_US = 1e15;

/* A network as it could be found from these hosts: switches without links removed, those with two
 * links made one link, parallel spines one switch. Networks without switches stay. */
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
    size_t hosts = map->model->hosts, common, n = 0;
    uint32_t *at = nt_arena_array(&a->memory, hosts, sizeof *at);
    uint32_t *mine = nt_arena_array(&a->memory, hosts, sizeof *mine);
    a->host_name = nt_arena_array(&a->memory, hosts, sizeof *a->host_name);
    a->unknown_name = nt_arena_array(&a->memory, hosts, sizeof *a->unknown_name);
    a->missing_name = nt_arena_array(&a->memory, hosts, sizeof *a->missing_name);
    if (nt_arena_check(&a->memory, err) != 0 || find_hosts(map, reference, at, &common, err) != 0)
        return -1;
    if (common == 0)
        return nt_err_set(err, NT_ERR_INPUT, "the map and the reference have no host in common");
    for (uint32_t h = 0; h < hosts; h++) {
        if (at[h] == NONE) {
            a->unknown_name[a->unknown++] = map->host_name[h];
            continue;
        }
        /* who did not answer is on no link: the rest is held against a network without it */
        bool missing = map->model->missing[h], was_missing = reference->model->missing[at[h]];
        if (missing && !was_missing)
            a->missing_name[a->missing++] = map->host_name[h];
        if (missing || was_missing)
            continue;
        a->host_name[n] = map->host_name[h];
        mine[n] = h;
        at[n++] = at[h];
    }
    if (n == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "no host that the map and the reference have in common is on a link");
    a->whole = reference;
    a->at = at;
    if (keep_hosts(map, mine, n, &a->found, err) != 0 || reduce_model(&a->found, err) != 0 ||
        keep_hosts(reference, at, n, &a->reference, err) != 0)
        return -1;
    return reduce_model(&a->reference, err);
}

int nt_reference_match_create(const struct nt_map *map, const struct nt_map *reference,
                              double tolerance, struct nt_reference_match **out, struct nt_err *err)
{
    struct nt_reference_match *a = nt_object_create(sizeof *a, err);
    if (a == NULL)
        return -1;
    if (match_names(a, map, reference, err) != 0 ||
        nt_compare(a->found, a->reference, tolerance, &a->comparison, err) != 0) {
        nt_reference_match_destroy(a);
        return -1;
    }
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

/* ---- redistribution ---------------------------------------------------------------------------
 */

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

/* What a link of the reference should take: NaN where the reference says nothing of it. */
static double ideal_time(const struct nt_model *r, uint32_t directed, double bytes)
{
    double rate = rate_of(r, directed), latency = r->link[directed / 2].latency_us;
    double us = rate > 0 ? bytes / rate : (double)NAN;
    if (!(latency > 0))
        return us;
    return isfinite(us) ? us + latency : latency;
}

/* Equation 4, with the ideal time of a link in the place of the inverse of its rate: the same when
 * rates are all that is known. A link of which nothing is known counts as the mean of the others.
 */
static void lay_time(const struct nt_model *r, const uint32_t *path, uint32_t n, double us,
                     double bytes, double *sum, double *paths)
{
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
        paths[path[k] / 2]++;
    }
}

struct laying {
    struct nt_distance *found, *whole;
    uint32_t *path;
    double *paths;
};

static void laying_fini(struct laying *y)
{
    nt_distance_destroy(y->found);
    nt_distance_destroy(y->whole);
}

static int laying_init(struct laying *y, const struct nt_reference_match *a,
                       struct nt_arena *memory, struct nt_err *err)
{
    size_t links = a->whole->model->links;
    if (nt_distance_create(a->found, &y->found, err) != 0 ||
        nt_distance_create(a->whole->model, &y->whole, err) != 0)
        return -1;
    size_t longest = (size_t)nt_distance_path_max(y->found) + nt_distance_path_max(y->whole);
    y->path = nt_arena_array(memory, longest + 1, sizeof *y->path);
    y->paths = nt_arena_array(memory, links + 1, sizeof *y->paths);
    return nt_arena_check(memory, err);
}

bool nt_reference_match_has_rates(const struct nt_reference_match *a)
{
    for (size_t k = 0; k < a->found->links; k++)
        if (a->found->link[k].bandwidth_MBps > 0)
            return true;
    return false;
}

int nt_reference_match_redistribute(const struct nt_reference_match *a, double message_bytes,
                                    double *laid_us, double *ideal_us, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_model *r = a->whole->model;
    struct laying y = {0};
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
            lay_time(r, y.path, n, us, message_bytes, laid_us, y.paths);
        }
    }
    for (size_t e = 0; rc == 0 && e < r->links; e++) {
        laid_us[e] = y.paths[e] > 0 ? laid_us[e] / y.paths[e] : (double)NAN;
        ideal_us[e] = (ideal_time(r, 2 * (uint32_t)e, message_bytes) +
                       ideal_time(r, 2 * (uint32_t)e + 1, message_bytes)) /
                      2;
    }
    laying_fini(&y);
    return rc;
}
