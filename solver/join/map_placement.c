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

/* What is to be placed. */
struct asked {
    uint32_t *slots;
    const char *pattern;
    const struct nt_samples *samples; /* may be NULL */
    size_t tasks;
};

/* What a communication matrix said is in the record: the solver reads no file. */
static int place_traffic(const struct nt_map *map, const struct asked *a, struct nt_hint **out,
                         struct nt_err *err)
{
    const struct nt_triples *t = a->samples == NULL ? NULL : &a->samples->traffic;
    struct nt_traffic *traffic;
    if (t == NULL || t->ntasks == 0)
        return nt_err_set(err, NT_ERR_INPUT, "the record does not hold it");
    if (t->ntasks > a->tasks)
        return nt_err_set(err, NT_ERR_INPUT, "%zu ranks for %zu tasks", t->ntasks, a->tasks);
    if (nt_traffic_from_triples(a->tasks, (const uint32_t(*)[2])t->pair, t->bytes, t->n, &traffic,
                                err) != 0)
        return -1;
    int rc = nt_hint_from_traffic(map, traffic, a->pattern, a->slots, false, out, err);
    nt_traffic_destroy(traffic);
    return rc;
}

/* The hint for the hosts that are left; NULL, with a warning, if there is none. */
static int find_hint(struct nt_map *map, const struct asked *a, struct nt_hint **hint,
                     struct nt_err *err)
{
    struct nt_err why = {0};
    int rc = nt_pattern_matrix(a->pattern) != NULL
                 ? place_traffic(map, a, hint, &why)
                 : nt_hint_create(map, a->pattern, a->slots, a->tasks, false, hint, &why);
    if (rc != 0 && why.kind == NT_ERR_INPUT && strcmp(a->pattern, "neighbour") != 0) {
        if (nt_map_warn(map, err, "pattern %s: %s; the hint is for neighbour", a->pattern,
                        why.text) != 0)
            return -1;
        rc = nt_hint_create(map, "neighbour", a->slots, a->tasks, false, hint, &why);
    }
    if (rc != 0 && why.kind == NT_ERR_INPUT)
        return nt_map_warn(map, err, "no placement: %s", why.text);
    if (rc != 0)
        *err = why;
    return rc;
}

static int choose_spares(const struct nt_map *map, const struct asked *a, uint32_t *spare,
                         size_t *spares, struct nt_err *err)
{
    const struct nt_triples *t = a->samples == NULL ? NULL : &a->samples->traffic;
    struct nt_traffic *matrix = NULL;
    *spares = 0;
    if (a->samples == NULL || a->samples->job.spare == 0)
        return 0;
    if (nt_pattern_matrix(a->pattern) != NULL && t->ntasks > 0 &&
        nt_traffic_from_triples(t->ntasks, (const uint32_t(*)[2])t->pair, t->bytes, t->n, &matrix,
                                err) != 0)
        return -1;
    int rc = nt_spare_choose(map, a->pattern, matrix, a->slots, a->samples->job.spare, spare,
                             spares, err);
    nt_traffic_destroy(matrix);
    return rc;
}

int nt_map_place(struct nt_map *map, const uint32_t *slots, const char *asked,
                 const struct nt_samples *samples, bool determined, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    NT_SCOPED struct nt_arena memory = {0};
    struct asked a = {.slots = nt_arena_array(&memory, m->hosts + 1, sizeof *a.slots),
                      .pattern = asked[0] == '\0' ? "neighbour" : asked,
                      .samples = samples};
    uint32_t *spare = nt_arena_array(&memory, m->hosts + 1, sizeof *spare);
    struct nt_hint *hint = NULL;
    size_t spares;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memcpy(a.slots, slots, m->hosts * sizeof *slots);
    if (choose_spares(map, &a, spare, &spares, err) != 0)
        return -1;
    for (size_t k = 0; k < m->hosts; k++)
        a.tasks += m->missing[k] ? 0 : a.slots[k];
    if (a.tasks == 0)
        return 0; /* nobody to place */
    if (determined && find_hint(map, &a, &hint, err) != 0)
        return -1;
    if (hint == NULL && spares == 0)
        return 0;
    int rc = hint == NULL ? nt_hint_unchanged(map, a.pattern, a.slots, a.tasks, &hint, err) : 0;
    if (rc == 0)
        rc = nt_hint_add_missing(hint, map, a.slots, err);
    if (rc == 0)
        rc = keep_hint(map, hint, spare, spares, err);
    nt_hint_destroy(hint);
    return rc;
}
