/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "fleet_job.h"
#include "graph.h"
#include "host_moves.h"
#include "memory.h"
#include "number.h"
#include "utc.h"

void nt_fleet_cluster_fini(struct nt_fleet_cluster *fleet)
{
    nt_map_destroy(fleet->map);
    nt_cluster_map_destroy(fleet->cluster);
    nt_names_fini(&fleet->hosts);
    free(fleet->seen_s);
    free(fleet->part);
    free(fleet->at);
    free(fleet->above);
    *fleet = (struct nt_fleet_cluster){0};
}

enum { ENTRIES_MAX = 20000000 }; /* maximum number of entries from the newest readings; 640 MB */

/* Stores the naming. Errors are ignored: the next call finds the names again. */
static void keep_naming(const char *given, const struct nt_switch_naming *naming)
{
    struct nt_store *store;
    struct nt_err ignored;
    if (nt_fleet_open(given, false, &store, &ignored) != 0)
        return;
    nt_store_set_naming(store, naming, &ignored);
    nt_store_close(store);
}

/* Sorts the data of parts as the map: the map is sorted by names, the cluster by numbers. */
static int order_parts(struct nt_fleet_cluster *fleet, struct nt_err *err)
{
    const struct nt_model *m = fleet->map->model;
    size_t n = m->hosts;
    fleet->part = calloc(n + m->switches + 1, sizeof *fleet->part);
    fleet->at = calloc(n + 1, sizeof *fleet->at);
    fleet->above = calloc(n + m->switches + 1, sizeof *fleet->above);
    if (fleet->part == NULL || fleet->at == NULL || fleet->above == NULL)
        return nt_err_memory(err);
    nt_model_parents(m, fleet->above);
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
    if (nt_map_set_text(&fleet->map->created, created, err) != 0 ||
        nt_map_set_text(&fleet->map->cluster, fleet->sums.cluster, err) != 0)
        return -1;
    fleet->map->sweep.pairs_measured = count_pairs(evidence);
    fleet->map->sweep.pairs_total = hosts * (hosts > 0 ? hosts - 1 : 0) / 2;
    return order_parts(fleet, err);
}

static bool same_naming(const struct nt_switch_naming *x, const struct nt_switch_naming *y)
{
    return x->last == y->last && x->members == y->members &&
           (x->members == 0 || memcmp(x->member, y->member, x->members * sizeof *x->member) == 0);
}

/* Creates the map; too few measurements are no error. */
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

static int load(struct nt_fleet_cluster *fleet, struct nt_store *store, const char *given,
                int64_t days_s, bool with_map, struct nt_err *err)
{
    struct nt_evidence evidence;
    if (nt_store_count(store, &fleet->sums, err) != 0 ||
        nt_store_hosts(store, &fleet->hosts, &fleet->seen_s, err) != 0)
        return -1;
    if (!with_map)
        return 0;
    if (nt_store_evidence(store, fleet->sums.last_s - days_s, ENTRIES_MAX, &evidence, err) != 0)
        return -1;
    int rc = make_map(fleet, store, given, &evidence, err);
    nt_evidence_fini(&evidence);
    return rc;
}

int nt_fleet_cluster_load(const char *given, int64_t days_s, bool with_map,
                          struct nt_fleet_cluster *out, struct nt_err *err)
{
    struct nt_fleet_cluster fleet = {0};
    struct nt_store *store;
    if (nt_fleet_open(given, true, &store, err) != 0)
        return -1;
    int rc = load(&fleet, store, given, days_s, with_map, err);
    nt_store_close(store);
    if (rc != 0) {
        nt_fleet_cluster_fini(&fleet);
        return -1;
    }
    *out = fleet;
    return 0;
}

/* ---- confirmed parts ---- */

/* Returns whether jobs of two users confirm both ends of a link, and its host has enough
 * support. */
static bool is_confirmed(const struct nt_fleet_cluster *fleet, const struct nt_link *l,
                         double support)
{
    const struct nt_cluster_part *low = &fleet->part[l->a];
    return low->confirmed && fleet->part[l->b].confirmed &&
           (l->a >= fleet->map->model->hosts || low->support >= support);
}

