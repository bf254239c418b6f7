/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in a schedule. Every kind is drawn at a random host and, where it has one, at a
 * random time of the sweep. */
#include <math.h>
#include <munge.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents.h"
#include "cluster.h"
#include "files.h"
#include "frame.h"
#include "subtree.h"

uint64_t faults_reached;

struct kind {
    const char *name;
    bool promised; /* the host must be in the map all the same */
    void (*plan)(uint32_t host, double at_s);
};

/* The hosts of its block, when it is a block's leader. */
static void mark_block_faulty(uint32_t k)
{
    size_t block = nt_block_hosts(cluster.hosts, cluster.conf.block_hosts);
    size_t hosts = k % block == 0 ? block : 1;
    for (size_t h = k; h < cluster.hosts && h < k + hosts; h++)
        cluster.host[h].faulty = true;
}

/* What a block's leader had for its block, or from it, is lost with it. */
static void mark_dying(const struct host *h)
{
    if (h->agent != NULL && h->agent->alive && files_queued(h->agent) > 0)
        mark_block_faulty(h->number);
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
    relay_kill(h, SIGSYS);
}

static void plan_relay_killed(uint32_t k, double at_s)
{
    world_at(at_s, relay_killed, &cluster.host[k], 0);
}

static void worker_killed(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    mark_dying(h);
    worker_kill(h, SIGSEGV);
}

static void plan_worker_killed(uint32_t k, double at_s)
{
    world_at(at_s, worker_killed, &cluster.host[k], 0);
}

static void worker_stopped(void *context, uint64_t number)
{
    struct host *h = context;
    process_stop(h->worker, world.now_s + (double)number * 1e-6);
}

static void plan_worker_stopped(uint32_t k, double at_s)
{
    world_at(at_s, worker_stopped, &cluster.host[k], (uint64_t)draw_between(0.05e6, 4e6));
}

static void plan_no_relay(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].no_relay = true;
}

static void started_again(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    if (!network_host_is_down(h->number))
        agent_start_again(h);
}

static void restarted(void *context, uint64_t number)
{
    struct host *h = context;
    agent_killed(h, 0);
    world_at(world.now_s + (double)number * 1e-6, started_again, h, 0);
}

static void plan_restarted(uint32_t k, double at_s)
{
    world_at(at_s, restarted, &cluster.host[k], (uint64_t)draw_between(0, 1e6));
}

static void begin_rival(void *context, uint64_t number)
{
    (void)context;
    (void)number;
    cluster_begin_rival(world.now_s);
}

static void plan_rival(uint32_t k, double at_s)
{
    (void)k;
    world_at(draw_chance(0.5) ? world.now_s : at_s, begin_rival, NULL, 0);
}

static void plan_agent_killed(uint32_t k, double at_s)
{
    world_at(at_s, agent_killed, &cluster.host[k], 0);
}

static void probe_killed(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    if (h->probe != NULL)
        process_kill(h->probe, SIGSEGV);
}

static void plan_probe_killed(uint32_t k, double at_s)
{
    world_at(at_s, probe_killed, &cluster.host[k], 0);
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

static void plan_host_down(uint32_t k, double at_s)
{
    world_at(at_s, host_down, &cluster.host[k], k);
}

static void host_stopped(void *context, uint64_t number)
{
    struct host *h = context;
    double until = world.now_s + (double)number * 1e-6;
    agent_stop(h, until);
}

static void plan_host_stopped(uint32_t k, double at_s)
{
    world_at(at_s, host_stopped, &cluster.host[k], (uint64_t)draw_between(0.05e6, 4e6));
}

static void probe_stopped(void *context, uint64_t number)
{
    struct host *h = context;
    if (h->probe != NULL)
        process_stop(h->probe, world.now_s + (double)number * 1e-6);
}

static void plan_probe_stopped(uint32_t k, double at_s)
{
    world_at(at_s, probe_stopped, &cluster.host[k], (uint64_t)draw_between(0.05e6, 4e6));
}

static void plan_slow(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].slowness = cluster.host[k].worker->slowness =
        exp(draw_between(log(3), log(1000)));
}

static void plan_late(uint32_t k, double at_s)
{
    struct host *h = &cluster.host[k];
    (void)at_s;
    process_stop(h->worker, world.now_s + draw_between(0.1, 3));
}

static void plan_probe_late(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].probe_late_s = draw_between(0.2, 3);
}

