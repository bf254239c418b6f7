/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "job.h"
#include "relay.h"
#include "service.h"

/* After give_up: the relay drains for 0.15 s, is ended and must be gone, and at 0.25 s the monitor
 * ends all. */
static const double RELAY_S = 0.17, GONE_S = 0.22;

static void fail_early(struct nt_worker_report *report, enum nt_advice advice, const char *reason)
{
    report->outcome.decided = false;
    report->outcome.advice = advice;
    snprintf(report->outcome.text, sizeof report->outcome.text, "failed %s", reason);
}

/* Answers the relay until it has ended, or its time is over: false. */
static bool serve_relay(struct nt_service *service, int socket)
{
    double until = service->give_up + RELAY_S;
    struct pollfd ready = {.fd = socket, .events = POLLIN};
    while (nt_clock_s() < until) {
        int got = poll(&ready, 1, nt_clock_left_ms(until));
        if (got < 0 && errno != EINTR)
            return false;
        if (got > 0 && !nt_service_answer(service, socket))
            return true;
    }
    return false;
}

/* Of a relay that ended by itself or by another's hand, without a result. */
static void publish_end(struct nt_service *service, int status)
{
    char reason[64];
    if (WIFSIGNALED(status))
        snprintf(reason, sizeof reason, "the agent's relay was killed by signal %d",
                 WTERMSIG(status));
    else
        snprintf(reason, sizeof reason, "the agent's relay exited with %d", WEXITSTATUS(status));
    nt_service_publish_failed(service, NT_ADVICE_AGENT, reason);
}

static void run_relay(struct nt_service *service)
{
    struct nt_err err;
    int socket, status = 0;
    pid_t pid = nt_relay_start(service, &socket, &err);
    if (pid < 0) {
        nt_service_publish_failed(service, NT_ADVICE_SYSTEM, err.text);
        return;
    }
    bool has_ended = serve_relay(service, socket);
    close(socket);
    if (!nt_relay_end(pid, service->give_up + GONE_S, &status))
        nt_service_publish_failed(service, NT_ADVICE_AGENT, "the relay could not be ended");
    else if (WIFEXITED(status) && WEXITSTATUS(status) == NT_RELAY_NO_SANDBOX)
        nt_service_publish_failed(service, NT_ADVICE_PRIVILEGE, "the relay could not be confined");
    else if (has_ended && !service->settled)
        publish_end(service, status);
    else
        nt_service_publish(service);
}

void nt_worker_run(const struct nt_request *request, const struct nt_conf *conf,
                   const struct nt_log *log, double deadline, double give_up, atomic_uint *waits_on,
                   struct nt_service *service, struct nt_worker_report *report)
{
    struct nt_conf own = *conf;
    struct nt_job job;
    struct nt_err err;
    if (nt_job_read(&job, request->job, request->uid, request->gid, &err) != 0) {
        fail_early(report, NT_ADVICE_JOB, err.text);
        return;
    }
    report->hosts = job.hosts;
    report->self = job.self;
    if (request->one_prolog && job.hosts > 1) {
        fail_early(report, NT_ADVICE_SERIAL,
                   "PrologFlags=Serial in slurm.conf: prologs of jobs that cross on two hosts "
                   "would wait for each other");
        nt_job_fini(&job);
        return;
    }
    own.reserved_ports = conf->reserved_ports && geteuid() == 0; /* else nobody can bind one */
    atomic_store(waits_on, NT_WAIT_FILES);
    nt_service_init(service, &own, &job, &request->option, log, deadline, give_up);
    service->waits_on = waits_on;
    atomic_store(waits_on, NT_WAIT_NONE);
    run_relay(service);
    report->outcome = service->outcome;
    report->probe_failed = service->settled && service->settlement.probe_failed != 0;
    nt_service_fini(service);
    nt_job_fini(&job);
}
