/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_check.h"
#include "cluster_network.h"
#include "cluster_tiers.h"
#include "host_moves.h"
#include "memory.h"
#include "origin.h"
#include "readings.h"
#include "sparse.h"

/* ---- from tiers to a network ---- */

enum { READINGS_MOST = 200000 }; /* maximum number of readings for the fit */

/* Adds an even sample of the entries, to compute how well the classes explain them. */
static int add_readings(const struct nt_evidence *e, const bool *ignored, struct nt_sparse *s,
                        struct nt_err *err)
{
    size_t step = e->entries / READINGS_MOST + 1;
    for (size_t k = 0; k < e->entries; k += step) {
        const struct nt_evidence_entry *one = &e->entry[k];
        if (ignored[k])
            continue;
        if (nt_readings_add(&s->ledger, one->a, one->b, 0, one->ln, err) < 0 ||
            nt_readings_add(&s->readings, one->a, one->b, 0, one->ln, err) < 0)
            return -1;
    }
    s->random_pairs = s->readings.count;
    return 0;
}

/* Adds errors: if two clusters may be one, parts of one may belong to parts of the other. */
static int take_errors(const struct nt_cluster_tiers *t, struct nt_sparse *s, struct nt_err *err)
{
    uint32_t *parts = malloc((t->hosts + 1) * sizeof *parts);
    if (parts == NULL)
        return nt_err_memory(err);
    for (size_t l = t->classes.count; l-- > 0;) {
        bool top = l + 1 == t->classes.count;
        memset(parts, 0, (t->hosts + 1) * sizeof *parts);
        for (uint32_t h = 0; !top && h < t->hosts; h++)
            parts[t->up[l + 1][h]] += t->up[l][h] == h;
        for (uint32_t h = 0; h < t->hosts; h++) {
            float own = t->error[l][t->up[l][h]];
            float above = top ? 0 : s->clustering.error_probability[l + 1][h];
            float of = top ? 1 : fmaxf((float)parts[t->up[l + 1][h]], 1);
            s->clustering.error_probability[l][h] = fminf(own + above / of, 1);
        }
    }
    free(parts);
    return 0;
}

/* Creates a map with many leaf switches. Hosts count as equally deep, and each class of latencies
 * is a tier. */
static int make_even(const struct nt_evidence *e, const bool *ignored, const bool *missing,
                     const struct nt_cluster_tiers *t, struct nt_model **out, struct nt_err *err)
{
    struct nt_sparse s;
    if (nt_sparse_init_known(&s, e->hosts, missing, &t->classes, err) < 0)
        return -1;
    s.noise = t->classes.noise;
    for (size_t l = 0; l < t->classes.count; l++) {
        s.clustering.risk += t->risk[l];
        for (uint32_t h = 0; l + 1 < t->classes.count && h < e->hosts; h++)
            nt_clusters_unite(&s.clustering.clusters, l, t->up[l][h], h);
    }
    int rc = take_errors(t, &s, err);
    if (rc == 0)
        rc = add_readings(e, ignored, &s, err);
    if (rc == 0)
        rc = nt_sparse_model(&s, out, err);
    nt_sparse_fini(&s);
    return rc;
}

static int make_model(const struct nt_evidence *e, const bool *ignored, const bool *missing,
                      const struct nt_cluster_tiers *t, struct nt_model **out, struct nt_err *err)
{
    bool fits;
    *out = NULL;
    if (nt_cluster_network_fits(e, t, &fits, err) != 0 ||
        (fits && nt_cluster_network_find(e, ignored, missing, t, out, err) != 0))
        return -1;
    return *out != NULL ? 0 : make_even(e, ignored, missing, t, out, err);
}

/* ---- support and age ---- */

static void see(struct nt_cluster_part *part, int64_t time_s, uint32_t job, uint32_t user,
                uint32_t last[2])
{
    if (part->jobs == 0 || time_s < part->first_s)
        part->first_s = time_s;
    if (part->jobs == 0 || time_s > part->last_s)
        part->last_s = time_s;
    part->jobs += last[0] != job;
    part->users += last[1] != user && user != NT_NO_USER;
    last[0] = job;
    last[1] = user;
}

struct seen {
    uint32_t user, job;
    size_t entry;
};

static int compare_seen(const void *x, const void *y)
{
    const struct seen *p = x, *q = y;
    return NT_ORDER(p->user, q->user, NT_ORDER(p->job, q->job, 0));
}

/* Sets times, jobs and users of parts: the job of an entry confirms every vertex on the path
 * between its hosts. */
