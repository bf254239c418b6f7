/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive.h"
#include "clock.h"
#include "job.h"
#include "relay.h"
#include "service.h"

/* Times after give_up: the relay drains for 0.15 s, is killed after RELAY_S and must have ended
 * after GONE_S; after 0.25 s the monitor ends all processes. */
static const double RELAY_S = 0.17, GONE_S = 0.22;
/* Interval of asking slurmctld whether the job still exists. A successful sweep is usually over
 * before the first time. */
static const double ASK_S = 0.5;

_Static_assert(sizeof(struct nt_worker_report) <= 4096, "a report is one write into a pipe");

/* Without a report the monitor publishes failed. */
static void send_report(int fd, const struct nt_worker_report *report)
{
    ssize_t n = fd < 0 ? 0 : write(fd, report, sizeof *report);
    (void)n;
}

static void fail_early(const struct nt_worker *w, enum nt_advice advice, const char *reason)
{
    struct nt_outcome *outcome = &w->report->outcome;
    outcome->decided = false;
    outcome->advice = advice;
    snprintf(outcome->text, sizeof outcome->text, "failed %s", reason);
    send_report(w->report_fd, w->report);
}

static int ask_whether_over(const void *query, void *bytes)
{
    const uint32_t *job = query;
    bool is_over = nt_job_is_over(*job);
    memcpy(bytes, &is_over, sizeof is_over);
    return 0;
}

/* scancel does not reach a prolog, so the job's first host asks slurmctld, from *ask_s on. */
static bool is_cancelled(struct nt_service *service, double *ask_s)
{
    struct nt_lookup *over = &service->over;
    if (over->fd < 0) {
        if (nt_clock_s() < *ask_s)
            return false;
        nt_lookup_start(over, sizeof(bool), ask_whether_over, &service->job->id, NULL);
    }
    int got = nt_lookup_poll(over);
    if (got == 0)
        return false;
    bool is_over = false;
    if (got == 1)
        memcpy(&is_over, over->bytes, sizeof is_over);
    nt_lookup_fini(over);
    *ask_s = nt_clock_s() + ASK_S;
    return is_over;
}

enum relay_end { RELAY_HAS_ENDED, RELAY_IS_LATE, JOB_IS_CANCELLED };

/* Answers the relay until it has ended, its time is over or the job was cancelled. */
static enum relay_end serve_relay(struct nt_service *service, int socket)
{
    double until = service->give_up + RELAY_S;
    double ask_s = service->job->self == 0 ? nt_clock_s() + ASK_S : until;
    struct pollfd ready[] = {{.fd = socket, .events = POLLIN}, {.events = POLLIN}};
    while (nt_clock_s() < until) {
        ready[1].fd = service->over.fd; /* -1: not polled */
        double wake_s = ready[1].fd < 0 && ask_s < until ? ask_s : until;
        int got = poll(ready, 2, nt_clock_left_ms(wake_s));
        if (got < 0 && errno != EINTR)
            return RELAY_IS_LATE;
        if (got > 0 && ready[0].revents != 0 && !nt_service_answer(service, socket))
            return RELAY_HAS_ENDED;
        if (is_cancelled(service, &ask_s))
            return JOB_IS_CANCELLED;
    }
    return RELAY_IS_LATE;
}

/* Publishes the failure of a relay that exited or was killed without a result. */
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
    enum relay_end end = serve_relay(service, socket);
    close(socket);
    if (!nt_relay_end(pid, service->give_up + GONE_S, &status))
        nt_service_publish_failed(service, NT_ADVICE_AGENT, "the relay could not be ended");
    else if (end == JOB_IS_CANCELLED)
        nt_service_publish_failed(service, NT_ADVICE_NONE, "the job was cancelled");
    else if (WIFEXITED(status) && WEXITSTATUS(status) == NT_RELAY_NO_SANDBOX)
        nt_service_publish_failed(service, NT_ADVICE_PRIVILEGE, "the relay could not be confined");
    else if (end == RELAY_HAS_ENDED && !service->has_result)
        publish_end(service, status);
    else
        nt_service_publish(service);
}

/* Returns a descriptor of the data that the job's first host archives; -1: none. */
static int archive_descriptor(const struct nt_service *service)
{
    int fd = service->job->self == 0 && service->conf->archive.dir[0] != '\0'
                 ? nt_publish_archive_fd(&service->publish)
                 : -1;
    bool failed = strncmp(service->outcome.text, "failed", 6) == 0;
    return fd >= 0 && !failed ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
}

/* Returns why the job is not measured at all; NULL: it is. The probe reads data that other hosts'
 * probes send: as root it would put the hosts at risk. */
static const char *refusal(const struct nt_request *request, const struct nt_conf *conf,
                           const struct nt_job *job, enum nt_advice *advice)
{
    if (request->uid == 0 && nt_child_probe_user(conf, 0, 0).name == NULL) {
        *advice = NT_ADVICE_ROOT;
        return "a job of root is not measured: with probe_user = job its probe would run as root";
    }
    if (request->one_prolog && job->hosts > 1) {
        *advice = NT_ADVICE_SERIAL;
        return "PrologFlags=Serial in slurm.conf: prologs of jobs that cross on two hosts would "
               "wait for each other";
    }
    if (request->late_prologs && job->hosts > 1) {
        *advice = NT_ADVICE_ALLOC;
        return "PrologFlags in slurm.conf has no Alloc: the prologs of the other hosts would start "
               "with the first step";
    }
    return NULL;
}

void nt_worker_run(const struct nt_worker *w)
{
    const struct nt_request *request = w->request;
    struct nt_service *service = w->service;
    struct nt_conf own = *w->conf;
    struct nt_job job;
    struct nt_err err;
    enum nt_advice advice;
    if (nt_job_read(&job, request->job, request->uid, request->gid, &err) != 0) {
        fail_early(w, NT_ADVICE_JOB, err.text);
        return;
    }
    atomic_store(&w->state->self, job.self);
    atomic_store(&w->state->hosts, job.hosts);
    const char *refused = refusal(request, w->conf, &job, &advice);
    if (refused != NULL) {
        fail_early(w, advice, refused);
        nt_job_fini(&job);
        return;
    }
    own.reserved_ports = own.reserved_ports && geteuid() == 0; /* only root can bind one */
    atomic_store(&w->state->waits_on, NT_WAIT_FILES);
    *service = (struct nt_service){.conf = &own,
                                   .job = &job,
                                   .option = &request->option,
                                   .limit_note = request->limit_note,
                                   .log = w->log,
                                   .deadline = w->deadline,
                                   .give_up = w->give_up,
                                   .waits_on = &w->state->waits_on};
    nt_service_init(service);
    atomic_store(&w->state->waits_on, NT_WAIT_NONE);
    run_relay(service);
    w->report->outcome = service->outcome;
    w->report->probe_failed = service->has_result && service->result.probe_failed != 0;
    int archive = archive_descriptor(service);
    nt_service_fini(service);
    send_report(w->report_fd, w->report);
    if (archive >=
        0) /* after the report, so that a directory that does not respond delays nothing */
        nt_archive_add(w->conf, &job, w->log, archive);
    nt_job_fini(&job);
}