static void cut_off(void *context, uint64_t number)
{
    double until = number == 0 ? INFINITY : world.now_s + (double)number * 1e-6;
    uint32_t k = (uint32_t)((struct host *)context - cluster.host);
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

static void plan_cut_off(uint32_t k, double at_s)
{
    world_at(at_s, cut_off, &cluster.host[k], draw_outage());
}

static void deaf(void *context, uint64_t number)
{
    double until = number == 0 ? INFINITY : world.now_s + (double)number * 1e-6;
    uint32_t k = (uint32_t)((struct host *)context - cluster.host);
    for (uint32_t other = 0; other < cluster.hosts; other++)
        if (other != k)
            network_cut(other, k, until);
}

static void plan_deaf(uint32_t k, double at_s)
{
    world_at(at_s, deaf, &cluster.host[k], draw_outage());
}

static void dumb(void *context, uint64_t number)
{
    double until = number == 0 ? INFINITY : world.now_s + (double)number * 1e-6;
    uint32_t k = (uint32_t)((struct host *)context - cluster.host);
    for (uint32_t other = 0; other < cluster.hosts; other++)
        if (other != k)
            network_cut(k, other, until);
}

static void plan_dumb(uint32_t k, double at_s)
{
    world_at(at_s, dumb, &cluster.host[k], draw_outage());
}

/* Between two hosts that are no leaders: both can reach all others, and stay. */
static void pair_cut(void *context, uint64_t number)
{
    uint32_t k = (uint32_t)((struct host *)context - cluster.host);
    network_cut(k, (uint32_t)number, INFINITY);
    network_cut((uint32_t)number, k, INFINITY);
}

static void plan_pair_cut(uint32_t k, double at_s)
{
    uint32_t other = (uint32_t)nt_rng_below(&world.rng, cluster.hosts);
    size_t block = nt_block_hosts(cluster.hosts, cluster.conf.block_hosts);
    if (k % block != 0 && other % block != 0 && other != k && cluster.hosts > 4)
        world_at(at_s, pair_cut, &cluster.host[k], other);
}

static void delayed(void *context, uint64_t number)
{
    uint32_t k = (uint32_t)((struct host *)context - cluster.host);
    network_delay(k, (double)number * 1e-6);
}

static void plan_delayed(uint32_t k, double at_s)
{
    world_at(at_s, delayed, &cluster.host[k], (uint64_t)draw_between(0.01e6, 2e6));
}

static void reset(void *context, uint64_t number)
{
    struct host *h = context;
    (void)number;
    if (h->agent != NULL)
        files_reset_connections(h->agent);
}

static void plan_reset(uint32_t k, double at_s)
{
    world_at(at_s, reset, &cluster.host[k], 0);
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

static void plan_inject(uint32_t k, double at_s)
{
    world_at(at_s, inject, &cluster.host[k], nt_rng_next(&world.rng));
}

static void plan_munge_slow(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].munge_s = 0.05;
}

static void plan_munge_stalls(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].munge_until_s = world.now_s + draw_between(0.3, 2);
}

static void plan_munge_down(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].munge_until_s = INFINITY;
}

static void plan_clock(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].clock_off_s = draw_chance(0.5) ? 600 : -600;
}

static void plan_disk_full(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].disk_bytes = draw_chance(0.3) ? 0 : nt_rng_below(&world.rng, 20000);
}

/* The probe's memory has a limit; the agent's is the host's. */
static void plan_no_memory(uint32_t k, double at_s)
{
    uint64_t number = (uint64_t)exp(draw_between(0, log(3000)));
    (void)at_s;
    if (draw_chance(0.5))
        cluster.host[k].agent_allocations = number;
    else
        cluster.host[k].probe_allocations = number;
}

static void plan_no_network(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].no_network = true;
}

/* Signals, and a kernel that is short of memory for sockets: nobody may notice. */
static void plan_interrupted(uint32_t k, double at_s)
{
    struct host *h = &cluster.host[k];
    struct call_faults *faults[] = {&h->agent_calls, &h->probe_calls};
    (void)at_s;
    for (int p = 0; p < 2; p++) {
        faults[p]->interrupted = draw_between(0, 0.2);
        faults[p]->again = draw_between(0, 0.2);
        faults[p]->in_part = draw_between(0, 0.5);
    }
}

/* Others have the processor for most of the time, for moments up to those of a busy machine. */
static void plan_preempted(uint32_t k, double at_s)
{
    const double LOST_S = 5e-6; /* a call */
    struct host *h = &cluster.host[k];
    (void)at_s;
    double s = exp(draw_between(log(5e-5), log(2e-2)));
    h->agent_calls.preempted_s = h->probe_calls.preempted_s = s;
    h->agent_calls.preempted = h->probe_calls.preempted = LOST_S / s;
}

