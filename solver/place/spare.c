/* SPDX-License-Identifier: Apache-2.0 */
#include "spare.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cost.h"
#include "equal_parts.h"
#include "hierarchy.h"
#include "memory.h"

/* With more hosts only the worst host of each switch is tried: hosts of one switch with similar
 * links make the same difference. */
enum { TRY_ALL_HOSTS = 64 };

/* Number of steps to choose spares; each tries all candidates. */
enum { STEPS = 16 };

struct choice {
    const struct nt_map *map;
    const char *pattern;
    const struct nt_traffic *matrix;
    struct nt_model *equalised; /* model with equalised values (equal_parts.h) */
    struct nt_distance *distance;
    uint32_t *capacity, *left_out;
    size_t spares, count, hosts; /* hosts to remove; removed hosts; hosts with tasks */
    uint32_t first;              /* the job's first host */
};

/* A host, or all hosts below a switch. */
struct candidate {
    uint32_t vertex;
    size_t hosts;
    double saves_us; /* per host */
    double finding;  /* highest confidence of a finding at the host; 0: none */
};

static void leave_out(struct choice *c, uint32_t host)
{
    if (c->count == c->spares || c->capacity[host] == 0 || c->hosts <= 1)
        return;
    c->capacity[host] = 0;
    c->left_out[c->count++] = host;
    c->hosts--;
}

/* ---- findings ---- */

/* Returns the host of a part: a host, or its cable. UINT32_MAX: none. */
static uint32_t host_of_part(const struct nt_model *m, const struct nt_fault_part *part)
{
    if (part->kind == NT_FAULT_PATH_SHARED ||
        (part->a < m->hosts && part->b < m->hosts && part->a != part->b))
        return UINT32_MAX;
    return part->a < m->hosts ? part->a : part->b < m->hosts ? part->b : UINT32_MAX;
}

static double finding_of(const struct nt_map *map, uint32_t host)
{
    double most = 0;
    for (size_t k = 0; k < map->faults; k++) {
        const struct nt_fault *f = &map->fault[k];
        bool named = host_of_part(map->model, &f->part) == host;
        for (uint32_t o = 0; o < f->others; o++)
            named = named || host_of_part(map->model, &f->other[o]) == host;
        if (named && f->confidence > most)
            most = f->confidence;
    }
    return most;
}

/* ---- the predicted time ---- */

/* Predicts the time of a simple placement of all tasks on the remaining hosts; NaN: not
 * possible. */
static int predict_us(const struct choice *c, double *us, struct nt_err *err)
{
    struct nt_traffic *made = NULL;
    struct nt_hierarchy *hierarchy = NULL;
    NT_SCOPED struct nt_arena memory = {0};
    size_t tasks = 0;
    int rc = -1;
    struct nt_metrics metrics;
    for (size_t h = 0; h < c->map->model->hosts; h++)
        tasks += c->map->model->missing[h] ? 0 : c->capacity[h];
    *us = (double)NAN;
    /* a stencil matches only one number of tasks */
    if (c->matrix == NULL && nt_traffic_create(c->pattern, tasks, &made, NULL) != 0 &&
        nt_traffic_create("neighbour", tasks, &made, err) != 0)
        return -1;
    const struct nt_traffic *traffic = c->matrix != NULL ? c->matrix : made;
    uint32_t *rank_host = nt_arena_array(&memory, traffic->tasks + 1, sizeof *rank_host);
    if (traffic->tasks > tasks) {
        rc = 0;
        goto out;
    }
    if (nt_arena_check(&memory, err) != 0 ||
        nt_hierarchy_create(c->distance, c->capacity, &hierarchy, err) != 0 ||
        nt_construct(hierarchy, traffic, NT_SPLIT_BY_RANK, 1, rank_host, err) != 0 ||
        nt_cost(c->distance, traffic, rank_host, &metrics, err) != 0)
        goto out;
    *us = nt_cost_total_us(&metrics);
    rc = 0;
out:
    nt_hierarchy_destroy(hierarchy);
    nt_traffic_destroy(made);
    return rc;
}

static bool is_below(const struct choice *c, uint32_t host, uint32_t vertex)
{
    uint32_t v = host;
    while (v != vertex && v != UINT32_MAX && c->distance != NULL &&
           nt_distance_is_tree(c->distance))
        v = nt_distance_parent(c->distance, v);
    return v == vertex;
}

/* Computes the saving per host of removing all hosts below the vertex; hosts 0: they cannot be
 * removed. */
static int try_candidate(struct choice *c, double now_us, struct candidate *candidate,
                         struct nt_err *err)
{
    const struct nt_model *m = c->equalised;
    uint32_t vertex = candidate->vertex;
    double us;
    candidate->hosts = 0;
    for (uint32_t h = 0; h < m->hosts; h++)
        candidate->hosts += c->capacity[h] > 0 && is_below(c, h, vertex);
    if (candidate->hosts > c->spares - c->count || candidate->hosts >= c->hosts ||
        (candidate->finding <= 0 && is_below(c, c->first, vertex)) ||
        (vertex >= m->hosts && candidate->hosts < 2)) {
        candidate->hosts = 0;
        return 0;
    }
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *kept = nt_arena_array(&memory, m->hosts + 1, sizeof *kept);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t h = 0; h < m->hosts; h++) {
        kept[h] = c->capacity[h];
        if (is_below(c, h, vertex))
            c->capacity[h] = 0;
    }
    int rc = predict_us(c, &us, err);
    for (uint32_t h = 0; h < m->hosts; h++)
        c->capacity[h] = kept[h];
    candidate->saves_us = (now_us - us) / (double)candidate->hosts;
    if (isnan(candidate->saves_us)) {
        candidate->saves_us = 0;
        candidate->hosts = candidate->finding > 0; /* leave it out in any case */
    }
    return rc;
}

