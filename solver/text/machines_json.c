/* SPDX-License-Identifier: Apache-2.0 */
#include "machines_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t count_max = 1 << 27;
static const uint64_t bytes_max = (uint64_t)1 << 40;

static void read_nics(struct nt_json_reader *r, struct json_object *entry, struct nt_machine *m)
{
    struct json_object *list = nt_json_array(r, entry, "nics", NT_JSON_MAY);
    char where[NT_JSON_WHERE_BYTES];
    size_t n = nt_json_length(list);
    if (n > NT_MACHINE_NICS_MAX) {
        nt_json_wrong(r, "nics", "expected at most %d, found %zu", (int)NT_MACHINE_NICS_MAX, n);
        return;
    }
    memcpy(where, r->where, sizeof where);
    for (; m->nics < n; m->nics++) {
        struct json_object *item = nt_json_enter(r, "nics", list, m->nics);
        struct nt_nic *nic = &m->nic[m->nics];
        uint32_t numa = UINT32_MAX;
        nt_json_string_in(r, item, "name", nic->name, sizeof nic->name, NT_JSON_MUST);
        nt_json_string_in(r, item, "pci", nic->pci, sizeof nic->pci, NT_JSON_MAY);
        nt_json_whole32(r, item, "numa_node", count_max, &numa);
        nic->numa = numa == UINT32_MAX ? -1 : (int32_t)numa;
        nt_json_string_in(r, item, "transports", nic->transports, sizeof nic->transports,
                          NT_JSON_MAY);
        memcpy(r->where, where, sizeof where);
    }
}

static void read_gpus(struct nt_json_reader *r, struct json_object *entry, struct nt_machine *m)
{
    struct json_object *list = nt_json_array(r, entry, "gpus", NT_JSON_MAY);
    char where[NT_JSON_WHERE_BYTES];
    size_t n = nt_json_length(list);
    if (n > NT_MACHINE_GPUS_MAX) {
        nt_json_wrong(r, "gpus", "expected at most %d, found %zu", (int)NT_MACHINE_GPUS_MAX, n);
        return;
    }
    memcpy(where, r->where, sizeof where);
    for (; m->gpus < n; m->gpus++) {
        struct json_object *item = nt_json_enter(r, "gpus", list, m->gpus);
        struct nt_gpu *gpu = &m->gpu[m->gpus];
        uint32_t numa = UINT32_MAX;
        nt_json_string_in(r, item, "pci", gpu->pci, sizeof gpu->pci, NT_JSON_MUST);
        nt_json_whole32(r, item, "numa_node", count_max, &numa);
        gpu->numa = numa == UINT32_MAX ? -1 : (int32_t)numa;
        nt_json_string_in(r, item, "nics", gpu->nics, sizeof gpu->nics, NT_JSON_MAY);
        memcpy(r->where, where, sizeof where);
    }
}

static void read_core_latency(struct nt_json_reader *r, struct json_object *item,
                              struct nt_machine *m)
{
    const char *name = nt_json_string(r, item, "between", NT_JSON_MUST);
    enum nt_between between = name == NULL ? NT_BETWEEN_END : nt_between_parse(name);
    if (name != NULL && between == NT_BETWEEN_END)
        nt_json_wrong(r, "between",
                      "expected core, cache, numa, package or machine, found \"%.32s\"", name);
    if (between == NT_BETWEEN_END)
        return;
    struct nt_core_latency *l = &m->between[between];
    *l = (struct nt_core_latency){.hosts = 1, .latency_us = NAN, .low_us = NAN, .high_us = NAN};
    nt_json_whole32(r, item, "hosts", count_max, &l->hosts);
    nt_json_number(r, item, "latency_us", &l->latency_us);
    nt_json_number(r, item, "low_us", &l->low_us);
    nt_json_number(r, item, "high_us", &l->high_us);
}