/* Removes switches without hosts below them from the links, and marks them. */
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

/* Renumbers the remaining switches; was[]: previous index of each vertex. */
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
    struct nt_map *map;
    int rc = m->switches > 0
                 ? nt_map_create(m, (const char *const *)fleet->map->host_name, &map, err)
                 : nt_err_set(err, NT_ERR_NO,
                              "no host has a position yet: this needs jobs of two users");
    if (rc != 0) {
        nt_model_destroy(m);
        return -1;
    }
    for (size_t s = 0; rc == 0 && s < m->switches; s++)
        rc = nt_map_set_text(&map->switch_name[s],
                             nt_map_vertex_name(fleet->map, left[m->hosts + s]), err);
    if (rc != 0) {
        nt_map_destroy(map);
        return -1;
    }
    if (was != NULL)
        memcpy(was, left, vertices * sizeof *was);
    *out = map;
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

/* ---- changes ---- */

enum { FIGURE_DIGITS = 4 };

const char *nt_fleet_kind_name(unsigned kind)
{
    static const char *const names[] = {"latency", "bandwidth up", "bandwidth down"};
    return kind < NT_FIGURE_KINDS ? names[kind] : "";
}

const char *nt_fleet_kind_unit(unsigned kind)
{
    return kind == NT_FIGURE_LATENCY ? "us" : "MB/s";
}

/* ---- which link ---- */

struct gathering {
    struct nt_changes changes;
    struct nt_reported named;
    struct nt_reported_use *crossed; /* parts that the current job uses */
    size_t crossings, crossings_room;
    size_t hosts;
    const struct nt_model *model; /* NULL: hosts' links only */
    const struct nt_cluster_part
        *part;             /* by host in the cluster's map; NULL: all are equally deep */
    const uint32_t *at;    /* by host: its vertex in the model */
    const uint32_t *above; /* by vertex of the model: the vertex above, or NT_NO_VERTEX */
    uint32_t *below;       /* by vertex: number of hosts of the current job directly below it */
    int64_t *moved_s;      /* by host: time of its last move; 0: none */
    int64_t time_s;        /* time of the current job */
};

/* Returns the uplink of the switch of that tier above the host; a switch is identified by its
 * vertex. */
static uint32_t part_above(const struct gathering *g, uint32_t host, uint32_t tier)
{
    if (tier == 0)
        return host;
    uint32_t v = g->model != NULL ? g->at[host] : NT_NO_VERTEX;
    while (v != NT_NO_VERTEX && nt_model_tier(g->model, v) < tier)
        v = g->above[v];
    return v != NT_NO_VERTEX && nt_model_tier(g->model, v) == tier && g->above[v] != NT_NO_VERTEX
               ? v
               : NT_NO_VERTEX;
}

/* Returns the switch of a host; NT_NO_VERTEX: not known. */
static uint32_t leaf_of(const struct gathering *g, uint32_t host)
{
    uint32_t v = g->model != NULL ? g->above[g->at[host]] : NT_NO_VERTEX;
    return v != NT_NO_VERTEX && nt_model_tier(g->model, v) == 1 ? v : NT_NO_VERTEX;
}

/* Returns whether the host was on its present switch at that time. */
static bool is_placed(const struct gathering *g, uint32_t host, int64_t time_s)
{
    return g->model == NULL || g->moved_s[host] == 0 ||
           (time_s >= g->moved_s[host] && leaf_of(g, host) != NT_NO_VERTEX);
}

/* Returns whether the value is comparable with those of other hosts. In a job with only one host of
 * a switch, its latency includes the links above. The same may be true if the map does not contain
 * the switch of the host. */
static bool is_comparable(const struct gathering *g, const struct nt_fleet_figure *f)
{
    uint32_t leaf = leaf_of(g, f->host);
    if (f->tier > 0 || f->kind != NT_FIGURE_LATENCY || g->model == NULL)
        return true;
    return is_placed(g, f->host, g->time_s) && leaf != NT_NO_VERTEX && g->below[leaf] > 1;
}

