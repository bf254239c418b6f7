/* SPDX-License-Identifier: Apache-2.0 */
#include "artifacts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "faults_text.h"
#include "launch.h"
#include "log_line.h"
#include "map_json.h"
#include "memory.h"
#include "rails.h"
#include "strbuf.h"

enum {
    VALUE_MAX = 122880, /* the environment takes no value of 128 KiB */
    FINDINGS_MAX = 4096 /* as spank/environ.c accepts */
};

/* Cores of each rank: those of a task's CPUs, which are hardware threads where a core has several,
 * unless a host has fewer for each of its ranks: mpirun refuses a core that is not there. */
static int count_cores(const struct nt_map *map, uint32_t task_cpus, uint32_t *cores,
                       struct nt_err *err)
{
    const struct nt_placement *p = map->placement;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *ranks = nt_arena_array(&memory, map->model->hosts + 1, sizeof *ranks);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t r = 0; r < p->ntasks; r++)
        ranks[p->rank_host[r]]++;
    *cores = task_cpus > 0 ? task_cpus : 1;
    for (uint32_t h = 0; map->machine_of != NULL && h < map->model->hosts; h++) {
        if (ranks[h] == 0 || map->machine_of[h] == NT_MAP_NO_MACHINE)
            continue;
        const struct nt_machine *m = &map->machine[map->machine_of[h]];
        uint32_t each = m->cores > 0 && m->threads > m->cores ? m->threads / m->cores : 1;
        uint32_t wanted = (task_cpus + each - 1) / each, room = m->cores / ranks[h];
        wanted = m->cores > 0 && room < wanted ? room : wanted;
        *cores = wanted >= *cores ? *cores : wanted > 0 ? wanted : 1;
    }
    return 0;
}

/* ---- hosts in hint order ---- */
static int write_placement(const struct nt_map *map, uint32_t task_cpus,
                           struct nt_artifacts *artifacts, struct nt_err *err)
{
    const struct nt_placement *p = map->placement;
    if (p == NULL || p->ntasks == 0)
        return 0; /* the plugin gives the job the scheduler's order */
    struct nt_seating seating = {.ntasks = p->ntasks,
                                 .hosts = map->model->hosts,
                                 .rank_host = p->rank_host,
                                 .host_name = (const char *const *)map->host_name,
                                 .cores = 1};
    if (count_cores(map, task_cpus, &seating.cores, err) != 0)
        return -1;
    static const struct {
        enum nt_artifact artifact;
        int (*write)(const struct nt_seating *, char **, size_t *, struct nt_err *);
    } files[] = {{NT_ARTIFACT_HOSTFILE, nt_launch_hostfile},
                 {NT_ARTIFACT_RANKFILE, nt_launch_rankfile},
                 {NT_ARTIFACT_RANK_ORDER, nt_launch_mpich}};
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < sizeof files / sizeof *files; k++)
        rc = files[k].write(&seating, &artifacts->text[files[k].artifact],
                            &artifacts->bytes[files[k].artifact], err);
    return rc;
}

/* ---- hint.env ---- */
/* One line whatever the text holds. */
static void put_line_value(struct nt_strbuf *page, const char *name, const char *value)
{
    size_t at = page->used;
    nt_strbuf_puts(page, name);
    nt_strbuf_puts(page, "=");
    nt_strbuf_puts(page, value);
    if (!page->failed)
        nt_text_clean(page->text + at);
    nt_strbuf_puts(page, "\n");
}

static void put_hosts(struct nt_strbuf *page, const char *name, const struct nt_map *map,
                      const uint32_t *host, size_t hosts)
{
    struct nt_strbuf value = {0};
    for (size_t k = 0; k < hosts; k++)
        nt_strbuf_print(&value, "%s%s", k > 0 ? "," : "", map->host_name[host[k]]);
    if (value.failed)
        page->failed = true;
    else if (value.used > 0 && value.used <= VALUE_MAX)
        put_line_value(page, name, value.text);
    free(value.text);
}

