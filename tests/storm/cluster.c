/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "role.h"

void parts_begin(void);
void probe_begin(void);

/* As prolog/monitor.c has them. */
static const double GRACE_S = 0.25, KILL_S = 0.42;

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

static void make_job(struct host *h, size_t self)
{
    h->job =
        (struct nt_job){.id = 42, .uid = 1000, .gid = 1000, .hosts = cluster.hosts, .self = self};
    snprintf(h->job.cluster, sizeof h->job.cluster, "sim");
    h->job.host = must(calloc(cluster.hosts, sizeof *h->job.host));
    for (size_t k = 0; k < cluster.hosts; k++)
        h->job.host[k] = cluster.host[k].name;
}

void cluster_begin(uint64_t seed, size_t hosts_max)
{
    (void)seed;
    cluster = (struct cluster){0};
    parts_begin();
    probe_begin();
    nt_conf_default(&cluster.conf);
    nt_option_parse(NULL, &cluster.option, NULL);
    draw_topology(hosts_max);
    make_network();
    cluster.option.level = draw_chance(0.75) ? NT_LEVEL_QUICK : NT_LEVEL_STANDARD;
    cluster.option.budget_s = draw_between(2.5, 6);
    cluster.window_bytes = (size_t)1 << (13 + nt_rng_below(&world.rng, 6));
    if (cluster.hosts <= 64 && draw_chance(0.3)) /* small blocks of many hosts are a mistake */
        cluster.conf.block_hosts = (uint32_t)(2 + nt_rng_below(&world.rng, 6));
    cluster.host = must(calloc(cluster.hosts, sizeof *cluster.host));
    for (size_t k = 0; k < cluster.hosts; k++) {
        struct host *h = &cluster.host[k];
        snprintf(h->name, sizeof h->name, "n%zu", k + 1);
        h->began_s = h->ended_s = NAN;
        h->fabric_down_s = INFINITY;
        h->disk_bytes = SIZE_MAX;
        h->munge_s = draw_between(0.0002, 0.0006);
        h->starts_late_s = draw_between(0, 0.1);
    }
    for (size_t k = 0; k < cluster.hosts; k++)
        make_job(&cluster.host[k], k);
}

void cluster_end(void)
{
    for (size_t k = 0; k < cluster.hosts; k++) {
        struct host *h = &cluster.host[k];
        for (int a = 0; a < NT_ARTIFACT_END; a++)
            free(h->published.text[a]);
        free(h->job.host);
        free(h->session);
    }
    free(cluster.host);
    nt_network_destroy(cluster.network);
    cluster = (struct cluster){0};
}

/* ---- an agent: what monitor.c, worker.c and relay.c do ---- */

static void publish_failed(struct host *h, const char *reason)
{
    h->published.failed = h->published.renamed = true;
    snprintf(h->published.reason, sizeof h->published.reason, "%s", reason);
    snprintf(h->outcome.text, sizeof h->outcome.text, "failed %.500s", reason);
    h->outcome.decided = true;
}

static void publish_settled(struct host *h)
{
    h->published.renamed = true;
    memcpy(h->outcome.text, h->service.settlement.text, sizeof h->outcome.text);
    h->outcome.decided = true;
}

/* The worker's end of a relay that is late: what was settled is published. */
static void kill_agent(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    if (!h->agent->alive || network_host_is_down(h->agent->host))
        return;
    h->agent_killed = true;
    world_tell(h->agent->host, "worker", "kills the relay");
    process_kill(h->agent, SIGKILL);
    if (h->probe != NULL)
        process_kill(h->probe, SIGKILL);
    if (h->service.settled && !h->service.settlement.failed)
        publish_settled(h);
    else
        publish_failed(h, h->service.settled ? h->service.settlement.text
                                             : "the agent was terminated before it had a result");
    h->ended_s = world.now_s;
}

static void agent_main(void *argument)
{
    struct host *h = argument;
    h->agent->faults = h->agent_calls;
    double began = nt_clock_s(), deadline = began + cluster.option.budget_s;
    h->began_s = began;
    h->session = must(calloc(1, sizeof *h->session));
    world_at(deadline + KILL_S, kill_agent, h, 0);
    nt_service_init(&h->service, &cluster.conf, &h->job, &cluster.option, NULL, deadline,
                    deadline + GRACE_S);
    int pidfd = h->service.child.pidfd; /* the relay's own, open until it ends */
    nt_session_init(h->session, &h->service, -1);
    if (h->job.self == 0)
        nt_leader_run(h->session);
    else
        nt_member_run(h->session);
    nt_session_fini(h->session);
    if (pidfd >= 0)
        close(pidfd);
    nt_service_publish(&h->service);
    h->outcome = h->service.outcome;
    nt_service_fini(&h->service);
    h->ended_s = nt_clock_s();
    world_tell(world.running->host, "agent", "ended: %.200s", h->outcome.text);
    if (files_open(world.running) > 0)
        world_violation("n%u: the agent leaves %zu descriptors open", world.running->host + 1,
                        files_open(world.running));
    if (world.running->allocated > 0)
        world_violation("n%u: the agent leaves %zu allocations", world.running->host + 1,
                        world.running->allocated);
}

void cluster_run(void)
{
    double begins = world.now_s;
    for (uint32_t k = 0; k < cluster.hosts; k++) {
        struct host *h = &cluster.host[k];
        h->agent = process_start(k, PROCESS_AGENT, begins + h->starts_late_s, agent_main, h);
    }
    faults_draw();
    /* late ones have their own budget */
    world_run(begins + cluster.option.budget_s + 20);
}
