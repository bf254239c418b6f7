/* SPDX-License-Identifier: Apache-2.0 */
/* The hint as a result, without how it is found. */
#include <math.h>
#include <string.h>

#include "hint.h"

/* Hosts by their first rank; then the unused ones, then the missing. */
static void order_hosts(struct nt_hint *hint, const struct nt_map *map, bool *placed)
{
    size_t n = 0;
    for (size_t r = 0; r < hint->ntasks; r++) {
        uint32_t h = hint->rank_host[r];
        if (!placed[h])
            hint->host_order[n++] = h;
        placed[h] = true;
    }
    for (int missing = 0; missing < 2; missing++)
        for (uint32_t h = 0; h < map->model->hosts; h++)
            if (!placed[h] && map->model->missing[h] == (missing == 1))
                hint->host_order[n++] = h;
    hint->hosts = n;
}

struct nt_hint *nt_hint_begin(const struct nt_map *map, const char *pattern,
                              const uint32_t *rank_host, size_t n, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_hint *h = nt_object_create(sizeof *h, err);
    size_t hosts = map->model->hosts;
    if (h == NULL)
        return NULL;
    bool *placed = nt_arena_array(&memory, hosts + 1, sizeof *placed);
    h->pattern = nt_arena_text(&h->memory, pattern, strlen(pattern));
    h->rank_host = nt_arena_array(&h->memory, n + 1, sizeof *h->rank_host);
    h->host_order = nt_arena_array(&h->memory, hosts + 1, sizeof *h->host_order);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&h->memory, err) != 0) {
        nt_hint_destroy(h);
        return NULL;
    }
    h->ntasks = n;
    memcpy(h->rank_host, rank_host, n * sizeof *h->rank_host);
    order_hosts(h, map, placed);
    struct nt_metrics none = {(double)NAN, (double)NAN, (double)NAN, false};
    h->metrics = h->metrics_default = none;
    h->cost = h->cost_default = h->message_bytes = h->lower_bound = (double)NAN;
    h->gain = 1;
    return h;
}

static size_t put_ranks(uint32_t *rank_host, size_t n, uint32_t host, uint32_t ranks)
{
    for (uint32_t k = 0; k < ranks; k++)
        rank_host[n++] = host;
    return n;
}

int nt_hint_add_missing(struct nt_hint *hint, const struct nt_map *map, const uint32_t *capacity,
                        struct nt_err *err)
{
    size_t n = 0, ntasks = hint->ntasks, placed = 0, hosts = map->model->hosts;
    uint32_t first = 0;
    for (uint32_t h = 0; h < hosts; h++)
        ntasks += map->model->missing[h] ? capacity[h] : 0;
    if (ntasks == hint->ntasks)
        return 0;
    uint32_t *rank_host = nt_arena_array(&hint->memory, ntasks + 1, sizeof *rank_host);
    uint32_t *order = nt_arena_array(&hint->memory, hosts + 1, sizeof *order);
    if (nt_arena_check(&hint->memory, err) != 0)
        return -1;
    while (first < hosts && capacity[first] == 0)
        first++;
    bool leads = first < hosts && map->model->missing[first];
    if (leads) {
        n = put_ranks(rank_host, n, first, capacity[first]);
        order[placed++] = first;
    }
    memcpy(rank_host + n, hint->rank_host, hint->ntasks * sizeof *rank_host);
    n += hint->ntasks;
    for (size_t k = 0; k < hint->hosts; k++) {
        uint32_t h = hint->host_order[k];
        if (leads && h == first)
            continue;
        order[placed++] = h;
        if (map->model->missing[h])
            n = put_ranks(rank_host, n, h, capacity[h]);
    }
    hint->rank_host = rank_host;
    hint->host_order = order;
    hint->ntasks = n;
    return 0;
}

int nt_hint_unchanged(const struct nt_map *map, const char *pattern, const uint32_t *capacity,
                      size_t ntasks, struct nt_hint **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *rank_host = nt_arena_array(&memory, ntasks + 1, sizeof *rank_host);
    size_t n = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t h = 0; h < map->model->hosts; h++)
        for (uint32_t k = 0; k < capacity[h] && !map->model->missing[h] && n < ntasks; k++)
            rank_host[n++] = h;
    if (n < ntasks)
        return nt_err_set(err, NT_ERR_INPUT, "%zu tasks do not fit on hosts with room for %zu",
                          ntasks, n);
    *out = nt_hint_begin(map, pattern, rank_host, n, err);
    return *out == NULL ? -1 : 0;
}

void nt_hint_destroy(struct nt_hint *hint)
{
    nt_object_destroy(hint);
}
