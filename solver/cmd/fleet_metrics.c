/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "files.h"
#include "fleet.h"
#include "strbuf.h"

struct arguments {
    const char *store, *days, *output;
};

static const struct nt_flag flags[] = {NT_FLAG_STORE, NT_FLAG_DAYS, NT_FLAG_OUTPUT, {0}};

static const struct nt_command_help help = {
    "nettopo fleet metrics [OPTION...]",
    "Write metrics for the textfile collector of node_exporter (Prometheus): jobs by status, hosts "
    "and switches by tier, and up to 100 suspects.\n",
    flags, "nettopo fleet metrics --store fleet.db -o nettopo.prom"};

enum { SUSPECTS_MAX = 100 };

static void put_head(struct nt_strbuf *d, const char *name, const char *what)
{
    nt_strbuf_print(d, "# HELP %s %s\n# TYPE %s gauge\n", name, what, name);
}

static void put_plain(struct nt_strbuf *d, const char *name, const char *what, double value)
{
    put_head(d, name, what);
    nt_strbuf_print(d, "%s %.17g\n", name, value);
}

static void put_jobs(struct nt_strbuf *d, const struct nt_store_sums *s)
{
    put_head(d, "nettopo_fleet_jobs", "Jobs in the store, by status of their maps.");
    nt_strbuf_print(d, "nettopo_fleet_jobs{status=\"ok\"} %llu\n", (unsigned long long)s->ok);
    nt_strbuf_print(d, "nettopo_fleet_jobs{status=\"partial\"} %llu\n",
                    (unsigned long long)s->partial);
    nt_strbuf_print(d, "nettopo_fleet_jobs{status=\"failed\"} %llu\n",
                    (unsigned long long)s->failed);
    put_plain(d, "nettopo_fleet_users", "Users of these jobs.", (double)s->users);
    put_plain(d, "nettopo_fleet_hosts", "Hosts of these jobs.", (double)s->hosts);
    put_plain(d, "nettopo_fleet_store_bytes", "Size of the store.", (double)s->bytes);
    put_plain(d, "nettopo_fleet_last_job_timestamp_seconds", "Time of the last measured job.",
              (double)s->last_s);
}

/* Prints the number of switches and the mean latency of links per tier. */
static void put_tiers(struct nt_strbuf *d, const struct nt_model *m)
{
    double sum[NT_FLEET_TIERS] = {0};
    uint64_t links[NT_FLEET_TIERS] = {0}, switches[NT_FLEET_TIERS] = {0};
    for (size_t k = 0; k < m->switches; k++)
        switches[m->tier[k] < NT_FLEET_TIERS ? m->tier[k] : NT_FLEET_TIERS - 1]++;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = nt_model_tier(m, m->link[k].a), b = nt_model_tier(m, m->link[k].b);
        uint32_t tier = a < b ? a : b;
        if (tier >= NT_FLEET_TIERS || !isfinite(m->link[k].latency_us))
            continue;
        sum[tier] += m->link[k].latency_us;
        links[tier]++;
    }
    put_head(d, "nettopo_fleet_switches", "Switches in the cluster map, by tier.");
    for (int t = 1; t < NT_FLEET_TIERS; t++)
        if (switches[t] > 0)
            nt_strbuf_print(d, "nettopo_fleet_switches{tier=\"%d\"} %llu\n", t,
                            (unsigned long long)switches[t]);
    put_head(d, "nettopo_fleet_link_latency_seconds",
             "Mean one-way latency of links, by tier of the lower end.");
    for (int t = 0; t < NT_FLEET_TIERS; t++)
        if (links[t] > 0)
            nt_strbuf_print(d, "nettopo_fleet_link_latency_seconds{tier=\"%d\"} %.6g\n", t,
                            sum[t] / (double)links[t] * 1e-6);
}

static void put_map(struct nt_strbuf *d, const struct nt_fleet_cluster *fleet)
{
    size_t placed = 0;
    if (fleet->map == NULL)
        return;
    for (size_t h = 0; h < fleet->map->model->hosts; h++)
        placed += fleet->part[h].jobs > 0 && fleet->part[h].support >= 0.9;
    put_tiers(d, fleet->map->model);
    put_plain(d, "nettopo_fleet_hosts_placed", "Hosts whose switch has a support of 0.9 or more.",
              (double)placed);
    put_plain(d, "nettopo_fleet_hosts_moved", "Moves of hosts to another switch.",
              (double)fleet->cluster->moves);
}

static void put_suspects(struct nt_strbuf *d, const struct nt_fleet_changes *changes)
{
    static const char *const kinds[] = {"latency", "bandwidth_up", "bandwidth_down"};
    size_t all = 0;
    put_head(d, "nettopo_fleet_suspect_ratio",
             "Value of a degraded part now, divided by its value before.");
    for (size_t k = 0; k < changes->count; k++) {
        const struct nt_fleet_change *c = &changes->change[k];
        char part[NT_PART_BYTES];
        if (!c->current || !c->worse || all++ >= SUSPECTS_MAX)
            continue;
        nt_fleet_part_name(changes, c, part);
        nt_strbuf_puts(d, "nettopo_fleet_suspect_ratio{part=\"");
        nt_strbuf_puts(d, part); /* letters, digits, '.', '-', '_' and a blank */
        nt_strbuf_print(d, "\",kind=\"%s\"} %.6g\n", kinds[c->kind], c->to / c->from);
    }
    put_plain(d, "nettopo_fleet_suspects", "Values that are worse than before.", (double)all);
}

static int metrics(const char *store, const char *output, int64_t days_s, struct nt_err *err)
{
    struct nt_fleet_changes changes;
    struct nt_strbuf d = {0};
    char *text;
    size_t bytes;
    if (nt_fleet_changes_load(store, days_s, true, &changes, err) != 0)
        return -1;
    put_jobs(&d, &changes.fleet.sums);
    put_map(&d, &changes.fleet);
    put_suspects(&d, &changes);
    nt_strbuf_puts(&d, "# EOF\n");
    nt_fleet_changes_fini(&changes);
    if (nt_strbuf_finish(&d, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text(output, text, bytes, err);
}

static int metrics_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.days = "90d", .output = "-"};
    int64_t days_s;
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_fleet_span("days", a.days, &days_s, err) != 0)
        return -1;
    return metrics(a.store, a.output, days_s, err);
}

const struct nt_verb nt_fleet_metrics = {"metrics", "write metrics for Prometheus", &help,
                                         metrics_run};