/* Returns whether to try a host. In a large job only the host with the slowest link of each switch
 * is tried. */
static bool is_tried(const struct choice *c, uint32_t host)
{
    const struct nt_model *m = c->equalised;
    if (m->hosts <= TRY_ALL_HOSTS || !nt_distance_is_tree(c->distance))
        return true;
    uint32_t up = nt_distance_parent(c->distance, host);
    for (uint32_t h = host + 1; h < m->hosts; h++)
        if (c->capacity[h] > 0 && nt_distance_parent(c->distance, h) == up &&
            nt_distance_latency(c->distance, h, c->first) >=
                nt_distance_latency(c->distance, host, c->first))
            return false;
    return true;
}

static int by_saving(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    const int last_host = NT_ORDER(y->finding, x->finding, NT_ORDER(y->vertex, x->vertex, 0));
    return NT_ORDER(x->hosts == 0, y->hosts == 0, NT_ORDER(y->saves_us, x->saves_us, last_host));
}

/* Lists the hosts with a finding, but only the most probable TRY_ALL_HOSTS. */
static size_t list_found(const struct choice *c, struct candidate *candidate)
{
    size_t n = 0;
    for (uint32_t h = 0; h < c->map->model->hosts; h++) {
        double finding = c->capacity[h] > 0 ? finding_of(c->map, h) : 0;
        if (finding > 0)
            candidate[n++] = (struct candidate){.vertex = h, .hosts = 1, .finding = finding};
    }
    qsort(candidate, n, sizeof *candidate, by_saving);
    return n < TRY_ALL_HOSTS ? n : TRY_ALL_HOSTS;
}

/* Lists the hosts to try, and the switches of a tree. */
static size_t list_all(const struct choice *c, struct candidate *candidate)
{
    const struct nt_model *m = c->equalised;
    size_t n = 0;
    for (uint32_t v = 0; c->distance != NULL && v < m->hosts + m->switches; v++)
        if (v < m->hosts ? c->capacity[v] > 0 && is_tried(c, v) : nt_distance_is_tree(c->distance))
            candidate[n++] = (struct candidate){.vertex = v};
    return n;
}

/* Tries the candidates, in several steps, and removes the best ones of each. */
static int leave_out_best(struct choice *c, struct candidate *candidate,
                          size_t (*list)(const struct choice *, struct candidate *),
                          struct nt_err *err)
{
    for (size_t step = 0; c->count < c->spares && c->hosts > 1; step++) {
        size_t steps = step < STEPS ? STEPS - step : 1, before = c->count, n = list(c, candidate);
        size_t most = (c->spares - before + steps - 1) / steps;
        double now_us;
        if (n == 0)
            break;
        if (c->distance != NULL && predict_us(c, &now_us, err) != 0)
            return -1;
        for (size_t k = 0; c->distance != NULL && k < n; k++)
            if (try_candidate(c, now_us, &candidate[k], err) != 0)
                return -1;
        qsort(candidate, n, sizeof *candidate, by_saving);
        for (size_t k = 0; k < n && candidate[k].hosts > 0 && c->count - before < most; k++)
            for (uint32_t h = (uint32_t)c->map->model->hosts;
                 candidate[k].hosts <= c->spares - c->count && h-- > 0;)
                if (is_below(c, h, candidate[k].vertex))
                    leave_out(c, h);
        if (c->count == before)
            break;
    }
    return 0;
}

int nt_spare_choose(const struct nt_map *map, const struct nt_hint_request *request, size_t spares,
                    uint32_t *left_out, size_t *count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct choice c = {.map = map,
                       .pattern = request->pattern,
                       .matrix = request->traffic,
                       .capacity = request->capacity,
                       .left_out = left_out,
                       .spares = spares};
    const struct nt_model *m = map->model;
    int rc = 0;
    for (uint32_t h = (uint32_t)m->hosts; h-- > 0;)
        if (c.capacity[h] > 0) {
            c.hosts++;
            c.first = h;
        }
    for (uint32_t h = (uint32_t)m->hosts; h-- > 0;)
        if (m->missing[h])
            leave_out(&c, h);
    struct candidate *candidate =
        nt_arena_array(&memory, m->hosts + m->switches + 1, sizeof *candidate);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (c.count < spares && c.hosts > 1 && m->links > 0)
        rc = nt_equal_figures_create(m, &c.equalised, err) != 0
                 ? -1
                 : nt_distance_create(c.equalised, &c.distance, err);
    if (rc == 0)
        rc = leave_out_best(&c, candidate, list_found, err);
    if (rc == 0)
        rc = leave_out_best(&c, candidate, list_all, err);
    for (uint32_t h = (uint32_t)m->hosts; rc == 0 && h-- > 0;)
        if (h != c.first) /* where nothing can be predicted */
            leave_out(&c, h);
    nt_distance_destroy(c.distance);
    nt_model_destroy(c.equalised);
    *count = c.count;
    return rc;
}