/* Empty when nothing was found, absent when nothing was judged. */
static void put_findings(struct nt_strbuf *page, const struct nt_map *map)
{
    struct nt_strbuf value = {0};
    if (!map->judged)
        return;
    nt_faults_put_line(&value, map, FINDINGS_MAX);
    if (value.failed)
        page->failed = true;
    else
        put_line_value(page, "NETTOPO_FINDINGS", value.text == NULL ? "" : value.text);
    free(value.text);
}

static int put_inline_map(struct nt_strbuf *page, const struct nt_map *map, size_t limit,
                          struct nt_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    if (nt_map_write(map, true, &text, &bytes, err) != 0)
        return -1;
    if (bytes < limit && bytes <= VALUE_MAX)
        put_line_value(page, "NETTOPO_JSON", text);
    free(text);
    return 0;
}

static int write_env(const struct nt_map *map, const struct nt_artifacts_options *options,
                     struct nt_artifacts *artifacts, struct nt_err *err)
{
    static const struct {
        const char *name;
        enum nt_artifact artifact;
    } files[] = {{"NETTOPO_MAP", NT_ARTIFACT_MAP},
                 {"NETTOPO_HOSTFILE", NT_ARTIFACT_HOSTFILE},
                 {"NETTOPO_RANKFILE", NT_ARTIFACT_RANKFILE},
                 {"NETTOPO_RANK_ORDER", NT_ARTIFACT_RANK_ORDER}};
    struct nt_strbuf page = {0};
    char devices[NT_RAILS_DEVICES_BYTES];
    int rc = 0;
    put_line_value(&page, "NETTOPO_STATUS", nt_status_name(options->status));
    if (options->status != NT_STATUS_OK)
        put_line_value(&page, "NETTOPO_REASON", options->reason);
    if (options->debug)
        put_line_value(&page, "NETTOPO_LOG", NT_LOG_FILE);
    if (map != NULL) {
        const struct nt_placement *p = map->placement;
        for (size_t k = 0; k < sizeof files / sizeof *files; k++)
            if (artifacts->text[files[k].artifact] != NULL)
                put_line_value(&page, files[k].name, nt_artifact_name((uint32_t)files[k].artifact));
        put_findings(&page, map);
        if (p != NULL) {
            put_hosts(&page, "NETTOPO_NODE_ORDER", map, p->order, p->hosts);
            put_hosts(&page, "NETTOPO_SPARES", map, p->spare, p->spares);
            nt_strbuf_print(&page, "NETTOPO_GAIN=%.3g\n", p->gain);
        }
        nt_rails_devices(map, devices);
        if (devices[0] != '\0')
            put_line_value(&page, "NETTOPO_NET_DEVICES", devices);
        if (options->apply && artifacts->text[NT_ARTIFACT_HOSTFILE] != NULL)
            nt_strbuf_print(&page, "SLURM_HOSTFILE=%s\nSLURM_DISTRIBUTION=arbitrary\n",
                            nt_artifact_name(NT_ARTIFACT_HOSTFILE));
        rc = put_inline_map(&page, map, options->inline_limit_bytes, err);
    }
    if (rc != 0) {
        free(page.text);
        return -1;
    }
    return nt_strbuf_finish(&page, &artifacts->text[NT_ARTIFACT_ENV],
                            &artifacts->bytes[NT_ARTIFACT_ENV], err);
}

int nt_artifacts_create(const struct nt_map *map, const struct nt_artifacts_options *options,
                        struct nt_artifacts *out, struct nt_err *err)
{
    struct nt_artifacts artifacts = {0};
    int rc = 0;
    bool with_map = map != NULL && map->model->hosts > 0;
    if (with_map) {
        rc = nt_map_write(map, false, &artifacts.text[NT_ARTIFACT_MAP],
                          &artifacts.bytes[NT_ARTIFACT_MAP], err);
        if (rc == 0)
            rc = write_placement(map, options->task_cpus, &artifacts, err);
    }
    if (rc == 0)
        rc = write_env(with_map ? map : NULL, options, &artifacts, err);
    if (rc != 0) {
        nt_artifacts_fini(&artifacts);
        return -1;
    }
    *out = artifacts;
    return 0;
}

void nt_artifacts_fini(struct nt_artifacts *artifacts)
{
    for (size_t k = 0; k < NT_ARTIFACT_END; k++)
        free(artifacts->text[k]);
    *artifacts = (struct nt_artifacts){0};
}
