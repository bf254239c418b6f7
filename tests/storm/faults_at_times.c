/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a host in the middle of a sweep. */
#include "faults.h"

#include <math.h>
#include <signal.h>

#include "agents.h"
#include "cluster.h"
#include "files.h"
#include "subtree.h"

/* For the hosts of a block to notice that their leader is gone, and to be with the first host. */
static const double REJOIN_S = 2.5;

/* A block's leader that dies: its hosts turn to the first one while there is time. What it had for
 * them, or from them, is lost. */
static void mark_dying(const struct host *h)
{
    bool in_time = world.now_s + REJOIN_S < cluster.begins_s + cluster.option.budget_s;
    bool holds =
        h->agent != NULL && h->agent->alive && (!h->agent->waits || files_queued(h->agent) > 0);
    if (!in_time || holds)
        fault_marks_block(h->number);
}

static void agent_killed(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    mark_dying(h);
    agent_kill(h, SIGKILL);
}

static void relay_killed(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    mark_dying(h);
    h->relay_is_killed = h->agent != NULL && h->agent->alive && !h->service.has_result;
    relay_kill(h, SIGSYS);
}

void plan_relay_killed(uint32_t k, double at_s)
{
    fault_at(k, at_s, relay_killed, &cluster.host[k], 0);
}

static void worker_killed(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    mark_dying(h);
    worker_kill(h, SIGSEGV);
}

void plan_worker_killed(uint32_t k, double at_s)
{
    fault_at(k, at_s, worker_killed, &cluster.host[k], 0);
}

static void worker_stopped(void *context, uint64_t number)
{
    struct host *h = context;
    process_stop(h->worker, world.now_s + (double)number * 1e-6);
}

void plan_worker_stopped(uint32_t k, double at_s)
{
    fault_at(k, at_s, worker_stopped, &cluster.host[k], (uint64_t)draw_between(0.05e6, 4e6));
}

void plan_no_relay(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].no_relay = true;
}

static void started_again(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    if (!network_host_is_down(h->number) && !h->worker->alive) /* another fault may have */
        agent_start_again(h);
}

static void restarted(void *context, uint64_t number)
{
    struct host *h = context;
    agent_killed(h, 0);
    world_at(world.now_s + (double)number * 1e-6, started_again, h, 0);
}

void plan_restarted(uint32_t k, double at_s)
{
    fault_at(k, at_s, restarted, &cluster.host[k], (uint64_t)draw_between(0, 1e6));
}

static void cancelled(void *context, uint64_t number)
{
    (void)context;
    (void)number;
    cluster.cancelled_s = world.now_s;
}

/* By its user. Nothing is promised of its map; its hosts end. */
void plan_cancelled(uint32_t k, double at_s)
{
    cluster.leader_faulty = true;
    fault_at(k, at_s, cancelled, &cluster.host[k], 0);
}

static void begin_rival(void *context, uint64_t number)
{
    (void)context;
    (void)number;
    cluster_begin_rival(world.now_s);
}

void plan_rival(uint32_t k, double at_s)
{
    fault_at(k, draw_chance(0.5) ? world.now_s : at_s, begin_rival, NULL, 0);
}

void plan_agent_killed(uint32_t k, double at_s)
{
    fault_at(k, at_s, agent_killed, &cluster.host[k], 0);
}

static void probe_killed(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    if (h->probe != NULL)
        process_kill(h->probe, SIGSEGV);
}

void plan_probe_killed(uint32_t k, double at_s)
{
    fault_at(k, at_s, probe_killed, &cluster.host[k], 0);
}

static void host_down(void *context, uint64_t number)
{
    struct host *h = context;
    network_host_down((uint32_t)number);
    agent_kill(h, SIGKILL);
    if (cluster.rival != NULL)
        for (size_t k = 0; k < cluster.hosts; k++)
            if (cluster.rival[k].number == number)
                agent_kill(&cluster.rival[k], SIGKILL);
}

void plan_host_down(uint32_t k, double at_s)
{
    fault_at(k, at_s, host_down, &cluster.host[k], k);
}

static void host_stopped(void *context, uint64_t number)
{
    struct host *h = context;
    double until = world.now_s + (double)number * 1e-6;
    agent_stop(h, until);
}

void plan_host_stopped(uint32_t k, double at_s)
{
    fault_at(k, at_s, host_stopped, &cluster.host[k], (uint64_t)draw_between(0.05e6, 4e6));
}

static void probe_stopped(void *context, uint64_t number)
{
    struct host *h = context;
    if (h->probe != NULL)
        process_stop(h->probe, world.now_s + (double)number * 1e-6);
}

void plan_probe_stopped(uint32_t k, double at_s)
{
    fault_at(k, at_s, probe_stopped, &cluster.host[k], (uint64_t)draw_between(0.05e6, 4e6));
}

static void cut_off(void *context, uint64_t number)
{
    double until = number == 0 ? INFINITY : world.now_s + (double)number * 1e-6;
    uint32_t k = (uint32_t)((struct host *)context - cluster.host);
    cluster.host[k].was_cut_off = true;
    for (uint32_t other = 0; other < cluster.hosts; other++)
        if (other != k) {
            network_cut(k, other, until);
            network_cut(other, k, until);
        }
}

static uint64_t draw_outage(void)
{
    return draw_chance(0.5) ? 0 : (uint64_t)draw_between(0.02e6, 3e6);
}

void plan_cut_off(uint32_t k, double at_s)
{
    fault_at(k, at_s, cut_off, &cluster.host[k], draw_outage());
}

