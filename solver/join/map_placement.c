/* SPDX-License-Identifier: Apache-2.0 */
#include "map_placement.h"

#include <stdlib.h>
#include <string.h>

#include "hint.h"
#include "option.h"

/* Any fixed number: the same map must give the same hint. */
static const uint64_t seed = 1;

static int keep_hint(struct nt_map *map, const struct nt_hint *hint, struct nt_err *err)
{
    struct nt_placement *p = calloc(1, sizeof *p);
    uint32_t *order = malloc((hint->hosts + 1) * sizeof *order);
    uint32_t *rank_host = malloc((hint->ntasks + 1) * sizeof *rank_host);
    if (p == NULL || order == NULL || rank_host == NULL) {
        free(p);
        free(order);
        free(rank_host);
        return nt_err_memory(err);
    }
    memcpy(order, hint->host_order, hint->hosts * sizeof *order);
    memcpy(rank_host, hint->rank_host, hint->ntasks * sizeof *rank_host);
    *p = (struct nt_placement){.order = order,
                               .hosts = hint->hosts,
                               .cost = hint->cost,
                               .cost_default = hint->cost_default,
                               .gain = hint->gain,
                               .message_bytes = hint->message_bytes,
                               .ntasks = hint->ntasks,
                               .rank_host = rank_host};
    strncpy(p->pattern, hint->pattern, sizeof p->pattern - 1);
    map->placement = p;
    return 0;
}

/* What a communication matrix said is in the record: the solver reads no file. */
static int place_traffic(const struct nt_map *map, const uint32_t *slots, const char *pattern,
                         const struct nt_samples *samples, size_t tasks, struct nt_hint **out,
                         struct nt_err *err)
{
    const struct nt_triples *t = samples == NULL ? NULL : &samples->traffic;
    struct nt_traffic *traffic;
    if (t == NULL || t->ntasks == 0)
        return nt_err_set(err, NT_ERR_INPUT, "the record does not hold it");
    if (t->ntasks > tasks)
        return nt_err_set(err, NT_ERR_INPUT, "%zu ranks for %zu tasks", t->ntasks, tasks);
    if (nt_traffic_from_triples(tasks, (const uint32_t(*)[2])t->pair, t->bytes, t->n, &traffic,
                                err) != 0)
        return -1;
    int rc = nt_hint_from_traffic(map, traffic, pattern, slots, seed, out, err);
    nt_traffic_destroy(traffic);
    return rc;
}

int nt_map_place(struct nt_map *map, const uint32_t *slots, const char *asked,
                 const struct nt_samples *samples, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    const char *pattern = asked[0] == '\0' ? "neighbour" : asked;
    struct nt_hint *hint = NULL;
    struct nt_err why = {0};
    size_t tasks = 0;
    for (size_t k = 0; k < m->hosts; k++)
        tasks += m->missing[k] ? 0 : slots[k];
    if (tasks == 0)
        return 0; /* nobody to place */
    int rc = nt_pattern_matrix(pattern) != NULL
                 ? place_traffic(map, slots, pattern, samples, tasks, &hint, &why)
                 : nt_hint_create(map, pattern, slots, tasks, seed, &hint, &why);
    if (rc != 0 && why.kind == NT_ERR_INPUT && strcmp(pattern, "neighbour") != 0) {
        if (nt_map_warn(map, err, "pattern %s: %s; the hint is for neighbour", pattern, why.text) !=
            0)
            return -1;
        rc = nt_hint_create(map, "neighbour", slots, tasks, seed, &hint, &why);
    }
    if (rc != 0 && why.kind == NT_ERR_INPUT)
        return nt_map_warn(map, err, "no placement: %s", why.text);
    if (rc != 0) {
        *err = why;
        return -1;
    }
    rc = keep_hint(map, hint, err);
    nt_hint_destroy(hint);
    return rc;
}