/* Counts the hosts of the job (step 1), or resets the counts. */
static int count_below(struct gathering *g, const struct nt_fleet_figure *f, uint32_t step)
{
    uint32_t leaf = leaf_of(g, f->host);
    if (f->tier == 0 && f->kind == NT_FIGURE_LATENCY && leaf != NT_NO_VERTEX)
        g->below[leaf] += step;
    return 0;
}

static int count_up(void *context, const struct nt_fleet_figure *f, struct nt_err *err)
{
    (void)err;
    return count_below(context, f, 1);
}

static int count_down(void *context, const struct nt_fleet_figure *f, struct nt_err *err)
{
    (void)err;
    return count_below(context, f, UINT32_MAX);
}

/* Adds a part that the job uses. value: its value; 0: none. */
static int cross(struct gathering *g, uint32_t host, uint32_t tier, uint8_t kind, float value,
                 struct nt_err *err)
{
    uint32_t part = part_above(g, host, tier);
    if (part == NT_NO_VERTEX)
        return 0;
    struct nt_reported_use *grown = nt_arena_grow(&g->named.memory, g->crossed, &g->crossings_room,
                                                  g->crossings + 1, sizeof *grown);
    if (grown == NULL)
        return nt_arena_check(&g->named.memory, err);
    bool latency = kind == NT_FIGURE_LATENCY && tier > 0;
    g->crossed = grown;
    g->crossed[g->crossings++] =
        (struct nt_reported_use){.part = {part, (uint8_t)tier, kind},
                                 .among = latency ? g->above[part] : NT_NO_VERTEX,
                                 .value = value};
    return 0;
}

/* Adds a value of a job. Latencies between switches are not comparable between jobs, because each
 * job sees other switches in between; hosts are below all of them. A lower bound is no level, but
 * may show that the link is wider than others found. */
static int take_figure(void *context, const struct nt_fleet_figure *f, struct nt_err *err)
{
    struct gathering *g = context;
    bool latency = f->kind == NT_FIGURE_LATENCY;
    if (!is_comparable(g, f))
        return 0;
    uint32_t part = latency && f->tier > 0 ? NT_NO_VERTEX : part_above(g, f->host, f->tier);
    if (part != NT_NO_VERTEX && ((!f->bound && nt_changes_add(&g->changes, f, part, err) != 0) ||
                                 cross(g, f->host, f->tier, f->kind, f->value, err) != 0))
        return -1;
    for (uint32_t t = 1; latency && f->tier == 0 && g->model != NULL && t < NT_FLEET_TIERS; t++)
        if (cross(g, f->host, t, f->kind, 0, err) != 0)
            return -1;
    return 0;
}

/* Adds a finding by the kind of its value; loss and shared paths have none. */
static int take_finding(void *context, const struct nt_store_finding *found, struct nt_err *err)
{
    struct gathering *g = context;
    const struct nt_fleet_finding *f = &found->finding;
    const struct nt_changes_job job = {found->time_s, found->job, found->user};
    uint32_t part = f->host < g->hosts ? part_above(g, f->host, f->tier) : NT_NO_VERTEX;
    bool slow = f->kind == NT_FAULT_LINK_SLOW || f->kind == NT_FAULT_HOST_SLOW;
    if (part == NT_NO_VERTEX || (!slow && f->kind != NT_FAULT_LINK_NARROW))
        return 0;
    if (slow && f->tier == 0 &&
        (!is_placed(g, f->host, found->time_s) ||
         (g->part != NULL && g->part[f->host].contradicted)))
        return 0;
    for (unsigned kind = 0; kind < NT_FIGURE_KINDS; kind++) {
        bool is = slow ? kind == NT_FIGURE_LATENCY
                       : (kind == NT_FIGURE_UP && f->way != NT_FAULT_DOWN) ||
                             (kind == NT_FIGURE_DOWN && f->way != NT_FAULT_UP);
        if (is &&
            nt_reported_add(&g->named, (struct nt_reported_part){part, f->tier, (uint8_t)kind}, job,
                            f, err) != 0)
            return -1;
    }
    return 0;
}

