/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in a schedule. Every kind is drawn at a random host and, where it has one, at a
 * random moment of the sweep. */
#include "faults.h"

#include <math.h>
#include <string.h>

#include "cluster.h"
#include "subtree.h"

uint64_t faults_reached;

/* What holds of the others, when it has happened to a host. */
enum promise {
    ALL,    /* they and the host itself are in the map */
    OTHERS, /* all but the host, and its block when it leads one */
    BLOCK,  /* all but the host: its block turns to the first host */
    AGENTS, /* all but the host, also when it is the first: its agent works on */
    ENDS,   /* they end in time */
};

struct kind {
    const char *name;
    enum promise promise;
    plan_fault *plan;
};

static const struct kind kinds[] = {
    {"agent killed", BLOCK, plan_agent_killed},
    {"relay killed", BLOCK, plan_relay_killed},
    {"worker killed", BLOCK, plan_worker_killed},
    {"worker stopped", OTHERS, plan_worker_stopped},
    {"no probe", OTHERS, plan_no_probe},
    {"no relay", OTHERS, plan_no_relay},
    {"relay without sandbox", OTHERS, plan_no_sandbox},
    {"relay cannot be ended", OTHERS, plan_relay_stays},
    {"job cannot be read", OTHERS, plan_no_job},
    {"job cancelled", ALL, plan_cancelled},
    {"agent started again", BLOCK, plan_restarted},
    {"another job of the same id", ALL, plan_rival},
    {"probe killed", OTHERS, plan_probe_killed},
    {"host down", OTHERS, plan_host_down},
    {"host stopped", OTHERS, plan_host_stopped},
    {"probe stopped", OTHERS, plan_probe_stopped},
    {"slow host", OTHERS, plan_slow},
    {"late agent", OTHERS, plan_late},
    {"late probe", OTHERS, plan_probe_late},
    {"cut off", OTHERS, plan_cut_off},
    {"cut off, inbound", OTHERS, plan_deaf},
    {"cut off, outbound", OTHERS, plan_dumb},
    {"pair cut", ALL, plan_pair_cut},
    {"packets late", OTHERS, plan_delayed},
    {"connections reset", OTHERS, plan_reset},
    {"bytes injected", OTHERS, plan_inject},
    {"munge slow", OTHERS, plan_munge_slow},
    {"munge stalls", OTHERS, plan_munge_stalls},
    {"munge down", OTHERS, plan_munge_down},
    {"wrong clock", OTHERS, plan_clock},
    {"disk full", OTHERS, plan_disk_full},
    {"no memory", OTHERS, plan_no_memory},
    {"no network", OTHERS, plan_no_network},
    {"no resolver", OTHERS, plan_no_resolver},
    {"slow lookups", OTHERS, plan_slow_lookup},
    {"calls interrupted", ALL, plan_interrupted},
    {"busy processor", ALL, plan_preempted},
    {"starved at moments", OTHERS, plan_starved},
    {"few descriptors", OTHERS, plan_few_files},
    {"no randomness", OTHERS, plan_no_random},
    {"no route", OTHERS, plan_no_route},
    {"no IPv6", ALL, plan_no_ipv6},
    {"munge fails", OTHERS, plan_munge_fails},
    {"fabric down", AGENTS, plan_fabric_down},
    {"fabric down at two", AGENTS, plan_fabric_two_down},
    {"fabric switch down", OTHERS, plan_fabric_switch_down},
    {"fabric between two cut", ALL, plan_fabric_pair_cut},
    {"bits altered", OTHERS, plan_altered},
    {"probe alters messages", ENDS, plan_probe_alters},
    {"hostile probe", ENDS, plan_probe_hostile},
    {"hostile relay", ENDS, plan_relay_hostile},
    {"ports taken", ALL, plan_squatter},
    {"idle and hostile clients", ALL, plan_knocking},
    /* drawn by themselves: */
    {"UCX crashes", AGENTS, plan_ucx_crashes},
    {"UCX aborts", AGENTS, plan_ucx_aborts},
    {"UCX hangs", AGENTS, plan_ucx_hangs},
};

enum { KINDS = sizeof kinds / sizeof *kinds, UCX_KINDS = 3, USUAL_KINDS = KINDS - UCX_KINDS };

_Static_assert(KINDS <= 64, "a bit each");

const char *fault_name(size_t kind);
const char *fault_name(size_t kind)
{
    return kind < KINDS ? kinds[kind].name : NULL;
}

static size_t first_kind = KINDS; /* KINDS: any */