static int state_parts(const struct nt_evidence *e, const bool *ignored, struct nt_cluster_map *c,
                       struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_model *m = c->model;
    size_t vertices = m->hosts + m->switches;
    uint32_t *parent = nt_arena_array(&memory, vertices + 1, sizeof *parent);
    double *support = nt_arena_array(&memory, vertices + 1, sizeof *support);
    uint32_t(*last)[2] = nt_arena_array(&memory, vertices + 1, sizeof *last);
    struct seen *seen = nt_arena_array(&memory, e->entries + 1, sizeof *seen);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    memset(last, 0xff, (vertices + 1) * sizeof *last);
    memset(parent, 0xff, (vertices + 1) * sizeof *parent);
    for (size_t k = 0; k < m->links; k++) { /* one of two vertices at the root is above the other */
        parent[m->link[k].a] = m->link[k].b;
        support[m->link[k].a] = m->link[k].probability;
    }
    for (size_t k = 0; k < e->entries; k++)
        seen[k] = (struct seen){e->job[e->entry[k].job].user, e->entry[k].job, k};
    qsort(seen, e->entries, sizeof *seen, compare_seen);
    for (size_t k = 0; k < e->entries; k++) {
        const struct nt_evidence_entry *one = &e->entry[seen[k].entry];
        if (ignored[seen[k].entry])
            continue;
        for (int end = 0; end < 2; end++)
            for (uint32_t v = end == 0 ? one->a : one->b; v != UINT32_MAX; v = parent[v])
                see(&c->part[v], e->job[one->job].time_s, one->job, seen[k].user, last[v]);
    }
    for (size_t v = 0; v < vertices; v++)
        c->part[v].support = parent[v] == UINT32_MAX ? c->part[v].jobs > 0 : support[v];
    return 0;
}

/* ---- all of it ---- */

static int find_missing(const struct nt_evidence *e, bool **out, struct nt_err *err)
{
    bool *missing = malloc(e->hosts + 1);
    if (missing == NULL)
        return nt_err_memory(err);
    memset(missing, true, e->hosts + 1);
    for (size_t k = 0; k < e->entries; k++)
        missing[e->entry[k].a] = missing[e->entry[k].b] = false;
    *out = missing;
    return 0;
}

static bool any_of(const bool *flag, size_t n)
{
    size_t k = 0;
    while (k < n && !flag[k])
        k++;
    return k < n;
}

/* Creates the network of all hosts that it explains; the others are omitted in the next
 * iteration. */
static int make_checked(const struct nt_evidence *e, const bool *ignored, bool *missing,
                        const struct nt_cluster_tiers *tiers, struct nt_cluster_map *c,
                        struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_checked_parts now = {nt_arena_array(&memory, e->hosts + 1, sizeof(bool)),
                                         nt_arena_array(&memory, 2 * e->hosts + 2, sizeof(bool))};
    bool *contradicted = nt_arena_array(&memory, e->hosts + 1, sizeof *contradicted);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    do {
        nt_model_destroy(c->model);
        c->model = NULL;
        for (size_t h = 0; h < e->hosts; h++)
            missing[h] |= contradicted[h] |= now.contradicted[h];
        if (make_model(e, ignored, missing, tiers, &c->model, err) != 0 ||
            nt_cluster_check(e, ignored, c->model, tiers->classes.noise, &now, err) != 0)
            return -1;
    } while (any_of(now.contradicted, e->hosts));
    size_t vertices = c->model->hosts + c->model->switches;
    c->part = calloc(vertices + 1, sizeof *c->part);
    for (size_t v = 0; c->part != NULL && v < vertices; v++) {
        c->part[v].confirmed = now.confirmed[v];
        c->part[v].contradicted = v < e->hosts && contradicted[v];
    }
    return c->part != NULL ? 0 : nt_err_memory(err);
}

static int make_parts(const struct nt_evidence *e, const bool *ignored,
                      const struct nt_switch_naming *naming, struct nt_switch_naming *after,
                      struct nt_cluster_map *c, struct nt_err *err)
{
    c->switch_number = calloc(c->model->switches + 1, sizeof *c->switch_number);
    if (c->switch_number == NULL)
        return nt_err_memory(err);
    if (state_parts(e, ignored, c, err) < 0)
        return -1;
    return nt_switch_naming_match(naming, c->model, c->switch_number, after, err);
}

