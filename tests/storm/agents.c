/* SPDX-License-Identifier: Apache-2.0 */
#include "agents.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "relay.h"
#include "session.h"
#include "worker.h"

/* As prolog/monitor.c has them. */
static const double GRACE_S = 0.25, KILL_S = 0.5;

/* ---- what a job is ---- */

int nt_job_read(struct nt_job *job, uint32_t id, uid_t uid, gid_t gid, struct nt_err *err)
{
    (void)id;
    (void)uid;
    (void)gid;
    process_spend(0.0002);
    if (this_host()->no_job)
        return nt_err_set(err, NT_ERR_SYSTEM, "SLURM_JOB_NODELIST is not set");
    *job = this_host()->job;
    return 0;
}

void nt_job_fini(struct nt_job *job)
{
    (void)job;
}

/* ---- the relay ---- */

static void check_left(const char *what)
{
    const struct process *p = world.running;
    if (files_open(p) > 0)
        world_violation("n%u: the %s leaves %zu descriptors open", p->host + 1, what,
                        files_open(p));
    if (p->allocated > 0)
        world_violation("n%u: the %s leaves %zu allocations", p->host + 1, what, p->allocated);
}

static void relay_main(void *argument)
{
    struct host *h = argument;
    int pidfd = h->relay.service.child.pidfd;
    if (h->no_sandbox)
        process_exit(NT_RELAY_NO_SANDBOX);
    if (h->relay_is_hostile) {
        hostile_relay(h);
        h->unread_of_leader = 0; /* it read what it liked */
    }
    nt_session_init(h->session, &h->relay.service, h->relay.socket);
    if (h->job.self == 0)
        nt_leader_run(h->session);
    else
        nt_member_run(h->session);
    nt_session_fini(h->session);
    close(h->relay.socket);
    if (pidfd >= 0)
        close(pidfd);
    if (!h->relay_is_hostile) /* answers that it did not read belong to later calls */
        check_left("relay");
}

/* What a fork copies is kept with the host. */
pid_t nt_relay_start(struct nt_service *service, int *socket, struct nt_err *err)
{
    struct host *h = this_host();
    int fd[2];
    process_spend(0.0005);
    if (h->no_relay) {
        nt_err_set(err, NT_ERR_SYSTEM, "fork: Resource temporarily unavailable");
        return -1;
    }
    struct process *p =
        process_start(h->number, PROCESS_AGENT, process_time() + 0.0005, relay_main, h);
    p->node = h;
    p->slowness = world.running->slowness;
    p->faults = h->agent_calls;
    p->trap = h->agent_trap;
    h->agent_trap.calls = 0; /* once */
    p->allocations_left = h->agent_allocations;
    p->may_spin = h->relay_is_hostile;
    h->relay.service = *service;
    h->relay.conf = *service->conf;
    h->relay.job = *service->job;
    h->relay.service.conf = &h->relay.conf;
    h->relay.service.job = &h->relay.job;
    h->relay.service.option = &cluster.option;
    files_packet_pair(p, fd);
    h->relay.socket = fd[1];
    if (service->probe_socket >= 0)
        files_share(service->probe_socket, p);
    if (service->child.pidfd >= 0)
        files_share(service->child.pidfd, p);
    h->agent = p;
    *socket = fd[0];
    return p->pid;
}

bool nt_relay_end(pid_t pid, double last, int *status)
{
    struct process *p = process_find(pid);
    process_kill(p, SIGKILL);
    if (this_host()->relay_stays) {
        double left_s = last - process_time();
        process_sleep(left_s > 1 ? 1 : left_s > 0 ? left_s : 0);
        return false;
    }
    process_spend(0.0002);
    *status = p->status;
    return true;
}

/* ---- the monitor ---- */

static void why_no_report(const struct host *h, bool late, int signal, char why[64])
{
    unsigned waits_on = late ? h->state.waits_on : NT_WAIT_NONE;
    if (!late)
        snprintf(why, 64, "the agent's worker was killed by signal %d", signal);
    else
        snprintf(why, 64, "%s",
                 waits_on == NT_WAIT_MUNGE   ? NT_MUNGED_IS_SILENT
                 : waits_on == NT_WAIT_FILES ? "run_dir on this host did not answer"
                                             : "the agent's worker did not end within the budget");
}

