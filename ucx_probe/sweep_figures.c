/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_figures.h"

#include <string.h>

/* A list of hosts that is cut at a whole name, with the number of those left out. */
struct hosts {
    struct nt_strbuf *to;
    const char *key;
    size_t bytes, names, left_out;
};

static void add_host(struct hosts *list, const char *name)
{
    size_t bytes = strlen(name) + 1;
    if (list->left_out > 0 || list->bytes + bytes > NT_SWEEP_FIGURES_HOSTS) {
        list->left_out++;
        return;
    }
    if (list->names++ == 0)
        nt_strbuf_print(list->to, " %s=", list->key);
    else
        nt_strbuf_puts(list->to, ",");
    nt_strbuf_puts(list->to, name);
    list->bytes += bytes;
}

static void end_hosts(const struct hosts *list)
{
    if (list->left_out == 0)
        return;
    if (list->names == 0)
        nt_strbuf_print(list->to, " %s=", list->key);
    nt_strbuf_print(list->to, "%s+%zu", list->names > 0 ? "," : "", list->left_out);
}

static bool is_suspect(const struct nt_map *map, uint32_t host)
{
    for (size_t k = 0; k < map->faults; k++)
        if (map->fault[k].part.a == host || map->fault[k].part.b == host)
            return true;
    return false;
}

void nt_sweep_figures_put(struct nt_strbuf *to, const struct nt_map *map)
{
    const struct nt_model *m = map->model;
    struct hosts missing = {.to = to, .key = "missing"}, suspect = {.to = to, .key = "suspect"};
    nt_strbuf_print(to, "rounds=%zu findings=%zu", (size_t)map->sweep.rounds, map->faults);
    for (uint32_t h = 0; h < m->hosts; h++)
        if (m->missing != NULL && m->missing[h])
            add_host(&missing, map->host_name[h]);
    end_hosts(&missing);
    for (uint32_t h = 0; h < m->hosts && map->faults > 0; h++)
        if (is_suspect(map, h))
            add_host(&suspect, map->host_name[h]);
    end_hosts(&suspect);
}
