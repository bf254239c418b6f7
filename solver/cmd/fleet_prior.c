/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "files.h"
#include "fleet.h"
#include "fleet_loggp.h"
#include "prior.h"
#include "utc.h"

struct arguments {
    const char *store, *days, *output;
};

static const struct nt_flag flags[] = {NT_FLAG_STORE, NT_FLAG_DAYS, NT_FLAG_OUTPUT, {0}};

static const struct nt_command_help help = {
    "nettopo fleet prior [OPTION...]",
    "Write the file from which later sweeps start (prior in nettopo.conf): the parts of the "
    "cluster that jobs of two users confirm, with the day of the last measurement, and LogGP "
    "parameters of their paths.\n",
    flags, "nettopo fleet prior --store fleet.db -o prior"};

static bool is_slow(const struct nt_fleet_changes *changes, uint32_t vertex, double *extra_us)
{
    const struct nt_fleet_cluster *fleet = &changes->fleet;
    const char *name = fleet->map->host_name[vertex];
    uint32_t host = nt_names_find(&fleet->hosts, name, strlen(name));
    *extra_us = fleet->cluster->slow_us[host];
    return nt_fleet_changes_slow(changes, host) || *extra_us > 0;
}

/* Sets the support of hosts with a slow link to 0: they keep their switch, and sweeps measure hosts
 * without support. */
static void loosen_slow(const struct nt_fleet_changes *changes, struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++) {
        double extra_us;
        if (m->link[k].a >= m->hosts)
            continue;
        if (is_slow(changes, m->link[k].a, &extra_us))
            m->link[k].probability = 0;
        m->link[k].latency_us -= extra_us;
    }
}

/* Adds LogGP of the jobs of the same days as the cluster's map. */
static int add_loggp(const char *given, const struct nt_fleet_cluster *fleet, int64_t days_s,
                     struct nt_prior *prior, struct nt_err *err)
{
    struct nt_store *store;
    if (nt_fleet_open(given, true, &store, err) != 0)
        return -1;
    int rc = nt_fleet_loggp(store, fleet->sums.last_s - days_s, &prior->loggp, &prior->loggps, err);
    nt_store_close(store);
    return rc;
}

static int write_prior(const struct nt_fleet_changes *changes, const char *given, int64_t days_s,
                       const char *output, struct nt_err *err)
{
    const struct nt_fleet_cluster *fleet = &changes->fleet;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_prior *prior;
    struct nt_map *map;
    char *text;
    size_t bytes;
    if (fleet->map == NULL)
        return nt_err_set(err, NT_ERR_NO, "no map: %s", fleet->why.text);
    size_t vertices = fleet->map->model->hosts + fleet->map->model->switches;
    int32_t *day = nt_arena_array(&memory, vertices, sizeof *day);
    uint32_t *was = nt_arena_array(&memory, vertices, sizeof *was);
    if (nt_arena_check(&memory, err) != 0 ||
        nt_fleet_cluster_confirmed(fleet, 0, &map, was, err) != 0)
        return -1;
    for (size_t v = 0; v < map->model->hosts + map->model->switches; v++)
        day[v] = (int32_t)(fleet->part[was[v]].last_s / NT_DAY_S);
    loosen_slow(changes, map->model);
    int rc = nt_prior_from_map(map, day, &prior, err);
    nt_map_destroy(map);
    if (rc != 0)
        return -1;
    rc = add_loggp(given, fleet, days_s, prior, err);
    if (rc == 0)
        rc = nt_prior_write(prior, &text, &bytes, err);
    nt_prior_destroy(prior);
    return rc == 0 ? nt_file_write_text(output, text, bytes, err) : -1;
}

static int prior_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.days = "90d", .output = "-"};
    struct nt_fleet_changes changes;
    int64_t days_s;
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_fleet_span("days", a.days, &days_s, err) != 0 ||
        nt_fleet_changes_load(a.store, days_s, true, &changes, err) != 0)
        return -1;
    int rc = write_prior(&changes, a.store, days_s, a.output, err);
    nt_fleet_changes_fini(&changes);
    return rc;
}

const struct nt_verb nt_fleet_prior = {"prior", "write the file that sweeps start from", &help,
                                       prior_run};