static void plan_few_files(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].agent_calls.files_max = 4 + nt_rng_below(&world.rng, 20);
}

static void plan_no_random(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].agent_calls.no_random = true;
}

static void plan_no_route(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].agent_calls.no_route = true;
}

static void plan_no_ipv6(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].agent_calls.no_ipv6 = true;
}

static void plan_munge_fails(uint32_t k, double at_s)
{
    static const munge_err_t errors[] = {
        EMUNGE_SNAFU,        EMUNGE_NO_MEMORY,         EMUNGE_SOCKET,       EMUNGE_TIMEOUT,
        EMUNGE_CRED_INVALID, EMUNGE_CRED_UNAUTHORIZED, EMUNGE_CRED_EXPIRED, EMUNGE_CRED_REPLAYED};
    (void)at_s;
    cluster.host[k].munge_fails = draw_between(0.1, 1);
    cluster.host[k].munge_error = (int)errors[nt_rng_below(&world.rng, 8)];
}

/* The measured network is another than the agents': it fails alone. */
static void plan_fabric_down(uint32_t k, double at_s)
{
    uint64_t outage = draw_outage();
    cluster.host[k].fabric_down_s = at_s;
    cluster.host[k].fabric_until_s = outage == 0 ? INFINITY : at_s + (double)outage * 1e-6;
}

static void plan_fabric_pair_cut(uint32_t k, double at_s)
{
    uint32_t other = (uint32_t)nt_rng_below(&world.rng, cluster.hosts);
    (void)at_s;
    if (cluster.fabric_cuts == sizeof cluster.fabric_cut / sizeof *cluster.fabric_cut ||
        cluster.hosts <= 4 || other == k)
        return;
    cluster.fabric_cut[cluster.fabric_cuts][0] = k;
    cluster.fabric_cut[cluster.fabric_cuts++][1] = other;
}

static void plan_no_resolver(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].no_resolver = true;
}

static void plan_slow_lookup(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].lookup_s = draw_between(0.05, 3);
}

/* ---- strangers ---- */

static uint16_t stranger_port(size_t candidate)
{
    return nt_port_candidate(&cluster.conf, cluster.host[0].job.id, candidate);
}

/* Listens on ports that the job may try, and says nothing, nonsense, or another job's HELLO. */
static void squat(void *argument)
{
    enum { SILENT, NONSENSE, CLOSES, MANNERS };
    size_t ports = nt_port_count(&cluster.conf), mine = 1 + nt_rng_below(&world.rng, ports - 1);
    int fd[NT_PORT_TRIES] = {0}, manners = (int)nt_rng_below(&world.rng, MANNERS);
    struct pollfd polls[NT_PORT_TRIES];
    (void)argument;
    for (size_t k = 0; k < mine; k++) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(stranger_port(k))};
        fd[k] = socket(AF_INET, SOCK_STREAM, 0);
        polls[k] = (struct pollfd){.fd = fd[k], .events = POLLIN};
        if (bind(fd[k], (struct sockaddr *)&at, sizeof at) != 0 || listen(fd[k], 16) != 0)
            process_exit(0);
    }
    for (;;) {
        if (poll(polls, mine, -1) <= 0)
            process_exit(0);
        for (size_t k = 0; k < mine; k++) {
            int got = (polls[k].revents & POLLIN) != 0 ? accept4(fd[k], NULL, NULL, 0) : -1;
            if (got >= 0 && manners == NONSENSE)
                send(got, "SSH-2.0-OpenSSH_9.2\r\n", 21, 0);
            if (got >= 0 && manners == CLOSES)
                close(got);
        }
    }
}

static void plan_squatter(uint32_t k, double at_s)
{
    (void)at_s;
    process_start(k, PROCESS_STRANGER, world.now_s, squat, NULL);
}

/* Connects to the listener again and again, with nothing or nonsense to say. */
static void knock(void *argument)
{
    uint32_t to = (uint32_t)(uintptr_t)argument;
    double every_s = exp(draw_between(log(0.002), log(0.05)));
    bool talks = draw_chance(0.5);
    unsigned char bytes[200];
    int fd[32];
    size_t n = 0;
    for (double until = process_time() + 8; process_time() < until;) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(stranger_port(0))};
        at.sin_addr.s_addr = htonl(10U << 24 | to);
        if (n == sizeof fd / sizeof *fd) {
            close(fd[0]);
            memmove(fd, fd + 1, --n * sizeof *fd);
        }
        fd[n] = socket(AF_INET, SOCK_STREAM, 0);
        connect(fd[n], (struct sockaddr *)&at, sizeof at);
        process_sleep(every_s);
        for (size_t b = 0; b < sizeof bytes; b++)
            bytes[b] = (unsigned char)nt_rng_next(&world.rng);
        if (talks)
            send(fd[n], bytes, sizeof bytes, 0);
        n++;
    }
}