/* One way: what others send to it, or what it sends. */
static void cut_one_way(struct host *host, uint64_t number, bool in)
{
    double until = number == 0 ? INFINITY : world.now_s + (double)number * 1e-6;
    uint32_t k = (uint32_t)(host - cluster.host);
    host->was_cut_off = true;
    for (uint32_t other = 0; other < cluster.hosts; other++)
        if (other != k)
            network_cut(in ? other : k, in ? k : other, until);
}

static void deaf(void *context, uint64_t number)
{
    cut_one_way(context, number, true);
}

void plan_deaf(uint32_t k, double at_s)
{
    fault_at(k, at_s, deaf, &cluster.host[k], draw_outage());
}

static void dumb(void *context, uint64_t number)
{
    cut_one_way(context, number, false);
}

void plan_dumb(uint32_t k, double at_s)
{
    fault_at(k, at_s, dumb, &cluster.host[k], draw_outage());
}

/* Between two hosts that are no leaders: both can reach all others, and stay. */
static void pair_cut(void *context, uint64_t number)
{
    uint32_t k = (uint32_t)((struct host *)context - cluster.host);
    network_cut(k, (uint32_t)number, INFINITY);
    network_cut((uint32_t)number, k, INFINITY);
}

void plan_pair_cut(uint32_t k, double at_s)
{
    uint32_t other = (uint32_t)nt_rng_below(&world.rng, cluster.hosts);
    size_t block = nt_block_hosts(cluster.hosts, cluster.conf.block_hosts);
    if (k % block != 0 && other % block != 0 && other != k && cluster.hosts > 4)
        fault_at(k, at_s, pair_cut, &cluster.host[k], other);
}

static void delayed(void *context, uint64_t number)
{
    uint32_t k = (uint32_t)((struct host *)context - cluster.host);
    network_delay(k, (double)number * 1e-6);
}

void plan_delayed(uint32_t k, double at_s)
{
    fault_at(k, at_s, delayed, &cluster.host[k], (uint64_t)draw_between(0.01e6, 2e6));
}

static void reset(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    if (h->agent != NULL)
        files_reset_connections(h->agent);
}

void plan_reset(uint32_t k, double at_s)
{
    fault_at(k, at_s, reset, &cluster.host[k], 0);
}

static void inject(void *context, uint64_t number)
{
    struct host *h = context;
    unsigned char bytes[64];
    for (size_t b = 0; b < sizeof bytes; b++)
        bytes[b] = (unsigned char)nt_rng_next(&world.rng);
    h->injected = true;
    if (h->agent != NULL)
        files_inject(h->agent, bytes, 1 + number % sizeof bytes);
}

void plan_inject(uint32_t k, double at_s)
{
    fault_at(k, at_s, inject, &cluster.host[k], nt_rng_next(&world.rng));
}

static void fabric_down(void *context, uint64_t number)
{
    struct host *h = context;
    h->fabric_down_s = world.now_s;
    h->was_cut_off = true;
    h->fabric_until_s = number == 0 ? INFINITY : world.now_s + (double)number * 1e-6;
}

/* The measured network is another than the agents': it fails alone. */
void plan_fabric_down(uint32_t k, double at_s)
{
    fault_at(k, at_s, fabric_down, &cluster.host[k], draw_outage());
}

static void fabric_two_down(void *context, uint64_t number)
{
    fabric_down(context, number);
    fabric_down(&cluster.host[0], number);
}

/* The first host's as well, which is asked to tell who of two is lost. Of few hosts, half of whom
 * reach nobody, nothing says which. */
void plan_fabric_two_down(uint32_t k, double at_s)
{
    cluster.host[0].faulty = true;
    cluster.leader_faulty = cluster.leader_faulty || cluster.hosts < 16;
    fault_at(k, at_s, fabric_two_down, &cluster.host[k], draw_outage());
}

static void fabric_switch_down(void *context, uint64_t number)
{
    struct host *first = context;
    for (size_t h = 0; h < first->switch_hosts; h++)
        fabric_down(first + h, number);
}

/* A switch of it: hosts that follow each other. When they are many, it looks as if one of the
 * others were the one that nobody reaches. */
void plan_fabric_switch_down(uint32_t k, double at_s)
{
    size_t left = cluster.hosts - k, hosts = 2 + nt_rng_below(&world.rng, 3);
    struct host *first = &cluster.host[k];
    first->switch_hosts = hosts < left ? hosts : left;
    for (size_t h = 0; h < first->switch_hosts; h++)
        first[h].faulty = true;
    cluster.leader_faulty = cluster.leader_faulty || 8 * hosts > cluster.hosts;
    fault_at(k, at_s, fabric_switch_down, first, draw_outage());
}

static void fabric_pair_cut(void *context, uint64_t number)
{
    const struct host *h = context;
    if (cluster.fabric_cuts == sizeof cluster.fabric_cut / sizeof *cluster.fabric_cut)
        return;
    cluster.fabric_cut[cluster.fabric_cuts][0] = h->number;
    cluster.fabric_cut[cluster.fabric_cuts++][1] = (uint32_t)number;
}

void plan_fabric_pair_cut(uint32_t k, double at_s)
{
    uint32_t other = (uint32_t)nt_rng_below(&world.rng, cluster.hosts);
    if (cluster.hosts > 4 && other != k)
        fault_at(k, at_s, fabric_pair_cut, &cluster.host[k], other);
}
