/* SPDX-License-Identifier: Apache-2.0 */
#include "map_machines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine_text.h"
#include "memory.h"
#include "names.h"
#include "stats.h"

struct work {
    const struct nt_samples *samples;
    struct nt_map *map;
    uint32_t *host;    /* of the map's: the record's */
    uint32_t *machine; /* of the record's models: the map's */
    float *us;         /* room for the hosts of a model */
};

static int find_hosts(struct work *w, struct nt_err *err)
{
    for (size_t k = 0; k < w->map->model->hosts; k++) {
        const char *name = w->map->host_name[k];
        w->host[k] = nt_names_find(w->samples->names, name, strlen(name));
        if (w->host[k] == NT_NAMES_NONE)
            return nt_err_set(err, NT_ERR_INPUT, "host %s: expected in the record", name);
    }
    return 0;
}

static int number_machines(struct work *w, struct nt_err *err)
{
    struct nt_map *map = w->map;
    for (size_t k = 0; k < w->samples->models; k++)
        w->machine[k] = NT_MAP_NO_MACHINE;
    for (size_t k = 0; k < map->model->hosts; k++) {
        uint32_t model = w->samples->inside[w->host[k]].model;
        map->machine_of[k] = NT_MAP_NO_MACHINE;
        if (model == NT_SAMPLES_NO_MODEL || map->model->missing[k])
            continue;
        if (w->machine[model] == NT_MAP_NO_MACHINE) {
            if (nt_machine_parse(w->samples->model[model], &map->machine[map->machines], err) != 0)
                return -1;
            w->machine[model] = (uint32_t)map->machines++;
        }
        map->machine_of[k] = w->machine[model];
    }
    return 0;
}

static void sum_up(const struct work *w, uint32_t machine, int between)
{
    float low = INFINITY, high = 0;
    uint32_t n = 0;
    for (size_t k = 0; k < w->map->model->hosts; k++) {
        float us = w->samples->inside[w->host[k]].latency_us[between];
        if (w->map->machine_of[k] != machine || !(us > 0))
            continue;
        low = fminf(low, us);
        high = fmaxf(high, us);
        w->us[n++] = us;
    }
    if (n > 0)
        w->map->machine[machine].between[between] =
            (struct nt_core_latency){.hosts = n,
                                     .latency_us = (double)nt_stats_median(w->us, n),
                                     .low_us = (double)low,
                                     .high_us = (double)high};
}

static int by_hosts(const void *a, const void *b)
{
    const struct nt_sweep_transport *x = a, *y = b;
    return x->hosts != y->hosts ? (x->hosts < y->hosts) - (x->hosts > y->hosts)
                                : strcmp(x->used, y->used);
}

int nt_map_machines(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    size_t hosts = map->model->hosts;
    memcpy(map->sweep.transport, samples->transport, sizeof map->sweep.transport);
    map->sweep.transports = samples->transports;
    qsort(map->sweep.transport, map->sweep.transports, sizeof *map->sweep.transport, by_hosts);
    if (samples->models == 0 || hosts == 0)
        return 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct work w = {.samples = samples, .map = map};
    w.host = nt_arena_array(&memory, hosts, sizeof *w.host);
    w.machine = nt_arena_array(&memory, samples->models, sizeof *w.machine);
    w.us = nt_arena_array(&memory, hosts, sizeof *w.us);
    free(map->machine);
    free(map->machine_of);
    map->machines = 0;
    map->machine = calloc(samples->models, sizeof *map->machine);
    map->machine_of = malloc(hosts * sizeof *map->machine_of);
    int rc = -1;
    if (!map->machine || !map->machine_of)
        nt_err_memory(err);
    else if (nt_arena_check(&memory, err) == 0 && find_hosts(&w, err) == 0)
        rc = number_machines(&w, err);
    for (uint32_t k = 0; rc == 0 && k < map->machines; k++)
        for (int between = 0; between < NT_BETWEEN_END; between++)
            sum_up(&w, k, between);
    return rc;
}
