/* SPDX-License-Identifier: Apache-2.0 */
#include "map_placement.h"

#include <stdlib.h>
#include <string.h>

#include "hint.h"
#include "memory.h"
#include "option.h"
#include "spare.h"

static int keep_hint(struct nt_map *map, const struct nt_hint *hint, const uint32_t *spare,
                     size_t spares, struct nt_err *err)
{
    struct nt_placement *p = calloc(1, sizeof *p);
    uint32_t *order = malloc((hint->hosts + 1) * sizeof *order);
    uint32_t *rank_host = malloc((hint->ntasks + 1) * sizeof *rank_host);
    uint32_t *left_out = malloc((spares + 1) * sizeof *left_out);
    bool *is_spare = calloc(map->model->hosts + 1, sizeof *is_spare);
    size_t hosts = 0;
    if (p == NULL || order == NULL || rank_host == NULL || left_out == NULL || is_spare == NULL) {
        free(p);
        free(order);
        free(rank_host);
        free(left_out);
        free(is_spare);
        return nt_err_memory(err);
    }
    for (size_t k = 0; k < spares; k++)
        is_spare[left_out[k] = spare[k]] = true;
    for (size_t k = 0; k < hint->hosts; k++)
        if (!is_spare[hint->host_order[k]])
            order[hosts++] = hint->host_order[k];
    free(is_spare);
    memcpy(rank_host, hint->rank_host, hint->ntasks * sizeof *rank_host);
    *p = (struct nt_placement){.order = order,
                               .hosts = hosts,
                               .cost = hint->cost,
                               .cost_default = hint->cost_default,
                               .gain = hint->gain,
                               .message_bytes = hint->message_bytes,
                               .first_percent = hint->first_percent,
                               .spare = left_out,
                               .spares = spares,
                               .ntasks = hint->ntasks,
                               .rank_host = rank_host};
    strncpy(p->pattern, hint->pattern, sizeof p->pattern - 1);
    map->placement = p;
    return 0;
}

/* The communication matrix of the samples, for these tasks: the solver reads no file. */
static int make_traffic(const struct nt_triples *t, size_t tasks, struct nt_traffic **out,
                        struct nt_err *err)
{
    return nt_traffic_from_triples(tasks, (const uint32_t(*)[2])t->pair, t->bytes, t->n, out, err);
}

static int place_traffic(const struct nt_map *map, const struct nt_triples *t,
                         struct nt_hint_request asked, struct nt_hint **out, struct nt_err *err)
{
    struct nt_traffic *traffic;
    if (t == NULL || t->ntasks == 0)
        return nt_err_set(err, NT_ERR_INPUT, "the samples contain no traffic of pattern %.200s",
                          asked.pattern);
    if (t->ntasks > asked.tasks)
        return nt_err_set(err, NT_ERR_INPUT, "pattern %.200s needs %zu tasks, but the job has %zu",
                          asked.pattern, t->ntasks, asked.tasks);
    if (make_traffic(t, asked.tasks, &traffic, err) != 0)
        return -1;
    asked.traffic = traffic;
    int rc = nt_hint_create(map, &asked, out, err);
    nt_traffic_destroy(traffic);
    return rc;
}

/* The hint for the hosts that are left; NULL, with a warning, if there is none. */
static int find_hint(struct nt_map *map, struct nt_hint_request asked, const struct nt_triples *t,
                     struct nt_hint **hint, struct nt_err *err)
{
    struct nt_err why = {0};
    int rc = nt_pattern_matrix(asked.pattern) != NULL ? place_traffic(map, t, asked, hint, &why)
                                                      : nt_hint_create(map, &asked, hint, &why);
    if (rc != 0 && why.kind != NT_ERR_SYSTEM && strcmp(asked.pattern, "neighbour") != 0) {
        if (nt_map_warn(map, err, "%s; the hint is for neighbour", why.text) != 0)
            return -1;
        asked.pattern = "neighbour";
        rc = nt_hint_create(map, &asked, hint, &why);
    }
    if (rc != 0 && why.kind != NT_ERR_SYSTEM)
        return nt_map_warn(map, err, "no placement: %s", why.text);
    if (rc != 0)
        *err = why;
    return rc;
}

static int choose_spares(struct nt_map *map, struct nt_hint_request asked,
                         const struct nt_samples *samples, uint32_t *spare, size_t *spares,
                         struct nt_err *err)
{
    struct nt_traffic *matrix = NULL;
    *spares = 0;
    if (samples == NULL || samples->job.spare == 0)
        return 0;
    if (nt_pattern_matrix(asked.pattern) != NULL && samples->traffic.ntasks > 0 &&
        make_traffic(&samples->traffic, samples->traffic.ntasks, &matrix, err) != 0)
        return -1;
    asked.traffic = matrix;
    int rc = nt_spare_choose(map, &asked, samples->job.spare, spare, spares, err);
    nt_traffic_destroy(matrix);
    if (rc == 0 && *spares < samples->job.spare)
        rc = nt_map_warn(map, err, "spare=%u: the job has %zu hosts, so %zu %s left out",
                         samples->job.spare, map->model->hosts, *spares,
                         *spares == 1 ? "is" : "are");
    return rc;
}

int nt_map_place(struct nt_map *map, const uint32_t *slots, const char *pattern,
                 const struct nt_samples *samples, bool determined, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_hint_request asked = {
        .pattern = pattern[0] == '\0' ? "neighbour" : pattern,
        .capacity = nt_arena_array(&memory, m->hosts + 1, sizeof *asked.capacity)};
    uint32_t *spare = nt_arena_array(&memory, m->hosts + 1, sizeof *spare);
    struct nt_hint *hint = NULL;
    size_t spares;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memcpy(asked.capacity, slots, m->hosts * sizeof *slots);
    if (choose_spares(map, asked, samples, spare, &spares, err) != 0)
        return -1;
    for (size_t k = 0; k < m->hosts; k++)
        asked.tasks += m->missing[k] ? 0 : asked.capacity[k];
    if (asked.tasks == 0)
        return 0; /* nobody to place */
    if (determined &&
        find_hint(map, asked, samples == NULL ? NULL : &samples->traffic, &hint, err) != 0)
        return -1;
    if (hint == NULL && spares == 0)
        return 0;
    int rc = hint == NULL
                 ? nt_hint_unchanged(map, asked.pattern, asked.capacity, asked.tasks, &hint, err)
                 : 0;
    if (rc == 0)
        rc = nt_hint_add_missing(hint, map, asked.capacity, err);
    if (rc == 0)
        rc = keep_hint(map, hint, spare, spares, err);
    nt_hint_destroy(hint);
    return rc;
}
