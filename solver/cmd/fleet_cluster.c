/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_cluster.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
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

/* ---- what is confirmed ---- */

/* A link counts whose ends jobs of two users confirm, of a host with enough support. */
static bool is_confirmed(const struct nt_fleet_cluster *fleet, const struct nt_link *l,
                         double support)
{
    const struct nt_cluster_part *low = &fleet->part[l->a];
    return low->confirmed && fleet->part[l->b].confirmed &&
           (l->a >= fleet->map->model->hosts || low->support >= support);
}

/* Takes switches that nothing hangs below out of the links, and marks them. */
static void drop_empty(struct nt_model *m, uint32_t *below, bool *empty)
{
    for (bool still = false; !still;) {
        size_t kept = 0;
        still = true;
        memset(below, 0, (m->hosts + m->switches) * sizeof *below);
        for (size_t k = 0; k < m->links; k++)
            below[m->link[k].b]++;
        for (size_t s = 0; s < m->switches; s++) {
            still &= empty[s] || below[m->hosts + s] > 0;
            empty[s] |= below[m->hosts + s] == 0;
        }
        for (size_t k = 0; k < m->links; k++)
            if (m->link[k].a < m->hosts || !empty[m->link[k].a - m->hosts])
                m->link[kept++] = m->link[k];
        m->links = kept;
    }
}

/* Without them; was[]: of the vertices that are left. */
static void close_gaps(struct nt_model *m, const bool *empty, uint32_t *number, uint32_t *was)
{
    size_t kept = 0;
    for (uint32_t h = 0; h < m->hosts; h++) {
        m->missing[h] = true;
        was[h] = h;
    }
    for (size_t s = 0; s < m->switches; s++) {
        number[s] = (uint32_t)(m->hosts + kept);
        if (empty[s])
            continue;
        m->tier[kept] = m->tier[s];
        was[m->hosts + kept++] = (uint32_t)(m->hosts + s);
    }
    m->switches = kept;
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        if (l->a < m->hosts)
            m->missing[l->a] = false;
        else
            l->a = number[l->a - m->hosts];
        l->b = number[l->b - m->hosts];
    }
}

static int name_switches(struct nt_map *map, const struct nt_map *from, const uint32_t *was,
                         struct nt_err *err)
{
    for (size_t s = 0; s < map->model->switches; s++) {
        char *copy = strdup(nt_map_vertex_name(from, was[map->model->hosts + s]));
        if (copy == NULL)
            return nt_err_memory(err);
        free(map->switch_name[s]);
        map->switch_name[s] = copy;
    }
    return 0;
}

int nt_fleet_cluster_confirmed(const struct nt_fleet_cluster *fleet, double support,
                               struct nt_map **out, uint32_t *was, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_model *m;
    size_t kept = 0, vertices = fleet->map->model->hosts + fleet->map->model->switches;
    uint32_t *number = nt_arena_array(&memory, vertices + 1, sizeof *number);
    bool *empty = nt_arena_array(&memory, vertices + 1, sizeof *empty);
    uint32_t *left = nt_arena_array(&memory, vertices + 1, sizeof *left);
    if (nt_arena_check(&memory, err) != 0 || nt_model_copy(fleet->map->model, &m, err) != 0)
        return -1;
    for (size_t k = 0; k < m->links; k++)
        if (is_confirmed(fleet, &m->link[k], support))
            m->link[kept++] = m->link[k];
    m->links = kept;
    drop_empty(m, number, empty);
    close_gaps(m, empty, number, left);
    int rc = m->switches > 0
                 ? nt_map_create(m, (const char *const *)fleet->map->host_name, out, err)
                 : nt_err_set(err, NT_ERR_NO, "no host is placed by jobs of two users");
    if (rc != 0) {
        nt_model_destroy(m);
        return -1;
    }
    if (was != NULL)
        memcpy(was, left, vertices * sizeof *was);
    return name_switches(*out, fleet->map, left, err);
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

void nt_fleet_put_json_time(struct nt_json_writer *w, const char *name, int64_t time_s)
{
    char text[NT_UTC_BYTES];
    nt_utc_format(time_s, text);
    if (time_s > 0)
        nt_json_put_text(w, name, text);
}

void nt_fleet_cluster_put_json_move(struct nt_json_writer *w, const struct nt_fleet_cluster *fleet,
                                    const struct nt_cluster_move *m)
{
    nt_json_begin(w, NULL, '{', false);
    nt_json_put_text(w, "host", fleet->hosts.name[m->host]);
    nt_fleet_put_json_time(w, "since", m->time_s);
    nt_fleet_put_json_time(w, "last_before", m->before_s);
    if (m->beside_before < fleet->hosts.count)
        nt_json_put_text(w, "beside_before", fleet->hosts.name[m->beside_before]);
    if (m->beside < fleet->hosts.count)
        nt_json_put_text(w, "beside", fleet->hosts.name[m->beside]);
    nt_json_put_whole(w, "jobs", m->jobs);
    nt_json_put_whole(w, "users", m->users);
    nt_json_end(w, '}');
}