static int take_job(void *context, const struct nt_store_job *job, struct nt_err *err)
{
    struct gathering *g = context;
    struct nt_changes_job j = {job->time_s, job->job, job->user};
    if (nt_changes_add_job(&g->changes, j, err) != 0)
        return -1;
    static nt_packed_each_figure *const passes[] = {count_up, take_figure, count_down};
    g->crossings = 0;
    g->time_s = job->time_s;
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++)
        if (nt_packed_visit_figures(job->figures, job->figures_bytes, g->hosts, passes[k], g,
                                    err) != 0)
            return -1;
    return nt_reported_add_uses(&g->named, j, g->crossed, g->crossings, err);
}

/* Returns whether the hosts of the cluster are not equally deep. Then an undetermined host has no
 * comparable ones, whatever single jobs report. */
static bool is_uneven(const struct nt_cluster_map *c)
{
    size_t contradicted = 0;
    for (size_t h = 0; h < c->model->hosts; h++)
        contradicted += c->part[h].contradicted;
    return contradicted * NT_UNEVEN_ONE_IN > c->model->hosts;
}

static int gather(struct gathering *g, const struct nt_cluster_map *cluster, struct nt_store *store,
                  int64_t since_s, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    if (g->model != NULL) {
        size_t vertices = g->model->hosts + g->model->switches;
        g->below = nt_arena_array(&memory, vertices, sizeof *g->below);
        g->moved_s = nt_arena_array(&memory, g->hosts, sizeof *g->moved_s);
        if (nt_arena_check(&memory, err) != 0)
            return -1;
        g->part = is_uneven(cluster) ? cluster->part : NULL;
        for (size_t k = 0; k < cluster->moves; k++)
            g->moved_s[cluster->move[k].host] = cluster->move[k].time_s;
    }
    if (nt_store_visit_findings(store, since_s, take_finding, g, err) != 0)
        return -1;
    return nt_store_visit_jobs(store, since_s, take_job, g, err);
}

static int find(struct nt_fleet_changes *out, const char *given, int64_t days_s, struct nt_err *err)
{
    struct nt_store *store;
    struct gathering g = {.hosts = out->fleet.hosts.count};
    if (out->fleet.map != NULL)
        g.model = out->fleet.map->model;
    g.at = out->fleet.at;
    g.above = out->fleet.above;
    if (nt_fleet_open(given, true, &store, err) != 0)
        return -1;
    int rc = gather(&g, out->fleet.cluster, store, out->fleet.sums.last_s - days_s, err);
    nt_store_close(store);
    if (rc == 0)
        rc = nt_changes_find(&g.changes, &out->change, &out->count, err);
    if (rc == 0)
        rc = nt_reported_find(&g.named, &out->change, &out->count, err);
    nt_changes_fini(&g.changes);
    nt_reported_fini(&g.named);
    return rc;
}

int nt_fleet_changes_load(const char *given, int64_t days_s, bool with_switches,
                          struct nt_fleet_changes *out, struct nt_err *err)
{
    struct nt_fleet_changes changes = {0};
    int rc = nt_fleet_cluster_load(given, days_s, with_switches, &changes.fleet, err);
    if (rc == 0)
        rc = find(&changes, given, days_s, err);
    if (rc != 0) {
        nt_fleet_changes_fini(&changes);
        return -1;
    }
    *out = changes;
    return 0;
}

void nt_fleet_changes_fini(struct nt_fleet_changes *changes)
{
    nt_fleet_cluster_fini(&changes->fleet);
    free(changes->change);
    free(changes->explained);
    *changes = (struct nt_fleet_changes){0};
}

/* ---- hosts that only seem slow ---- */

bool nt_fleet_change_is_worse_for(const struct nt_fleet_change *c, uint32_t host)
{
    return c->part == host && c->tier == 0 && c->current && c->worse;
}

bool nt_fleet_changes_slow(const struct nt_fleet_changes *changes, uint32_t host)
{
    for (size_t k = 0; k < changes->count; k++)
        if (changes->change[k].kind == NT_FIGURE_LATENCY &&
            nt_fleet_change_is_worse_for(&changes->change[k], host))
            return true;
    return false;
}

