/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <string.h>

#include "fleet_changes.h"
#include "memory.h"
#include "number.h"
#include "utc.h"

enum { JOBS_MAX = 1000000, LINES_MAX = 20 };
static const int64_t DAYS_S = INT64_C(30) * NT_DAY_S;

static void put_host(struct nt_strbuf *d, const struct nt_fleet_changes *changes, uint32_t host,
                     size_t *lines)
{
    const struct nt_cluster_move *move = nt_fleet_changes_moved(changes, host);
    if (move != NULL && *lines < LINES_MAX) {
        nt_strbuf_puts(d, *lines == 0 ? "\n" : "");
        nt_fleet_cluster_put_move(d, &changes->fleet, move);
        ++*lines;
    }
    for (size_t k = 0; k < changes->count && *lines < LINES_MAX; k++) {
        const struct nt_fleet_change *c = &changes->change[k];
        char since[NT_SINCE_BYTES], now[NT_NUMBER_BYTES], before[NT_NUMBER_BYTES];
        if (!nt_fleet_change_is_against(c, host))
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

/* number: of each host of the map, or NT_NAMES_NONE. Those that seem slow are placed. */
static int place_hosts(struct nt_fleet_changes *changes, const struct nt_map *map,
                       const char *store, uint32_t *number, struct nt_err *err)
{
    for (size_t h = 0; h < map->model->hosts; h++)
        number[h] =
            nt_names_find(&changes->fleet.hosts, map->host_name[h], strlen(map->host_name[h]));
    return nt_fleet_changes_place(changes, store, DAYS_S, number, map->model->hosts, err);
}

void nt_show_since(struct nt_strbuf *d, const struct nt_map *map, const char *store)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_fleet_cluster fleet;
    struct nt_fleet_changes changes;
    struct nt_err ignored;
    size_t lines = 0;
    if (nt_fleet_cluster_load_names(store, &fleet, &ignored) != 0)
        return;
    bool fits = strcmp(fleet.sums.cluster, map->cluster) == 0 && fleet.sums.jobs <= JOBS_MAX;
    nt_fleet_cluster_fini(&fleet);
    if (!fits || nt_fleet_changes_load(store, DAYS_S, false, &changes, &ignored) != 0)
        return;
    uint32_t *number = nt_arena_array(&memory, map->model->hosts, sizeof *number);
    if (number != NULL && place_hosts(&changes, map, store, number, &ignored) == 0)
        for (size_t h = 0; h < map->model->hosts; h++)
            if (number[h] != NT_NAMES_NONE)
                put_host(d, &changes, number[h], &lines);
    nt_fleet_changes_fini(&changes);
}