/* The first of each schedule is of that kind; NULL: of any. False: there is none of that name. */
bool fault_is_first(const char *name);
bool fault_is_first(const char *name)
{
    first_kind = name == NULL ? (size_t)KINDS : 0;
    while (first_kind < KINDS && strcmp(kinds[first_kind].name, name) != 0)
        first_kind++;
    return name == NULL || first_kind < KINDS;
}

void fault_marks_block(uint32_t k)
{
    size_t block = nt_block_hosts(cluster.hosts, cluster.conf.block_hosts);
    size_t hosts = k % block == 0 ? block : 1;
    for (size_t h = k; h < cluster.hosts && h < k + hosts; h++)
        cluster.host[h].faulty = true;
}

void fault_loses_bytes(uint32_t from, uint32_t to)
{
    size_t block = nt_block_hosts(cluster.hosts, cluster.conf.block_hosts);
    if (!cluster.host[to].faulty || to % block != 0)
        return;
    if (from == 0)
        fault_marks_block(to);
    else
        cluster.host[from].faulty = true;
}

void fault_at(uint32_t k, double at_s, world_event *happen, void *context, uint64_t number)
{
    const double CALLS_MAX = 1500;
    if (isfinite(at_s)) {
        world_at(at_s, happen, context, number);
        return;
    }
    struct host *h = &cluster.host[k];
    struct trap *trap = draw_chance(0.75) ? &h->agent_trap : &h->probe_trap;
    *trap =
        (struct trap){.calls = (uint64_t)exp(draw_between(0, log(CALLS_MAX))),
                      .happen = happen,
                      .context = context,
                      .number = number,
                      .after_s = draw_chance(0.5) ? 0 : exp(draw_between(log(1e-5), log(3e-2)))};
}

/* Early moments meet the most states; INFINITY: by calls, so that what takes a short time is met as
 * often as what waits long. */
static double draw_moment(double begins)
{
    double kind = nt_rng_uniform(&world.rng);
    if (kind < 0.35)
        return INFINITY;
    return begins + draw_between(0, kind < 0.55 ? 0.3 : kind < 0.75 ? 1 : cluster.option.budget_s);
}

static void mark(uint32_t k, enum promise promise)
{
    if (promise == ALL)
        return;
    cluster.host[k].faulty = true;
    if (promise == OTHERS)
        fault_marks_block(k);
    cluster.is_hostile = cluster.is_hostile || promise == ENDS;
    cluster.leader_faulty =
        cluster.leader_faulty || (k == 0 && promise != AGENTS) || promise == ENDS;
}

/* Leaders of blocks as often as all others. */
static uint32_t draw_host(void)
{
    size_t block = nt_block_hosts(cluster.hosts, cluster.conf.block_hosts);
    uint32_t k = (uint32_t)nt_rng_below(&world.rng, cluster.hosts);
    return block < cluster.hosts && draw_chance(0.5) ? k - k % (uint32_t)block : k;
}

/* Among dozens there is nearly always one after which nothing is promised of the map: of many hosts
 * mostly few fail. */
static size_t draw_how_many(void)
{
    size_t some = 2 + cluster.hosts / 8;
    if (draw_chance(0.1))
        return 0;
    return cluster.hosts <= 64 ? 1 + nt_rng_below(&world.rng, some)
                               : (size_t)exp(draw_between(0, log((double)some)));
}

static void draw_one(size_t kind, double begins)
{
    uint32_t k = draw_host();
    double at = draw_moment(begins);
    world_tell(k, "fault", "%s at %.3f s", kinds[kind].name, at - begins);
    kinds[kind].plan(k, at);
    faults_reached |= (uint64_t)1 << kind;
    cluster.faults++;
    mark(k, kinds[kind].promise);
}

/* From a stream of its own, so that seeds which showed something keep their other faults. */
static void draw_ucx(uint64_t seed, double begins)
{
    struct nt_rng usual = world.rng;
    nt_rng_init(&world.rng, ~seed);
    if (draw_chance(0.15))
        draw_one(USUAL_KINDS + nt_rng_below(&world.rng, UCX_KINDS), begins);
    world.rng = usual;
}

void faults_draw(uint64_t seed)
{
    size_t n = draw_how_many();
    double begins = world.now_s;
    if (first_kind < KINDS && n == 0)
        n = 1;
    for (size_t f = 0; f < n; f++) {
        size_t kind = nt_rng_below(&world.rng, USUAL_KINDS);
        draw_one(f == 0 && first_kind < KINDS ? first_kind : kind, begins);
    }
    draw_ucx(seed, begins);
}