static void plan_knocking(uint32_t k, double at_s)
{
    process_start((uint32_t)nt_rng_below(&world.rng, cluster.hosts), PROCESS_STRANGER, at_s, knock,
                  (void *)(uintptr_t)k);
}

static const struct kind kinds[] = {
    {"agent killed", false, plan_agent_killed},
    {"relay killed", false, plan_relay_killed},
    {"worker killed", false, plan_worker_killed},
    {"worker stopped", false, plan_worker_stopped},
    {"no relay", false, plan_no_relay},
    {"agent started again", false, plan_restarted},
    {"another job of the same id", true, plan_rival},
    {"probe killed", false, plan_probe_killed},
    {"host down", false, plan_host_down},
    {"host stopped", false, plan_host_stopped},
    {"probe stopped", false, plan_probe_stopped},
    {"slow host", false, plan_slow},
    {"late agent", false, plan_late},
    {"late probe", false, plan_probe_late},
    {"cut off", false, plan_cut_off},
    {"cut off, inbound", false, plan_deaf},
    {"cut off, outbound", false, plan_dumb},
    {"pair cut", true, plan_pair_cut},
    {"packets late", false, plan_delayed},
    {"connections reset", false, plan_reset},
    {"bytes injected", false, plan_inject},
    {"munge slow", false, plan_munge_slow},
    {"munge stalls", false, plan_munge_stalls},
    {"munge down", false, plan_munge_down},
    {"wrong clock", false, plan_clock},
    {"disk full", false, plan_disk_full},
    {"no memory", false, plan_no_memory},
    {"no network", false, plan_no_network},
    {"no resolver", false, plan_no_resolver},
    {"slow lookups", false, plan_slow_lookup},
    {"calls interrupted", true, plan_interrupted},
    {"busy processor", true, plan_preempted},
    {"few descriptors", false, plan_few_files},
    {"no randomness", false, plan_no_random},
    {"no route", false, plan_no_route},
    {"no IPv6", true, plan_no_ipv6},
    {"munge fails", false, plan_munge_fails},
    {"fabric down", false, plan_fabric_down},
    {"fabric between two cut", true, plan_fabric_pair_cut},
    {"ports taken", true, plan_squatter},
    {"idle and hostile clients", true, plan_knocking},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

_Static_assert(KINDS <= 64, "a bit each");

const char *fault_name(size_t kind);
const char *fault_name(size_t kind)
{
    return kind < KINDS ? kinds[kind].name : NULL;
}

/* For the hosts of a block to notice that their leader is gone, and to be with the first host. */
static const double REJOIN_S = 2.5;

/* A block leader that falls silent takes its block with it; one that dies does not while there is
 * time: its connections are closed. */
static void mark_faulty(uint32_t k, const struct kind *kind, double left_s)
{
    cluster.host[k].faulty = true;
    bool dies = kind->plan == plan_agent_killed || kind->plan == plan_relay_killed ||
                kind->plan == plan_worker_killed || kind->plan == plan_restarted;
    if (!(dies && left_s > REJOIN_S))
        mark_block_faulty(k);
}

void faults_draw(void)
{
    size_t some = 1 + cluster.hosts / 8,
           n = draw_chance(0.1) ? 0 : 1 + nt_rng_below(&world.rng, some);
    double begins = world.now_s;
    for (size_t f = 0; f < n; f++) {
        size_t kind = nt_rng_below(&world.rng, KINDS);
        uint32_t k = (uint32_t)nt_rng_below(&world.rng, cluster.hosts);
        double at = begins + draw_between(0, cluster.option.budget_s);
        /* early faults meet the most states */
        if (draw_chance(0.6))
            at = begins + draw_between(0, 1);
        world_tell(k, "fault", "%s at %.3f s", kinds[kind].name, at - begins);
        kinds[kind].plan(k, at);
        faults_reached |= (uint64_t)1 << kind;
        cluster.faults++;
        if (!kinds[kind].promised) {
            mark_faulty(k, &kinds[kind], begins + cluster.option.budget_s - at);
            cluster.leader_faulty = cluster.leader_faulty || k == 0;
        }
    }
}