int nt_fleet_changes_place(struct nt_fleet_changes *changes, const char *given, int64_t days_s,
                           const uint32_t *asked, size_t count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t slow = 0;
    struct nt_fleet_changes placed;
    uint32_t *seems = nt_arena_array(&memory, count, sizeof *seems);
    if (seems == NULL)
        return nt_arena_check(&memory, err);
    for (size_t k = 0; k < count; k++)
        if (asked[k] < changes->fleet.hosts.count && nt_fleet_changes_slow(changes, asked[k]))
            seems[slow++] = asked[k];
    if (slow == 0)
        return 0;
    if (nt_fleet_changes_load(given, days_s, true, &placed, err) != 0)
        return -1;
    nt_fleet_changes_fini(changes);
    *changes = placed;
    changes->explained = calloc(placed.fleet.hosts.count + 1, sizeof *changes->explained);
    if (changes->explained == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < slow; k++) /* hosts keep their numbers */
        changes->explained[seems[k]] = !nt_fleet_changes_slow(changes, seems[k]);
    return 0;
}

const struct nt_cluster_move *nt_fleet_changes_moved(const struct nt_fleet_changes *changes,
                                                     uint32_t host)
{
    const struct nt_cluster_map *c = changes->fleet.cluster;
    const struct nt_cluster_move *last = NULL;
    if (changes->explained == NULL || !changes->explained[host] || c == NULL)
        return NULL;
    for (size_t k = 0; k < c->moves; k++)
        if (c->move[k].host == host)
            last = &c->move[k];
    return last;
}

/* ---- names ---- */

void nt_fleet_since_text(const struct nt_fleet_change *c, char text[NT_SINCE_BYTES])
{
    char day[NT_UTC_BYTES];
    nt_utc_format_day(c->since_s, day);
    snprintf(text, NT_SINCE_BYTES, "since %s%s",
             c->named && c->before_s == 0 ? "the first job on " : "", day);
}

void nt_fleet_part_name(const struct nt_fleet_changes *changes, const struct nt_fleet_change *c,
                        char name[NT_PART_BYTES])
{
    const struct nt_map *map = changes->fleet.map;
    if (c->part == NT_CHANGE_CLASS) {
        snprintf(name, NT_PART_BYTES, c->tier == 0 ? "all hosts" : "all switches of tier %u",
                 c->tier);
        return;
    }
    bool host = c->part < changes->fleet.hosts.count;
    const char *below =
        host ? changes->fleet.hosts.name[c->part] : nt_map_vertex_name(map, c->part);
    uint32_t vertex = map == NULL ? 0 : host ? changes->fleet.at[c->part] : c->part;
    const char *above = map != NULL && changes->fleet.above[vertex] != NT_NO_VERTEX
                            ? nt_map_vertex_name(map, changes->fleet.above[vertex])
                            : NULL;
    snprintf(name, NT_PART_BYTES, "%.255s%s%.255s", below, above != NULL ? " " : "",
             above != NULL ? above : "");
}

void nt_fleet_change_put_json(struct nt_json_writer *w, const struct nt_fleet_change *c,
                              const char *part)
{
    nt_json_begin(w, NULL, '{', false);
    nt_json_put_text(w, "part", part);
    nt_json_put_text(w, "kind", nt_fleet_kind_name(c->kind));
    nt_json_put_text(w, "unit", nt_fleet_kind_unit(c->kind));
    nt_json_put_number(w, "from", c->from);
    nt_json_put_number(w, "to", c->to);
    nt_json_put_flag(w, "worse", c->worse);
    nt_json_put_flag(w, "current", c->current);
    if (c->named)
        nt_json_put_flag(w, "named", true);
    nt_fleet_put_json_time(w, "since", c->since_s);
    nt_fleet_put_json_time(w, "last_before", c->before_s);
    nt_json_put_whole(w, "first_job", c->first_job);
    nt_json_put_whole(w, "jobs", c->jobs);
    nt_json_put_whole(w, "users", c->users);
    nt_json_put_number(w, "confidence", c->confidence);
    nt_json_end(w, '}');
}

