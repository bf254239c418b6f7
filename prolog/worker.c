/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "job.h"
#include "relay.h"
#include "service.h"

/* After give_up: the relay drains for 0.15 s, is ended and must be gone, and at 0.25 s the monitor
 * ends all. */
static const double RELAY_S = 0.17, GONE_S = 0.22;
/* Before that there is time to wait for the end of a process, which takes long on a busy host. */
static const double REAP_S = 1;
/* How often slurmctld is asked whether the job is still there: a sweep that goes well is mostly
 * over before the first time. */
static const double ASK_S = 0.5;

static void fail_early(struct nt_worker_report *report, enum nt_advice advice, const char *reason)
{
    report->outcome.decided = false;
    report->outcome.advice = advice;
    snprintf(report->outcome.text, sizeof report->outcome.text, "failed %s", reason);
}

/* The relay's process id, and *socket to it; or -1. */
static pid_t start_relay(struct nt_service *service, int *socket, struct nt_err *err)
{
    int pair[2];
    struct nt_sandbox sandbox = {.binds_reserved_ports = service->conf->reserved_ports ||
                                                         service->conf->port_first < 1024,
                                 .file_bytes = service->conf->publish_limit_bytes};
    if (geteuid() == 0)
        nt_sandbox_find_user(service->conf->relay_user, &sandbox);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "socketpair: %s", strerror(errno));
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        nt_relay_run(service, &sandbox, pair[1]);
    }
    close(pair[1]);
    if (pid < 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "fork: %s", strerror(errno));
        close(pair[0]);
        return -1;
    }
    *socket = pair[0];
    return pid;
}

/* scancel does not reach a prolog: a child of the job's first host asks slurmctld, until it is
 * killed. */
static int wait_for_cancel(const void *query, void *bytes)
{
    const uint32_t *job = query;
    bool *over = bytes;
    do
        nt_clock_sleep(ASK_S);
    while (!nt_job_is_over(*job));
    *over = true;
    return 0;
}

/* Answers the relay until it has ended or its time is over; true when the job was cancelled. */
static bool serve_relay(struct nt_service *service, int socket)
{
    static struct nt_lookup cancel; /* too large for the stack */
    double until = service->give_up + RELAY_S;
    cancel = (struct nt_lookup){.fd = -1};
    if (service->job->self == 0)
        nt_lookup_start(&cancel, sizeof(bool), wait_for_cancel, &service->job->id, NULL);
    struct pollfd ready[] = {{.fd = socket, .events = POLLIN}, {.fd = cancel.fd, .events = POLLIN}};
    bool cancelled = false, more = true;
    while (more && !cancelled && nt_clock_s() < until) {
        int got = poll(ready, 2, nt_clock_left_ms(until));
        more = got >= 0 || errno == EINTR;
        if (got > 0 && ready[0].revents != 0)
            more = nt_service_answer(service, socket);
        if (got > 0 && ready[1].revents != 0) {
            cancelled = nt_lookup_poll(&cancel) == 1;
            ready[1].fd = -1;
        }
    }
    nt_lookup_fini(&cancel);
    return cancelled;
}

/* Ends it; whether it is gone, so that nothing is written any more. *status: of waitpid. */
static bool end_relay(pid_t pid, double give_up, int *status)
{
    double until = nt_clock_s() + REAP_S;
    until = until < give_up + GONE_S ? until : give_up + GONE_S;
    kill(pid, SIGKILL);
    do {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            return true;
        poll(NULL, 0, 1);
    } while (nt_clock_s() < until);
    return false;
}

static void run_relay(struct nt_service *service)
{
    struct nt_err err;
    int socket, status = 0;
    pid_t pid = start_relay(service, &socket, &err);
    if (pid < 0) {
        nt_service_publish_failed(service, NT_ADVICE_SYSTEM, err.text);
        return;
    }
    bool cancelled = serve_relay(service, socket);
    close(socket);
    if (!end_relay(pid, service->give_up, &status))
        nt_service_publish_failed(service, NT_ADVICE_AGENT, "the relay could not be ended");
    else if (cancelled)
        nt_service_publish_failed(service, NT_ADVICE_NONE, "the job was cancelled");
    else if (WIFEXITED(status) && WEXITSTATUS(status) == NT_RELAY_NO_SANDBOX)
        nt_service_publish_failed(service, NT_ADVICE_PRIVILEGE, "the relay could not be confined");
    else
        nt_service_publish(service);
}

/* What is not measured at all. The probe reads what other hosts' probes send: as root it would put
 * the hosts at risk. */
static bool refuse(const struct nt_request *request, const struct nt_job *job,
                   struct nt_worker_report *report)
{
    if (request->uid == 0)
        fail_early(report, NT_ADVICE_ROOT,
                   "a job of root is not measured: the probe would run as root");
    else if (request->one_prolog && job->hosts > 1)
        fail_early(report, NT_ADVICE_SERIAL,
                   "PrologFlags=Serial in slurm.conf: prologs of jobs that cross on two hosts "
                   "would wait for each other");
    else if (request->late_prologs && job->hosts > 1)
        fail_early(report, NT_ADVICE_ALLOC,
                   "PrologFlags in slurm.conf has no Alloc: the prologs of the other hosts would "
                   "start with the first step");
    else
        return false;
    return true;
}

void nt_worker_run(const struct nt_request *request, const struct nt_conf *conf,
                   const struct nt_log *log, double deadline, double give_up,
                   struct nt_worker_state *state, struct nt_worker_report *report)
{
    static struct nt_service service; /* too large for the stack */
    struct nt_conf own = *conf;
    struct nt_job job;
    struct nt_err err;
    if (nt_job_read(&job, request->job, request->uid, request->gid, &err) != 0) {
        fail_early(report, NT_ADVICE_JOB, err.text);
        return;
    }
    atomic_store(&state->self, job.self);
    atomic_store(&state->hosts, job.hosts);
    if (refuse(request, &job, report)) {
        nt_job_fini(&job);
        return;
    }
    own.reserved_ports = conf->reserved_ports && geteuid() == 0; /* else nobody can bind one */
    atomic_store(&state->waits_on, NT_WAIT_FILES);
    nt_service_init(&service, &own, &job, &request->option, log, deadline, give_up);
    service.waits_on = &state->waits_on;
    service.cut = request->cut;
    atomic_store(&state->waits_on, NT_WAIT_NONE);
    run_relay(&service);
    report->outcome = service.outcome;
    report->probe_failed = service.settled && service.settlement.probe_failed != 0;
    nt_service_fini(&service);
    nt_job_fini(&job);
}