/* Places hosts with a slow link without its additional latency: finds classes and tiers again. */
static int take_slow_out(struct nt_evidence *e, struct nt_classes *classes, const bool *ignored,
                         struct nt_cluster_tiers *tiers, struct nt_cluster_map *c,
                         struct nt_err *err)
{
    size_t slow = 0;
    c->slow_us = calloc(e->hosts + 1, sizeof *c->slow_us);
    if (c->slow_us == NULL)
        return nt_err_memory(err);
    if (nt_slow_links_correct(e, tiers, c->slow_us, &slow, err) != 0)
        return -1;
    if (slow == 0)
        return 0;
    nt_cluster_tiers_fini(tiers);
    if (nt_cluster_tiers_classes(e, classes, err) != 0)
        return -1;
    return nt_cluster_tiers_find(e, classes, ignored, tiers, err);
}

static int fill(struct nt_evidence *e, const struct nt_switch_naming *naming,
                struct nt_switch_naming *after, struct nt_cluster_map *c, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_classes classes;
    struct nt_cluster_tiers tiers = {0};
    bool *missing = NULL;
    if (nt_evidence_align(e, err) < 0 || nt_cluster_tiers_classes(e, &classes, err) < 0)
        return -1;
    for (size_t j = 0; j < e->jobs; j++)
        c->jobs_unaligned += isnan(e->job[j].offset_ln) ? 1 : 0;
    if (nt_class_align(e, &classes, err) < 0 || nt_cluster_tiers_classes(e, &classes, err) < 0)
        return -1;
    bool *ignored = nt_arena_array(&memory, e->entries + 1, sizeof *ignored);
    if (nt_arena_check(&memory, err) < 0 || find_missing(e, &missing, err) < 0)
        return -1;
    int rc = nt_cluster_tiers_find(e, &classes, ignored, &tiers, err);
    if (rc == 0)
        rc = take_slow_out(e, &classes, ignored, &tiers, c, err);
    if (rc == 0)
        rc = nt_host_moves_find(e, &tiers, ignored, &c->move, &c->moves, err);
    if (rc == 0 && any_of(ignored, e->entries)) {
        nt_cluster_tiers_fini(&tiers);
        rc = nt_cluster_tiers_find(e, &classes, ignored, &tiers, err);
    }
    if (rc == 0)
        rc = make_checked(e, ignored, missing, &tiers, c, err);
    if (rc == 0)
        rc = make_parts(e, ignored, naming, after, c, err);
    for (size_t k = 0; rc == 0 && k < c->model->links; k++)
        if (c->model->link[k].a < e->hosts)
            c->model->link[k].latency_us += c->slow_us[c->model->link[k].a];
    c->classes = classes.count;
    c->noise = classes.noise;
    for (size_t k = 0; k < classes.count; k++)
        c->class_us[k] = exp(classes.mean[k]);
    nt_cluster_tiers_fini(&tiers);
    free(missing);
    return rc;
}

int nt_cluster_map_create(struct nt_evidence *e, const struct nt_switch_naming *naming,
                          struct nt_switch_naming *after, struct nt_cluster_map **out,
                          struct nt_err *err)
{
    struct nt_cluster_map *c = calloc(1, sizeof *c);
    if (c == NULL)
        return nt_err_memory(err);
    if (fill(e, naming, after, c, err) < 0) {
        nt_cluster_map_destroy(c);
        return -1;
    }
    *out = c;
    return 0;
}

void nt_cluster_map_destroy(struct nt_cluster_map *c)
{
    if (c == NULL)
        return;
    nt_model_destroy(c->model);
    free(c->part);
    free(c->switch_number);
    free(c->slow_us);
    free(c->move);
    free(c);
}

static int name_parts(const struct nt_cluster_map *c, struct nt_map *map, struct nt_err *err)
{
    int rc = nt_map_set_text(&map->level, "fleet", err);
    for (size_t s = 0; rc == 0 && s < c->model->switches; s++) {
        char name[16];
        snprintf(name, sizeof name, "s%u", c->switch_number[s]);
        rc = nt_map_set_text(&map->switch_name[s], name, err);
    }
    for (size_t h = 0; h < map->model->hosts; h++)
        if (map->model->missing[h])
            map->status = NT_STATUS_PARTIAL;
    return rc == 0 ? nt_map_sort(map, err) : -1;
}

int nt_cluster_map_named(const struct nt_cluster_map *c, const char *const *host_names,
                         struct nt_map **out, struct nt_err *err)
{
    struct nt_model *model;
    struct nt_map *map;
    if (nt_model_copy(c->model, &model, err) < 0)
        return -1;
    if (nt_map_create(model, host_names, &map, err) < 0) {
        nt_model_destroy(model);
        return -1;
    }
    if (name_parts(c, map, err) < 0) {
        nt_map_destroy(map);
        return -1;
    }
    *out = map;
    return 0;
}
