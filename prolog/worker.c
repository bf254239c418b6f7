/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "archive.h"
#include "clock.h"
#include "job.h"
#include "relay.h"
#include "service.h"

/* After give_up: the relay drains for 0.15 s, is ended and must be gone, and at 0.25 s the monitor
 * ends all. */
static const double RELAY_S = 0.17, GONE_S = 0.22;
/* Before that there is time to wait for the end of a process, which takes long on a busy host. */
static const double REAP_S = 1;

_Static_assert(sizeof(struct nt_worker_report) <= 4096, "a report is one write into a pipe");

/* Without it the monitor publishes failed. */
static void send_report(int fd, const struct nt_worker_report *report)
{
    ssize_t n = write(fd, report, sizeof *report);
    (void)n;
}

static void fail_early(int fd, struct nt_worker_report *report, enum nt_advice advice,
                       const char *reason)
{
    report->outcome.decided = false;
    report->outcome.advice = advice;
    snprintf(report->outcome.text, sizeof report->outcome.text, "failed %s", reason);
    send_report(fd, report);
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

/* Answers the relay until it has ended or its time is over. */
static void serve_relay(struct nt_service *service, int socket)
{
    double until = service->give_up + RELAY_S;
    struct pollfd ready = {.fd = socket, .events = POLLIN};
    while (nt_clock_s() < until) {
        int got = poll(&ready, 1, nt_clock_left_ms(until));
        if (got < 0 && errno != EINTR)
            return;
        if (got > 0 && !nt_service_answer(service, socket))
            return;
    }
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
    serve_relay(service, socket);
    close(socket);
    if (!end_relay(pid, service->give_up, &status))
        nt_service_publish_failed(service, NT_ADVICE_AGENT, "the relay could not be ended");
    else if (WIFEXITED(status) && WEXITSTATUS(status) == NT_RELAY_NO_SANDBOX)
        nt_service_publish_failed(service, NT_ADVICE_PRIVILEGE, "the relay could not be confined");
    else
        nt_service_publish(service);
}

/* After the report: nothing here delays the job, and a folder that does not answer costs the
 * archive alone. */
static void keep_archive(const struct nt_conf *conf, const struct nt_job *job,
                         const struct nt_log *log, int fd)
{
    struct nt_err err;
    if (fd < 0)
        return;
    if (nt_archive_keep(conf, job, fd, (int64_t)time(NULL), &err) != 0)
        syslog(LOG_WARNING, "%s: not archived: %s", log->prefix, err.text);
    close(fd);
}

/* What the job's first host keeps; -1: nothing. */
static int archived(const struct nt_service *service)
{
    int fd = service->job->self == 0 && service->conf->archive[0] != '\0'
                 ? nt_publish_archived(&service->publish)
                 : -1;
    bool failed = strncmp(service->outcome.text, "failed", 6) == 0;
    return fd >= 0 && !failed ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
}

void nt_worker_run(const struct nt_request *request, const struct nt_conf *conf,
                   const struct nt_log *log, double deadline, double give_up, atomic_uint *waits_on,
                   int report_fd)
{
    struct nt_worker_report report = {0};
    static struct nt_service service; /* too large for the stack */
    struct nt_conf own = *conf;
    struct nt_job job;
    struct nt_err err;
    if (nt_job_read(&job, request->job, request->uid, request->gid, &err) != 0) {
        fail_early(report_fd, &report, NT_ADVICE_JOB, err.text);
        return;
    }
    report.hosts = job.hosts;
    report.self = job.self;
    if (request->one_prolog && job.hosts > 1) {
        fail_early(report_fd, &report, NT_ADVICE_SERIAL,
                   "PrologFlags=Serial in slurm.conf: prologs of jobs that cross on two hosts "
                   "would wait for each other");
        nt_job_fini(&job);
        return;
    }
    own.reserved_ports = conf->reserved_ports && geteuid() == 0; /* else nobody can bind one */
    atomic_store(waits_on, NT_WAIT_FILES);
    nt_service_init(&service, &own, &job, &request->option, log, deadline, give_up);
    service.waits_on = waits_on;
    atomic_store(waits_on, NT_WAIT_NONE);
    run_relay(&service);
    report.outcome = service.outcome;
    report.probe_failed = service.settled && service.settlement.probe_failed != 0;
    int archive = archived(&service);
    nt_service_fini(&service);
    send_report(report_fd, &report);
    keep_archive(conf, &job, log, archive);
    nt_job_fini(&job);
}
