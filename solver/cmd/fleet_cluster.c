/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_cluster.h"

#include <stdlib.h>
#include <string.h>

#include "utc.h"

void nt_fleet_cluster_fini(struct nt_fleet_cluster *fleet)
{
    nt_map_destroy(fleet->map);
    nt_cluster_map_destroy(fleet->cluster);
    nt_names_fini(&fleet->hosts);
    free(fleet->seen_s);
    free(fleet->part);
    free(fleet->at);
    *fleet = (struct nt_fleet_cluster){0};
}

/* Fails without harm: the names are then found anew next time. */
static void keep_naming(const char *given, const struct nt_switch_naming *naming)
{
    struct nt_store *store;
    struct nt_err ignored;
    if (nt_fleet_open(given, false, &store, &ignored) != 0)
        return;
    nt_store_set_naming(store, naming, &ignored);
    nt_store_close(store);
}

/* The map is sorted by names, the cluster by numbers: what is of a part follows it. */
static int order_parts(struct nt_fleet_cluster *fleet, struct nt_err *err)
{
    const struct nt_model *m = fleet->map->model;
    size_t n = m->hosts;
    fleet->part = calloc(n + m->switches + 1, sizeof *fleet->part);
    fleet->at = calloc(n + 1, sizeof *fleet->at);
    if (fleet->part == NULL || fleet->at == NULL)
        return nt_err_memory(err);
    for (size_t h = 0; h < n; h++) {
        const char *name = fleet->map->host_name[h];
        uint32_t number = nt_names_find(&fleet->hosts, name, strlen(name));
        fleet->at[number] = (uint32_t)h;
        fleet->part[h] = fleet->cluster->part[number];
    }
    for (size_t s = 0; s < m->switches; s++)
        for (size_t k = 0; k < m->switches; k++)
            if (strtoul(fleet->map->switch_name[s] + 1, NULL, 10) ==
                fleet->cluster->switch_number[k])
                fleet->part[n + s] = fleet->cluster->part[n + k];
    return 0;
}

static uint64_t count_pairs(const struct nt_evidence *evidence)
{
    uint64_t pairs = 0;
    for (size_t k = 0; k < evidence->entries; k = nt_evidence_next_pair(evidence, k))
        pairs++;
    return pairs;
}

static int name_map(struct nt_fleet_cluster *fleet, const struct nt_evidence *evidence,
                    struct nt_err *err)
{
    uint64_t hosts = evidence->hosts;
    char created[NT_UTC_BYTES];
    if (nt_cluster_map_named(fleet->cluster, fleet->hosts.name, &fleet->map, err) != 0)
        return -1;
    nt_utc_format(fleet->sums.last_s, created);
    char *time = strdup(created), *cluster = strdup(fleet->sums.cluster);
    if (time == NULL || cluster == NULL) {
        free(time);
        free(cluster);
        return nt_err_memory(err);
    }
    free(fleet->map->created);
    free(fleet->map->cluster);
    fleet->map->created = time;
    fleet->map->cluster = cluster;
    fleet->map->sweep.pairs_measured = count_pairs(evidence);
    fleet->map->sweep.pairs_total = hosts * (hosts > 0 ? hosts - 1 : 0) / 2;
    return order_parts(fleet, err);
}

static bool same_naming(const struct nt_switch_naming *x, const struct nt_switch_naming *y)
{
    return x->last == y->last && x->members == y->members &&
           (x->members == 0 || memcmp(x->member, y->member, x->members * sizeof *x->member) == 0);
}

/* Too little for a map is no error. */
static int make_map(struct nt_fleet_cluster *fleet, struct nt_store *store, const char *given,
                    struct nt_evidence *evidence, struct nt_err *err)
{
    struct nt_switch_naming before = {0}, after = {0};
    int rc = nt_store_naming(store, &before, err);
    if (rc == 0 &&
        nt_cluster_map_create(evidence, &before, &after, &fleet->cluster, &fleet->why) != 0) {
        rc = fleet->why.kind == NT_ERR_INPUT
                 ? 0
                 : nt_err_set(err, fleet->why.kind, "%s", fleet->why.text);
    } else if (rc == 0) {
        rc = name_map(fleet, evidence, err);
        if (rc == 0 && !same_naming(&before, &after))
            keep_naming(given, &after);
    }
    nt_switch_naming_fini(&before);
    nt_switch_naming_fini(&after);
    return rc;
}

static int load_names(struct nt_fleet_cluster *fleet, struct nt_store *store, struct nt_err *err)
{
    if (nt_store_count(store, &fleet->sums, err) != 0)
        return -1;
    return nt_store_hosts(store, &fleet->hosts, &fleet->seen_s, err);
}

int nt_fleet_cluster_load_names(const char *given, struct nt_fleet_cluster *out, struct nt_err *err)
{
    struct nt_fleet_cluster fleet = {0};
    struct nt_store *store;
    if (nt_fleet_open(given, true, &store, err) != 0)
        return -1;
    int rc = load_names(&fleet, store, err);
    nt_store_close(store);
    if (rc != 0) {
        nt_fleet_cluster_fini(&fleet);
        return -1;
    }
    *out = fleet;
    return 0;
}

static int load(struct nt_fleet_cluster *fleet, struct nt_store *store, const char *given,
                int64_t days_s, struct nt_err *err)
{
    struct nt_evidence evidence;
    if (load_names(fleet, store, err) != 0 ||
        nt_store_evidence(store, fleet->sums.last_s - days_s, NT_FLEET_ENTRIES_MAX, &evidence,
                          err) != 0)
        return -1;
    int rc = make_map(fleet, store, given, &evidence, err);
    nt_evidence_fini(&evidence);
    return rc;
}

int nt_fleet_cluster_load(const char *given, int64_t days_s, struct nt_fleet_cluster *out,
                          struct nt_err *err)
{
    struct nt_fleet_cluster fleet = {0};
    struct nt_store *store;
    if (nt_fleet_open(given, true, &store, err) != 0)
        return -1;
    int rc = load(&fleet, store, given, days_s, err);
    nt_store_close(store);
    if (rc != 0) {
        nt_fleet_cluster_fini(&fleet);
        return -1;
    }
    *out = fleet;
    return 0;
}

void nt_fleet_cluster_put_move(struct nt_strbuf *d, const struct nt_fleet_cluster *fleet,
                               const struct nt_cluster_move *m)
{
    char day[NT_UTC_BYTES];
    nt_utc_format_day(m->time_s, day);
    nt_strbuf_print(d, "%s moved by %s (%u job%s of %u user%s)", fleet->hosts.name[m->host], day,
                    m->jobs, m->jobs == 1 ? "" : "s", m->users, m->users == 1 ? "" : "s");
    if (m->beside_before < fleet->hosts.count)
        nt_strbuf_print(d, ", away from %s", fleet->hosts.name[m->beside_before]);
    if (m->beside < fleet->hosts.count)
        nt_strbuf_print(d, ", to %s", fleet->hosts.name[m->beside]);
    nt_strbuf_puts(d, "\n");
}