static void publish_failed(struct host *h, const char *reason)
{
    h->published.failed = h->published.renamed = true;
    snprintf(h->published.reason, sizeof h->published.reason, "%s", reason);
    snprintf(h->outcome.text, sizeof h->outcome.text, "failed %.500s", reason);
    h->outcome.decided = true;
    h->ended_s = world.now_s;
}

/* Its relay and its probe are the worker's children, and die with it. */
static void kill_processes(struct host *h, int signal)
{
    struct process *of[] = {h->worker, h->agent, h->probe};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        if (of[k] != NULL)
            process_kill(of[k], signal);
}

void agent_kill(struct host *h, int signal)
{
    kill_processes(h, signal);
}

static void end_worker(struct host *h, bool late, int signal)
{
    char why[64];
    if (!h->worker->alive)
        return;
    why_no_report(h, late, signal, why);
    kill_processes(h, signal);
    publish_failed(h, why);
    world_tell(h->number, "monitor", "the worker has ended: %s", h->outcome.text);
}

void worker_kill(struct host *h, int signal)
{
    end_worker(h, false, signal);
}

void relay_kill(struct host *h, int signal)
{
    if (h->agent != NULL)
        process_kill(h->agent, signal);
}

/* The worker's time is over. */
static void monitor_gives_up(void *context, uint64_t life)
{
    struct host *h = context;
    if (life != h->life || !h->worker->alive || network_host_is_down(h->number))
        return;
    if (h->worker->stopped_until_s > world.now_s) { /* so is the monitor */
        if (isfinite(h->worker->stopped_until_s))
            world_at(h->worker->stopped_until_s + 0.001, monitor_gives_up, h, life);
        return;
    }
    h->agent_killed = true;
    end_worker(h, true, SIGKILL);
}

static void worker_main(void *argument)
{
    struct host *h = argument;
    struct nt_worker_report report = {0};
    double began = nt_clock_s(), deadline = began + cluster.option.budget_s;
    const struct nt_request request = {.job = h->job.id,
                                       .uid = cluster.refusal == 1 ? 0 : h->job.uid,
                                       .gid = h->job.gid,
                                       .one_prolog = cluster.refusal == 2,
                                       .late_prologs = cluster.refusal == 3,
                                       .option = cluster.option};
    h->began_s = began;
    world_at(deadline + KILL_S, monitor_gives_up, h, h->life);
    nt_worker_run(&(struct nt_worker){.request = &request,
                                      .conf = &cluster.conf,
                                      .log = cluster.option.debug ? &cluster.log : NULL,
                                      .deadline = deadline,
                                      .give_up = deadline + GRACE_S,
                                      .state = &h->state,
                                      .service = &h->service,
                                      .report = &report,
                                      .report_fd = -1});
    if (h->service.probe_socket >= 0)
        close(h->service.probe_socket);
    h->outcome = report.outcome;
    h->ended_s = nt_clock_s();
    if (!h->outcome.decided) /* the monitor's part */
        publish_failed(h, report.outcome.text + strlen("failed "));
    world_tell(h->number, "agent", "ended: %.200s", h->outcome.text);
    check_left("worker");
}

void agent_start(struct host *h, double at_s)
{
    h->session = calloc(1, sizeof *h->session);
    if (h->session == NULL)
        abort();
    h->worker = process_start(h->number, PROCESS_WORKER, at_s, worker_main, h);
    h->worker->node = h;
    h->worker->slowness = h->slowness;
    h->worker->faults = h->agent_calls;
}

void agent_stop(struct host *h, double until_s)
{
    struct process *of[] = {h->worker, h->agent, h->probe};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        if (of[k] != NULL)
            process_stop(of[k], until_s);
}

void agent_start_again(struct host *h)
{
    for (int a = 0; a < NT_ARTIFACT_END; a++)
        free(h->published.text[a]);
    free(h->session);
    h->published = (struct published){0};
    h->outcome = (struct nt_outcome){0};
    h->began_s = h->ended_s = NAN;
    h->agent_killed = false;
    h->agent = h->probe = NULL;
    h->unread_of_leader = h->unread_of_probe = 0;
    h->life++;
    agent_start(h, world.now_s);
}
