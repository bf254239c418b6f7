/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents.h"

void parts_begin(void);
void probe_begin(void);

struct cluster cluster;

/* ---- the job ---- */

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

/* Mostly small jobs, as on a real cluster. */
static void draw_topology(size_t hosts_max)
{
    double kind = nt_rng_uniform(&world.rng), size = nt_rng_uniform(&world.rng);
    unsigned most = size < 0.75 ? 16 : size < 0.98 ? 64 : 1024;
    if (most > hosts_max)
        most = (unsigned)hosts_max;
    if (most < 4 || kind < 0.2) {
        snprintf(cluster.topology, sizeof cluster.topology, "star:%zu",
                 2 + nt_rng_below(&world.rng, most - 1));
    } else if (kind < 0.85 || most < 8) {
        size_t leaf = 2 + nt_rng_below(&world.rng, most / 2 - 1);
        size_t leaves = most / leaf < 2 ? 2 : 2 + nt_rng_below(&world.rng, most / leaf - 1);
        snprintf(cluster.topology, sizeof cluster.topology, "tree:%zux%zu", leaves, leaf);
    } else {
        size_t leaf = 2 + nt_rng_below(&world.rng, most / 4 - 1);
        snprintf(cluster.topology, sizeof cluster.topology, "tree:2x2x%zu", leaf);
    }
}

static void make_network(void)
{
    struct nt_spec spec;
    struct nt_figures figures;
    struct nt_err err;
    if (nt_spec_parse(cluster.topology, &spec, &err) != 0)
        abort();
    nt_figures_default(&spec, &figures);
    if (nt_network_build(&spec, &figures, &cluster.network, &err) != 0)
        abort();
    cluster.hosts = cluster.network->hosts;
    cluster.noise =
        (struct nt_measure_noise){.sd = draw_between(0.001, 0.01), .seed = nt_rng_next(&world.rng)};
}

/* What the administrator and the user have chosen. */
static void draw_conf(void)
{
    static const enum nt_shared_policy policies[] = {NT_SHARED_LATENCY, NT_SHARED_FULL,
                                                     NT_SHARED_OFF};
    struct nt_conf *conf = &cluster.conf;
    conf->shared_hosts = policies[nt_rng_below(&world.rng, 3)];
    cluster.exclusive = draw_chance(conf->shared_hosts == NT_SHARED_OFF ? 0.95 : 0.7);
    cluster.leader_faulty = !cluster.exclusive && conf->shared_hosts == NT_SHARED_OFF;
    conf->reserved_ports = draw_chance(0.3);
    cluster.option.debug = draw_chance(0.2);
    cluster.log.level = NT_LOG_DEBUG;
    cluster.tasks = (uint32_t)nt_rng_below(&world.rng, 4 * cluster.hosts);
    cluster.task_cpus = (uint32_t)nt_rng_below(&world.rng, 3);
    cluster.cancelled_s = INFINITY;
    cluster.dual_stack = draw_chance(0.3);
    cluster.refusal = draw_chance(0.02) ? 1 + (int)nt_rng_below(&world.rng, 3) : 0;
    cluster.leader_faulty = cluster.leader_faulty || cluster.refusal != 0;
    if (draw_chance(0.1))
        snprintf(conf->archive.dir, sizeof conf->archive.dir, "/archive");
    if (draw_chance(0.2))
        snprintf(conf->munge_socket, sizeof conf->munge_socket, "/run/munge/other");
    if (draw_chance(0.05))
        conf->publish_limit_bytes = (uint32_t)(2000 + nt_rng_below(&world.rng, 20000));
}

/* The hosts of a job, of which the first is on that machine. */
static struct host *make_hosts(size_t first)
{
    size_t n = cluster.hosts;
    struct host *hosts = must(calloc(n, sizeof *hosts));
    for (size_t k = 0; k < n; k++) {
        struct host *h = &hosts[k];
        h->number = (uint32_t)((first + k) % n);
        h->job_hosts = hosts;
        snprintf(h->name, sizeof h->name, "n%u", h->number + 1);
        h->began_s = h->ended_s = NAN;
        h->fabric_down_s = INFINITY;
        h->slowness = 1;
        h->disk_bytes = SIZE_MAX;
        h->munge_s = draw_between(0.0002, 0.0006);
        h->starts_late_s = draw_between(0, 0.1);
        h->job = (struct nt_job){.id = 42, .uid = 1000, .gid = 1000, .hosts = n, .self = k};
        snprintf(h->job.cluster, sizeof h->job.cluster, "%s", cluster.tasks % 7 == 0 ? "" : "sim");
        if (cluster.tasks % 2 == 0)
            snprintf(h->job.cpus, sizeof h->job.cpus, "%u(x%zu)", 1 + cluster.tasks % 8, n);
        h->job.host = must(calloc(n, sizeof *h->job.host));
    }
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n; j++)
            hosts[k].job.host[j] = hosts[j].name;
    return hosts;
}

/* Of another cluster, or this one's before it was requeued. */
void cluster_begin_rival(double at_s)
{
    if (cluster.rival != NULL)
        return;
    bool is_other = draw_chance(0.5);
    cluster.rival = make_hosts(draw_chance(0.5) ? 0 : nt_rng_below(&world.rng, cluster.hosts));
    for (size_t k = 0; k < cluster.hosts; k++) {
        struct host *h = &cluster.rival[k];
        h->job.restart = is_other ? 0 : 1;
        snprintf(h->job.cluster, sizeof h->job.cluster, "%s", is_other ? "other" : "sim");
        agent_start(h, at_s + h->starts_late_s);
    }
}

void cluster_begin(size_t hosts_max)
{
    cluster = (struct cluster){0};
    parts_begin();
    probe_begin();
    nt_conf_default(&cluster.conf);
    nt_option_parse(NULL, &cluster.option, NULL);
    draw_topology(hosts_max);
    make_network();
    double level = nt_rng_uniform(&world.rng);
    cluster.option.level = level < 0.6    ? NT_LEVEL_QUICK
                           : level < 0.85 ? NT_LEVEL_STANDARD
                                          : NT_LEVEL_FULL;
    cluster.option.budget_s = draw_between(2.5, 6);
    cluster.window_bytes = (size_t)1 << (13 + nt_rng_below(&world.rng, 6));
    if (cluster.hosts <= 64 && draw_chance(0.3)) /* small blocks of many hosts are a mistake */
        cluster.conf.block_hosts = (uint32_t)(2 + nt_rng_below(&world.rng, 6));
    draw_conf();
    cluster.host = make_hosts(0);
}

static void free_hosts(struct host *hosts)
{
    for (size_t k = 0; hosts != NULL && k < cluster.hosts; k++) {
        for (int a = 0; a < NT_ARTIFACT_END; a++)
            free(hosts[k].published.text[a]);
        free(hosts[k].job.host);
        free(hosts[k].session);
    }
    free(hosts);
}

void cluster_end(void)
{
    free_hosts(cluster.host);
    free_hosts(cluster.rival);
    nt_network_destroy(cluster.network);
    cluster = (struct cluster){0};
}

void cluster_run(uint64_t seed)
{
    double begins = cluster.begins_s = world.now_s;
    for (uint32_t k = 0; k < cluster.hosts; k++) {
        struct host *h = &cluster.host[k];
        agent_start(h, begins + h->starts_late_s);
    }
    faults_draw(seed);
    /* late ones have their own budget */
    world_run(begins + cluster.option.budget_s + 20);
}
