/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <string.h>

#include "fleet_changes.h"
#include "number.h"
#include "utc.h"

enum { DAYS = 30, JOBS_MAX = 1000000, LINES_MAX = 20 };

static void put_host(struct nt_strbuf *d, const struct nt_fleet_changes *changes, uint32_t host,
                     size_t *lines)
{
    for (size_t k = 0; k < changes->count && *lines < LINES_MAX; k++) {
        const struct nt_fleet_change *c = &changes->change[k];
        char since[NT_SINCE_BYTES], now[NT_NUMBER_BYTES], before[NT_NUMBER_BYTES];
        if (c->part != host || c->tier != 0 || !c->current || !c->worse)
            continue;
        nt_fleet_since_text(c, since);
        nt_number_plain(c->to, 4, now);
        nt_number_plain(c->from, 4, before);
        nt_strbuf_print(d, "%s%.255s: %s %s, in %u jobs of %u users: %s %s, before %s %s\n",
                        *lines == 0 ? "\n" : "", changes->fleet.hosts.name[host],
                        c->kind == NT_FIGURE_LATENCY ? "slow" : "narrow", since, c->jobs, c->users,
                        nt_fleet_kind_name(c->kind), now, before, nt_fleet_kind_unit(c->kind));
        ++*lines;
    }
}

void nt_show_since(struct nt_strbuf *d, const struct nt_map *map, const char *store)
{
    struct nt_fleet_cluster fleet;
    struct nt_fleet_changes changes;
    struct nt_err ignored;
    size_t lines = 0;
    if (nt_fleet_cluster_load_names(store, &fleet, &ignored) != 0)
        return;
    bool fits = strcmp(fleet.sums.cluster, map->cluster) == 0 && fleet.sums.jobs <= JOBS_MAX;
    nt_fleet_cluster_fini(&fleet);
    if (!fits ||
        nt_fleet_changes_load(store, (int64_t)DAYS * NT_DAY_S, false, &changes, &ignored) != 0)
        return;
    for (size_t h = 0; h < map->model->hosts; h++) {
        const char *name = map->host_name[h];
        uint32_t host = nt_names_find(&changes.fleet.hosts, name, strlen(name));
        if (host != NT_NAMES_NONE)
            put_host(d, &changes, host, &lines);
    }
    nt_fleet_changes_fini(&changes);
}
