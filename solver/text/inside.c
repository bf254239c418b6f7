/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct joining {
    const struct nt_map *map;
    struct nt_map *out;
    size_t vertex, link; /* next indices; vertices count from the first switch */
    struct nt_err *err;
};

static const struct nt_machine *machine_of(const struct nt_map *map, size_t host)
{
    if (map->machine_of == NULL || map->machine_of[host] >= map->machines)
        return NULL;
    return &map->machine[map->machine_of[host]];
}

/* Returns the number of parts of a kind, at least one, so that no level is missing. */
static size_t count_of(uint32_t parts)
{
    return parts > 0 ? parts : 1;
}

static size_t parts_of(const struct nt_machine *m)
{
    return m == NULL ? 0 : count_of(m->packages) + count_of(m->numas) + count_of(m->cores);
}

/* Returns the latency that one level adds on one side of the path between two cores; NaN: not
 * measured. */
static double level_us(const struct nt_machine *m, enum nt_between of, enum nt_between below)
{
    const struct nt_core_latency *x = &m->between[of], *y = &m->between[below];
    if (x->hosts == 0)
        return (double)NAN;
    double inner = y->hosts > 0 ? y->latency_us : 0;
    return fmax(0, (x->latency_us - inner) / 2);
}

/* Returns half of the latency between two cores of one memory node; cores that share a cache are
 * not distinguished here. */
static double core_us(const struct nt_machine *m)
{
    const struct nt_core_latency *x = &m->between[NT_BETWEEN_NUMA];
    return x->hosts == 0 ? (double)NAN : x->latency_us / 2;
}

/* Adds a vertex named after the host, with a link to upper. */
static int add_part(struct joining *j, uint32_t upper, size_t host, const char *what, size_t number,
                    double us)
{
    char name[320];
    struct nt_model *m = j->out->model;
    uint32_t v = (uint32_t)(m->hosts + j->vertex);
    snprintf(name, sizeof name, "%s.%s%zu", j->map->host_name[host], what, number);
    if (nt_map_set_text(&j->out->switch_name[j->vertex], name, j->err) != 0)
        return -1;
    m->tier[j->vertex++] = 0;
    m->link[j->link].a = upper;
    m->link[j->link].b = v;
    m->link[j->link++].latency_us = us;
    return 0;
}

/* Returns the part of the upper level that contains part number of count. */
static uint32_t upper_of(size_t first, size_t upper, size_t number, size_t count)
{
    return (uint32_t)(first + number * upper / count);
}

static int add_host(struct joining *j, size_t host)
{
    const struct nt_machine *m = machine_of(j->map, host);
    if (m == NULL)
        return 0;
    size_t hosts = j->out->model->hosts, packages = count_of(m->packages);
    size_t numas = count_of(m->numas), cores = count_of(m->cores), first = hosts + j->vertex;
    int rc = 0;
    for (size_t k = 0; k < packages && rc == 0; k++)
        rc = add_part(j, (uint32_t)host, host, "package", k,
                      level_us(m, NT_BETWEEN_MACHINE, NT_BETWEEN_PACKAGE));
    for (size_t k = 0; k < numas && rc == 0; k++)
        rc = add_part(j, upper_of(first, packages, k, numas), host, "numa", k,
                      level_us(m, NT_BETWEEN_PACKAGE, NT_BETWEEN_NUMA));
    for (size_t k = 0; k < cores && rc == 0; k++)
        rc = add_part(j, upper_of(first + packages, numas, k, cores), host, "core", k, core_us(m));
    return rc;
}

int nt_inside_create(const struct nt_map *map, struct nt_map **out, struct nt_err *err)
{
    const struct nt_model *was = map->model;
    struct nt_model *m;
    size_t parts = 0;
    for (size_t h = 0; h < was->hosts; h++)
        parts += parts_of(machine_of(map, h));
    if (parts > NT_INSIDE_VERTICES_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu parts of hosts: at most %d", parts,
                          (int)NT_INSIDE_VERTICES_MAX);
    if (nt_model_create(was->hosts, was->switches + parts, was->links + parts, &m, err) != 0)
        return -1;
    memcpy(m->link, was->link, was->links * sizeof *m->link);
    memcpy(m->tier, was->tier, was->switches * sizeof *m->tier);
    memcpy(m->missing, was->missing, was->hosts * sizeof *m->missing);
    memcpy(m->overhead_us, was->overhead_us, was->hosts * sizeof *m->overhead_us);
    m->family = was->family;
    m->confidence = NAN;
    struct joining j = {.map = map, .vertex = was->switches, .link = was->links, .err = err};
    if (nt_map_create(m, (const char *const *)map->host_name, &j.out, err) != 0) {
        nt_model_destroy(m);
        return -1;
    }
    int rc = 0;
    for (size_t k = 0; k < was->switches && rc == 0; k++)
        rc = nt_map_set_text(&j.out->switch_name[k], map->switch_name[k], err);
    for (size_t h = 0; h < was->hosts && rc == 0; h++)
        rc = add_host(&j, h);
    if (rc != 0) {
        nt_map_destroy(j.out);
        return -1;
    }
    *out = j.out;
    return 0;
}