void nt_fleet_change_put(struct nt_strbuf *d, const struct nt_fleet_changes *changes,
                         const struct nt_fleet_change *c)
{
    char since[NT_SINCE_BYTES], part[NT_PART_BYTES], from[NT_NUMBER_BYTES], to[NT_NUMBER_BYTES];
    nt_fleet_since_text(c, since);
    nt_fleet_part_name(changes, c, part);
    nt_number_plain(c->from, FIGURE_DIGITS, from);
    nt_number_plain(c->to, FIGURE_DIGITS, to);
    nt_strbuf_puts(d, part);
    nt_strbuf_print(d,
                    ": %s %s from %s to %s %s %s, job %llu; in %u job%s of %u users, confidence "
                    "%.4f%s\n",
                    nt_fleet_kind_name(c->kind), c->worse ? "worse" : "better", from, to,
                    nt_fleet_kind_unit(c->kind), since, (unsigned long long)c->first_job, c->jobs,
                    c->jobs == 1 ? "" : "s", c->users, c->confidence,
                    c->current ? "" : "; not any more");
}

/* ---- on the map ---- */

/* Returns the finding about the same link and kind, or a new one. */
static struct nt_fault *fault_of(struct nt_map *map, enum nt_fault_kind kind, uint32_t v,
                                 uint32_t above)
{
    for (size_t k = 0; k < map->faults; k++)
        if (map->fault[k].part.kind == kind && map->fault[k].part.a == v)
            return &map->fault[k];
    struct nt_fault *f = &map->fault[map->faults++];
    *f = (struct nt_fault){.part = {kind, v, above}};
    if (v < map->model->hosts) { /* a host and its only cable */
        f->others = 1;
        f->other[0] = (struct nt_fault_part){NT_FAULT_HOST_SLOW, v, v};
    }
    return f;
}

double nt_fleet_change_added_us(const struct nt_fleet_changes *changes,
                                const struct nt_fleet_change *c)
{
    bool own_link = c->kind == NT_FIGURE_LATENCY && c->part < changes->fleet.hosts.count;
    return own_link && c->tier == 0 && !(changes->fleet.cluster->slow_us[c->part] > 0)
               ? c->to - c->from
               : 0;
}

static void mark(struct nt_map *map, const struct nt_fleet_change *c, uint32_t v, double added_us)
{
    bool slow = c->kind == NT_FIGURE_LATENCY;
    enum nt_fault_way way = slow                      ? NT_FAULT_BOTH
                            : c->kind == NT_FIGURE_UP ? NT_FAULT_UP
                                                      : NT_FAULT_DOWN;
    for (size_t k = 0; k < map->model->links; k++) {
        struct nt_link *l = &map->model->link[k];
        if (l->a != v || map->faults == NT_FAULTS_MAX)
            continue;
        struct nt_fault *f =
            fault_of(map, slow ? NT_FAULT_LINK_SLOW : NT_FAULT_LINK_NARROW, v, l->b);
        bool is_new = !(f->expected > 0), worst = is_new || c->to < f->found;
        f->way = is_new || f->way == way ? way : NT_FAULT_BOTH;
        if (worst) {
            f->found = c->to;
            f->expected = c->from;
            f->confidence = fmin(c->confidence, 1);
        }
        l->suspect = true;
        l->latency_us += added_us;
        return;
    }
}

int nt_fleet_changes_mark(struct nt_fleet_changes *changes, struct nt_err *err)
{
    struct nt_map *map = changes->fleet.map;
    if (map == NULL)
        return 0;
    map->fault = calloc(changes->count + 1, sizeof *map->fault);
    if (map->fault == NULL)
        return nt_err_memory(err);
    map->judged = true;
    for (size_t k = 0; k < changes->count; k++) {
        const struct nt_fleet_change *c = &changes->change[k];
        bool host = c->part < changes->fleet.hosts.count;
        if (c->part != NT_CHANGE_CLASS && c->current && c->worse)
            mark(map, c, host ? changes->fleet.at[c->part] : c->part,
                 nt_fleet_change_added_us(changes, c));
    }
    return 0;
}
