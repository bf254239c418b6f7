#include "against.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distance.h"
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

/* Model m with only the hosts keep[k], in that order; switches that are left without anything are
 * still there. */
static int keep_hosts(const struct nt_model *m, const uint32_t *keep, size_t n,
                      struct nt_model **out, struct nt_err *err)
{
    uint32_t *at = malloc((m->hosts + m->switches + 1) * sizeof *at);
    if (at == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu hosts", m->hosts);
    for (size_t v = 0; v < m->hosts; v++)
        at[v] = NONE;
    for (size_t s = 0; s < m->switches; s++)
        at[m->hosts + s] = (uint32_t)(n + s);
    for (size_t k = 0; k < n; k++)
        at[keep[k]] = (uint32_t)k;
    size_t links = 0;
    for (size_t k = 0; k < m->links; k++)
        links += at[m->link[k].a] != NONE && at[m->link[k].b] != NONE;
    struct nt_model *kept;
    int rc = nt_model_create(n, m->switches, links, &kept, err);
    if (rc == 0) {
        size_t e = 0;
        for (size_t k = 0; k < m->links; k++) {
            if (at[m->link[k].a] == NONE || at[m->link[k].b] == NONE)
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
    free(at);
    return rc;
}

/* A reference as it could be found from these hosts: switches that nothing hangs on gone, those
 * with two links made one link, parallel spines one switch. Networks without switches stay. */
static int reduce(struct nt_model **model, struct nt_err *err)
{
    struct nt_network *network;
    struct nt_model *truth;
    if ((*model)->switches == 0)
        return 0;
    if (nt_network_from_model(*model, &network, err) != 0)
        return -1;
    int rc = nt_network_truth(network, &truth, err);
    nt_network_destroy(network);
    if (rc != 0)
        return -1;
    memcpy(truth->missing, (*model)->missing, truth->hosts * sizeof *truth->missing);
    for (size_t k = 0; k < truth->links; k++) /* a network counts what is not known as nothing */
        if (!(truth->link[k].latency_us > 0))
            truth->link[k].latency_us = (double)NAN;
    nt_model_destroy(*model);
    *model = truth;
    return 0;
}

static int match_names(struct nt_against *a, const struct nt_map *map,
                       const struct nt_map *reference, struct nt_err *err)
{
    size_t hosts = map->model->hosts, common, n = 0;
    uint32_t *at = calloc(hosts + 1, sizeof *at), *mine = calloc(hosts + 1, sizeof *mine);
    int rc = -1;
    a->host_name = malloc((hosts + 1) * sizeof *a->host_name);
    a->unknown_name = malloc((hosts + 1) * sizeof *a->unknown_name);
    if (at == NULL || mine == NULL || a->host_name == NULL || a->unknown_name == NULL) {
        nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu hosts", hosts);
        goto out;
    }
    if (find_hosts(map, reference, at, &common, err) != 0)
        goto out;
    if (common == 0) {
        nt_err_set(err, NT_ERR_INPUT, "the map and the reference have no host in common");
        goto out;
    }
    for (uint32_t h = 0; h < hosts; h++) {
        if (at[h] == NONE) {
            a->unknown_name[a->unknown++] = map->host_name[h];
            continue;
        }
        a->host_name[n] = map->host_name[h];
        mine[n] = h;
        at[n++] = at[h];
    }
    rc = keep_hosts(map->model, mine, n, &a->found, err);
    if (rc == 0 && n < hosts)
        rc = reduce(&a->found, err);
    if (rc == 0)
        rc = keep_hosts(reference->model, at, n, &a->reference, err);
    if (rc == 0)
        rc = reduce(&a->reference, err);
out:
    free(at);
    free(mine);
    return rc;
}

int nt_against_create(const struct nt_map *map, const struct nt_map *reference, double tolerance,
                      struct nt_against **out, struct nt_err *err)
{
    struct nt_against *a = calloc(1, sizeof *a);
    if (a == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory to compare");
    if (match_names(a, map, reference, err) != 0 ||
        nt_compare(a->found, a->reference, tolerance, &a->comparison, err) != 0) {
        nt_against_destroy(a);
        return -1;
    }
    *out = a;
    return 0;
}

void nt_against_destroy(struct nt_against *a)
{
    if (a == NULL)
        return;
    nt_comparison_destroy(a->comparison);
    nt_model_destroy(a->found);
    nt_model_destroy(a->reference);
    free(a->host_name);
    free(a->unknown_name);
    free(a);
}

/* Time of a message between two hosts of the found network. */
static double time_us(const struct nt_model *m, const struct nt_distance *d, uint32_t a, uint32_t b,
                      double bytes, uint32_t *path)
{
    double narrowest = INFINITY;
    uint32_t n = nt_distance_path(d, a, b, path);
    for (uint32_t k = 0; k < n; k++) {
        const struct nt_link *l = &m->link[path[k] / 2];
        double rate = path[k] % 2 == 0 ? l->bandwidth_MBps : l->bandwidth_back_MBps;
        if (isfinite(rate) && rate > 0 && rate < narrowest)
            narrowest = rate;
    }
    return nt_distance_latency(d, a, b) + (isfinite(narrowest) ? bytes / narrowest : 0);
}

static double rate_or_one(const struct nt_link *l)
{
    return isfinite(l->bandwidth_MBps) && l->bandwidth_MBps > 0 ? l->bandwidth_MBps : 1;
}

static void lay(const struct nt_model *r, const uint32_t *path, uint32_t n, double us, double *sum,
                double *paths)
{
    double share = 0;
    for (uint32_t k = 0; k < n; k++)
        share += 1 / rate_or_one(&r->link[path[k] / 2]);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t e = path[k] / 2;
        sum[e] += us / (rate_or_one(&r->link[e]) * share);
        paths[e]++;
    }
}

int nt_against_redistribute(const struct nt_against *against, double message_bytes, double *laid_us,
                            double *ideal_us, struct nt_err *err)
{
    const struct nt_model *f = against->found, *r = against->reference;
    struct nt_distance *df = NULL, *dr = NULL;
    double *paths = calloc(r->links + 1, sizeof *paths);
    uint32_t *path = NULL;
    int rc = paths == NULL ? nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu links", r->links)
                           : nt_distance_create(f, &df, err);
    if (rc == 0)
        rc = nt_distance_create(r, &dr, err);
    if (rc == 0) {
        size_t longest = nt_distance_path_max(df) + nt_distance_path_max(dr) + 2u;
        path = calloc(longest, sizeof *path);
        rc = path == NULL ? nt_err_set(err, NT_ERR_SYSTEM, "no memory for paths") : 0;
    }
    for (size_t e = 0; rc == 0 && e < r->links; e++)
        laid_us[e] = 0;
    for (uint32_t a = 0; rc == 0 && a < f->hosts; a++) {
        for (uint32_t b = 0; b < a; b++) {
            double us = time_us(f, df, a, b, message_bytes, path);
            uint32_t n = isfinite(us) ? nt_distance_path(dr, a, b, path) : 0;
            lay(r, path, n, us, laid_us, paths);
        }
    }
    for (size_t e = 0; rc == 0 && e < r->links; e++) {
        laid_us[e] = paths[e] > 0 ? laid_us[e] / paths[e] : (double)NAN;
        ideal_us[e] = message_bytes / r->link[e].bandwidth_MBps;
    }
    nt_distance_destroy(df);
    nt_distance_destroy(dr);
    free(paths);
    free(path);
    return rc;
}
