/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a host from the beginning. */
#include "faults.h"

#include <math.h>
#include <munge.h>
#include <signal.h>

#include "agents.h"
#include "cluster.h"
#include "munged.h"

void plan_slow(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].slowness = cluster.host[k].worker->slowness =
        exp(draw_between(log(3), log(1000)));
}

void plan_late(uint32_t k, double at_s)
{
    struct host *h = &cluster.host[k];
    (void)at_s;
    process_stop(h->worker, world.now_s + draw_between(0.1, 3));
}

void plan_probe_late(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].probe_late_s = draw_between(0.2, 3);
}

void plan_munge_slow(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].munge_s = 0.05;
}

void plan_munge_stalls(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].munge_until_s = world.now_s + draw_between(0.3, draw_chance(0.5) ? 2 : 8);
}

void plan_munge_down(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].munge_until_s = INFINITY;
}

void plan_clock(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].clock_off_s = draw_chance(0.5) ? 600 : -600;
}

void plan_disk_full(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].disk_bytes = draw_chance(0.3) ? 0 : nt_rng_below(&world.rng, 20000);
}

/* The probe's memory has a limit; the agent's is the host's. */
void plan_no_memory(uint32_t k, double at_s)
{
    uint64_t number = (uint64_t)exp(draw_between(0, log(3000)));
    (void)at_s;
    if (draw_chance(0.5))
        cluster.host[k].agent_allocations = number;
    else
        cluster.host[k].probe_allocations = number;
}

void plan_no_network(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].no_network = true;
}

/* Signals, and a kernel that is short of memory for sockets: nobody may notice. */
void plan_interrupted(uint32_t k, double at_s)
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

/* Others have the processor for most of the time, for moments up to those of a busy machine; mostly
 * on all hosts, as other jobs are. */
void plan_preempted(uint32_t k, double at_s)
{
    double lost_s = draw_between(2e-6, 2e-5); /* a call */
    double s = exp(draw_between(log(5e-5), log(2e-2)));
    bool on_all = draw_chance(0.7);
    (void)at_s;
    for (uint32_t h = on_all ? 0 : k; h < (on_all ? cluster.hosts : k + 1); h++) {
        struct call_faults *faults[] = {&cluster.host[h].agent_calls, &cluster.host[h].probe_calls};
        for (int p = 0; p < 2; p++) {
            faults[p]->preempted_s = s;
            faults[p]->preempted = lost_s / s;
        }
    }
}

/* A few times for longer: what happens between two of its calls is seen there. */
void plan_starved(uint32_t k, double at_s)
{
    struct host *h = &cluster.host[k];
    struct call_faults *faults = draw_chance(0.75) ? &h->agent_calls : &h->probe_calls;
    (void)at_s;
    faults->preempted_s = exp(draw_between(log(2e-3), log(1)));
    faults->preempted = exp(draw_between(log(1e-3), log(3e-2)));
}

void plan_few_files(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].agent_calls.files_max = 4 + nt_rng_below(&world.rng, 20);
}

void plan_no_random(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].agent_calls.no_random = true;
}

void plan_no_route(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].agent_calls.no_route = true;
}

void plan_no_ipv6(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].agent_calls.no_ipv6 = true;
}

void plan_munge_fails(uint32_t k, double at_s)
{
    static const int errors[] = {
        EMUNGE_SNAFU,        EMUNGE_NO_MEMORY,         EMUNGE_SOCKET,       EMUNGE_TIMEOUT,
        EMUNGE_CRED_INVALID, EMUNGE_CRED_UNAUTHORIZED, EMUNGE_CRED_EXPIRED, EMUNGE_CRED_REPLAYED,
        MUNGED_NO_CONTEXT,   MUNGED_NO_OPTION,         MUNGED_NO_TIME,      MUNGED_NOTHING,
        MUNGED_LONG,         MUNGED_NO_PAYLOAD,        MUNGED_SHORT,        MUNGED_OTHER_USER};
    (void)at_s;
    cluster.host[k].munge_fails = draw_between(0.1, 1);
    cluster.host[k].munge_error = errors[nt_rng_below(&world.rng, sizeof errors / sizeof *errors)];
}

void plan_no_resolver(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].no_resolver = true;
}

void plan_slow_lookup(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].lookup_s = draw_between(0.05, 3);
}

/* A bit of what it sends changes now and then on the way. */
void plan_altered(uint32_t k, double at_s)
{
    struct host *h = &cluster.host[k];
    (void)at_s;
    h->agent_calls.altered = exp(draw_between(log(1e-3), log(0.5)));
    cluster.is_altered = true;
}

/* Its user's probe has been changed: one of its messages is another now and then, */
void plan_probe_alters(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].probe_calls.altered = exp(draw_between(log(1e-3), log(0.5)));
}

/* or it sends what it likes. */
void plan_probe_hostile(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].probe_is_hostile = true;
}

/* One of its calls of UCX does not return, since of what others send one message is malformed. */
static void plan_ucx(struct host *h, int number)
{
    const double CALLS_MAX = 200;
    h->ucx_calls = (uint64_t)exp(draw_between(0, log(CALLS_MAX)));
    h->ucx_signal = number;
    h->was_cut_off = true;
}

void plan_ucx_crashes(uint32_t k, double at_s)
{
    (void)at_s;
    plan_ucx(&cluster.host[k], SIGSEGV);
}

void plan_ucx_aborts(uint32_t k, double at_s)
{
    (void)at_s;
    plan_ucx(&cluster.host[k], SIGABRT);
}

void plan_ucx_hangs(uint32_t k, double at_s)
{
    (void)at_s;
    plan_ucx(&cluster.host[k], SIGALRM);
}

/* A relay that has been taken over, to its worker and to its leader. */
void plan_relay_hostile(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].relay_is_hostile = true;
}

void plan_no_sandbox(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].no_sandbox = true;
}

/* A file system holds it: it does nothing more, and is not gone. */
void plan_relay_stays(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].relay_stays = true;
}

void plan_no_job(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].no_job = true;
}

void plan_no_probe(uint32_t k, double at_s)
{
    (void)at_s;
    cluster.host[k].no_probe = true;
}