static void read_machine(struct nt_json_reader *r, struct json_object *entry, struct nt_machine *m)
{
    char where[NT_JSON_WHERE_BYTES];
    struct json_object *list = nt_json_array(r, entry, "core_latency", NT_JSON_MAY);
    nt_json_string_in(r, entry, "cpu", m->cpu, sizeof m->cpu, NT_JSON_MAY);
    nt_json_whole32(r, entry, "packages", count_max, &m->packages);
    nt_json_whole32(r, entry, "numa_nodes", count_max, &m->numas);
    nt_json_whole32(r, entry, "cores", count_max, &m->cores);
    nt_json_whole32(r, entry, "threads", count_max, &m->threads);
    nt_json_whole32(r, entry, "threads_allowed", count_max, &m->allowed);
    nt_json_whole(r, entry, "l2_bytes", bytes_max, &m->l2_bytes);
    nt_json_whole(r, entry, "l3_bytes", bytes_max, &m->l3_bytes);
    read_nics(r, entry, m);
    read_gpus(r, entry, m);
    memcpy(where, r->where, sizeof where);
    for (size_t k = 0; k < nt_json_length(list); k++) {
        read_core_latency(r, nt_json_enter(r, "core_latency", list, k), m);
        memcpy(r->where, where, sizeof where);
    }
}

/* Their names are m1, m2, ... as they stand: that is how they are written. */
static void check_name(struct nt_json_reader *r, struct json_object *entry, size_t k)
{
    char own[32];
    const char *name = nt_json_string(r, entry, "name", NT_JSON_MUST);
    snprintf(own, sizeof own, "m%zu", k + 1);
    if (name != NULL && strcmp(name, own) != 0)
        nt_json_wrong(r, "name", "expected \"%s\", found \"%.32s\"", own, name);
}

static uint32_t model_named(struct nt_json_reader *r, const char *name, size_t models)
{
    char own[32];
    char *end;
    unsigned long number = name[0] == 'm' ? strtoul(name + 1, &end, 10) : 0;
    snprintf(own, sizeof own, "m%lu", number);
    if (number >= 1 && number <= models && strcmp(own, name) == 0)
        return (uint32_t)(number - 1);
    nt_json_wrong(r, "model", "expected the name of a model, found \"%.32s\"", name);
    return NT_MAP_NO_MACHINE;
}

/* How many hosts a model has is repeated, so that readers need not count. */
static void compare_hosts(struct nt_json_reader *r, struct json_object *list,
                          const struct nt_map *map)
{
    uint32_t *hosts = calloc(map->machines + 1, sizeof *hosts);
    if (hosts == NULL) {
        nt_json_lack_memory(r);
        return;
    }
    for (size_t k = 0; k < map->model->hosts; k++)
        if (map->machine_of[k] < map->machines)
            hosts[map->machine_of[k]]++;
    for (size_t k = 0; k < map->machines; k++) {
        struct json_object *entry = nt_json_enter(r, "models", list, k);
        uint32_t said = hosts[k];
        nt_json_whole32(r, entry, "hosts", count_max, &said);
        if (said != hosts[k])
            nt_json_wrong(r, "hosts", "expected the nodes of this model, %u, found %u", hosts[k],
                          said);
        for (int b = 0; b < NT_BETWEEN_END; b++)
            if (map->machine[k].between[b].hosts > hosts[k])
                nt_json_wrong(r, "core_latency", "expected at most %u hosts, found %u", hosts[k],
                              map->machine[k].between[b].hosts);
        nt_json_leave(r);
    }
    free(hosts);
}

void nt_machines_read(struct nt_json_reader *r, struct json_object *root, struct json_object *nodes,
                      struct nt_map *map)
{
    struct json_object *list = nt_json_array(r, root, "models", NT_JSON_MAY);
    size_t hosts = map->model->hosts;
    map->machine = calloc(nt_json_length(list) + 1, sizeof *map->machine);
    map->machine_of = malloc((hosts + 1) * sizeof *map->machine_of);
    if (map->machine == NULL || map->machine_of == NULL) {
        nt_json_lack_memory(r);
        return;
    }
    map->machines = nt_json_length(list);
    for (size_t k = 0; k < map->machines; k++) {
        struct json_object *entry = nt_json_enter(r, "models", list, k);
        check_name(r, entry, k);
        read_machine(r, entry, &map->machine[k]);
        nt_json_leave(r);
    }
    for (size_t k = 0; k < hosts; k++) {
        struct json_object *node = nt_json_enter(r, "nodes", nodes, k);
        const char *name = nt_json_string(r, node, "model", NT_JSON_MAY);
        map->machine_of[k] = name == NULL ? NT_MAP_NO_MACHINE : model_named(r, name, map->machines);
        nt_json_leave(r);
    }
    compare_hosts(r, list, map);
}
