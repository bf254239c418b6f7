/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "confine.h"
#include "job.h"
#include "job_line.h"
#include "publish.h"
#include "service.h"
#include "worker.h"

enum {
    GRACE_MS = 250, /* after the budget: the relay gives up */
    KILL_MS = 500,  /* after the budget: the worker is killed */
    REAP_MS = 100,  /* for the killed worker to end */
    CLEAN_MS = 200, /* for killing remaining processes */
    LOG_MS = 50,    /* for publishing and the log after that */
};
_Static_assert(KILL_MS + REAP_MS + CLEAN_MS + LOG_MS <= NT_AGENT_SLACK_MS,
               "else the agent is ended before its line is logged");
enum { WHY_BYTES = 64 };
static const double GRACE_S = GRACE_MS / 1e3, KILL_S = KILL_MS / 1e3, REAP_S = REAP_MS / 1e3,
                    CLEAN_S = CLEAN_MS / 1e3;

struct monitor {
    const struct nt_request *request;
    const struct nt_conf *conf;
    double began, budget_s;
    struct nt_log log; /* log of monitor and worker */
    struct nt_worker_report report;
    struct nt_worker_state *state; /* memory shared with the worker, but not with its children */
};

/* ---- the worker ---- */

static void worker_main(struct monitor *m, pid_t monitor, int report_fd)
{
    static struct nt_service service; /* too large for the stack */
    double deadline = m->began + m->budget_s;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != monitor) /* the monitor has died already */
        _exit(1);
    /* the worker or one of its children may block in a file system and outlive the monitor; slurmd
     * must not wait for it */
    nt_confine_standard();
    madvise(m->state, sizeof *m->state, MADV_DONTFORK);
    nt_worker_run(&(struct nt_worker){.request = m->request,
                                      .conf = m->conf,
                                      .log = &m->log,
                                      .deadline = deadline,
                                      .give_up = deadline + GRACE_S,
                                      .state = m->state,
                                      .service = &service,
                                      .report = &m->report,
                                      .report_fd = report_fd});
    _exit(0);
}

/* ---- the monitor ---- */

/* Waits for the report. Returns false if the pipe is closed without one, or if the time is over
 * (*late is true then). */
static bool read_report(struct monitor *m, int fd, bool *late)
{
    double hard = m->began + m->budget_s + KILL_S;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    *late = false;
    while (nt_clock_s() < hard) {
        int got = poll(&ready, 1, nt_clock_left_ms(hard));
        if (got > 0)
            return read(fd, &m->report, sizeof m->report) == (ssize_t)sizeof m->report;
        if (got < 0 && errno != EINTR)
            return false;
    }
    *late = true;
    return false;
}

/* Waits for the worker until that time, then kills it and waits at most REAP_S more: a process that
 * is blocked in a file system cannot be killed. *status: its wait status; 0: unknown. Returns
 * whether it ended by itself. */
static bool reap_worker(pid_t pid, double until, int *status)
{
    double last = (until > 0 ? until : nt_clock_s()) + REAP_S;
    *status = 0;
    while (nt_clock_s() < last) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            return !WIFSIGNALED(*status);
        if (nt_clock_s() >= until)
            kill(pid, SIGKILL);
        poll(NULL, 0, 1);
    }
    return false;
}

static void publish_failed(struct monitor *m, enum nt_advice advice, const char *reason)
{
    struct nt_publish publish;
    struct nt_err err;
    const struct nt_request *request = m->request;
    struct nt_outcome *outcome = &m->report.outcome;
    outcome->advice = advice;
    snprintf(outcome->text, sizeof outcome->text, "failed %s", reason);
    int rc = nt_publish_begin(&publish, m->conf, request->job, request->uid, request->gid, &err);
    if (rc == 0) {
        nt_service_publish_log(&publish, &request->option, &m->log, outcome);
        rc = nt_publish_failed(&publish, reason, &err);
    }
    if (rc != 0)
        snprintf(outcome->text, sizeof outcome->text, "failed %.200s; not published: %.200s",
                 reason, err.text);
    nt_publish_fini(&publish);
}

static void format_now(char text[32])
{
    time_t now = time(NULL);
    struct tm tm;
    if (gmtime_r(&now, &tm) == NULL || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        text[0] = '\0';
}

/* Uses Slurm's name of the user, because a lookup in the user database may block. */
static void log_job_line(const struct monitor *m, bool failed)
{
    char text[NT_JOB_LINE_BYTES], now[32], uid[16];
    const char *user = getenv("SLURM_JOB_USER");
    const struct nt_outcome *outcome = &m->report.outcome;
    snprintf(uid, sizeof uid, "%u", (unsigned)m->request->uid);
    format_now(now);
    const struct nt_job_line line = {.time = now,
                                     .job = m->request->job,
                                     .user = user != NULL && strlen(user) < 64 ? user : uid,
                                     .level = m->request->option.level,
                                     .level_auto = m->request->option.level_auto,
                                     .budget_s = m->budget_s,
                                     .outcome = outcome->text,
                                     .hosts = atomic_load(&m->state->hosts),
                                     .seconds = nt_clock_s() - m->began,
                                     .figures = &outcome->figures,
                                     .limited = m->request->limit_note,
                                     .to_do = nt_advice_text(outcome->advice)};
    nt_job_line_write(&line, m->conf->log.json, text);
    syslog(failed ? LOG_WARNING : LOG_INFO, "%s", text);
}

/* Returns whether the cause is on this host. Otherwise the first host's line states it. */
static bool cause_is_on_this_host(enum nt_advice advice)
{
    return advice != NT_ADVICE_LEADER && advice != NT_ADVICE_SERIAL && advice != NT_ADVICE_ALLOC &&
           advice != NT_ADVICE_ROOT && advice != NT_ADVICE_SHARED;
}

/* Logs the result: the first host one line per job, other hosts only a failure on that host. The
 * kept lines follow if the status is not ok and the cause is on this host, and always at level
 * debug. */
static void log_outcome(struct monitor *m)
{
    struct nt_outcome *outcome = &m->report.outcome;
    enum nt_log_level level = m->conf->log.agent;
    bool failed = strncmp(outcome->text, "failed", 6) == 0,
         first = atomic_load(&m->state->self) == 0;
    bool has_cause = m->report.probe_failed || (failed && cause_is_on_this_host(outcome->advice)) ||
                     (first && outcome->advice != NT_ADVICE_NONE);
    nt_text_clean(outcome->text); /* may contain text of another host */
    if (first && (failed || level >= NT_LOG_INFO))
        log_job_line(m, failed);
    else if (!first && has_cause && (failed || level >= NT_LOG_INFO))
        syslog(failed ? LOG_WARNING : LOG_INFO, "%s: %s; to do: %s", m->log.prefix, outcome->text,
               nt_advice_text(outcome->advice));
    nt_log_syslog(&m->log, level, has_cause || level == NT_LOG_DEBUG);
}

static void open_log(struct monitor *m)
{
    char host[NT_HOST_BYTES], prefix[NT_HOST_BYTES + 32];
    nt_job_this_host(host);
    snprintf(prefix, sizeof prefix, "job %u on %s", m->request->job, host);
    nt_log_init(&m->log, prefix, m->request->option.debug ? NT_LOG_DEBUG : m->conf->log.agent,
                m->began);
}

/* Returns 0 if the job's directory exists, otherwise -1 with the outcome as error. */
static int check_published(const struct monitor *m, struct nt_err *err)
{
    char path[NT_CONF_PATH_BYTES + 16];
    struct stat st;
    snprintf(path, sizeof path, "%s/%u", m->conf->run_dir, m->request->job);
    if (lstat(path, &st) == 0)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM, "%s", m->report.outcome.text);
}

/* Explains why a worker sent no report: the call that it waited in when its time was over, or how
 * it ended. */
static enum nt_advice explain_missing_report(const struct monitor *m, bool late, int status,
                                             char why[WHY_BYTES])
{
    unsigned waits_on = late ? atomic_load(&m->state->waits_on) : NT_WAIT_NONE;
    if (waits_on == NT_WAIT_MUNGE)
        snprintf(why, WHY_BYTES, NT_MUNGED_IS_SILENT);
    else if (waits_on == NT_WAIT_FILES)
        snprintf(why, WHY_BYTES, "run_dir on this host did not answer");
    else if (late)
        snprintf(why, WHY_BYTES, "the agent's worker did not end within the budget");
    else if (WIFSIGNALED(status))
        snprintf(why, WHY_BYTES, "the agent's worker was killed by signal %d", WTERMSIG(status));
    else
        snprintf(why, WHY_BYTES, "the agent's worker exited with %d", WEXITSTATUS(status));
    return waits_on == NT_WAIT_MUNGE   ? NT_ADVICE_CONNECT
           : waits_on == NT_WAIT_FILES ? NT_ADVICE_PUBLISH
                                       : NT_ADVICE_AGENT;
}

/* Starts the worker and waits for its end. Returns false if it sent no report; then why and advice
 * are set. */
static bool start_and_wait(struct monitor *m, char why[WHY_BYTES], enum nt_advice *advice)
{
    int pipe_fd[2], status;
    bool late;
    snprintf(why, WHY_BYTES, "this host lacks memory, file descriptors or processes");
    *advice = NT_ADVICE_SYSTEM;
    void *shared =
        mmap(NULL, sizeof *m->state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe2(pipe_fd, O_CLOEXEC) != 0)
        return false;
    m->state = shared;
    pid_t monitor = getpid(), pid = fork();
    if (pid == 0) {
        close(pipe_fd[0]);
        worker_main(m, monitor, pipe_fd[1]);
    }
    close(pipe_fd[1]);
    bool reported = pid > 0 && read_report(m, pipe_fd[0], &late);
    close(pipe_fd[0]);
    bool ended = pid <= 0 || reap_worker(pid, reported ? nt_clock_s() + CLEAN_S : 0, &status);
    if (reported && !ended &&
        m->conf->archive.dir[0] != '\0') /* archiving is the only work left after the report */
        syslog(LOG_WARNING, "%s: the map is not archived, because %s did not answer within %d ms",
               m->log.prefix, m->conf->archive.dir, (int)CLEAN_MS);
    if (pid > 0 && !reported)
        *advice = explain_missing_report(m, late, status, why);
    return reported;
}

int nt_monitor_run(const struct nt_request *request, const struct nt_conf *conf, double budget_s,
                   double began, struct nt_err *err)
{
    struct nt_worker_state unknown = {0};
    struct monitor m = {
        .request = request, .conf = conf, .began = began, .budget_s = budget_s, .state = &unknown};
    char why[WHY_BYTES];
    enum nt_advice advice;
    /* orphans of the probe become children of this process, which kills them */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    nt_publish_remove(conf->run_dir, request->job, NULL);
    open_log(&m);
    bool reported = start_and_wait(&m, why, &advice);
    if (reported)
        nt_child_kill_all(nt_clock_s() + CLEAN_S);
    if (!reported) {
        publish_failed(&m, advice, why);
    } else if (!m.report.outcome.decided) {
        struct nt_err reason;
        nt_err_set(&reason, NT_ERR_NONE, "%s", m.report.outcome.text + strlen("failed "));
        publish_failed(&m, m.report.outcome.advice, reason.text);
    }
    if (!reported) /* after publishing, because time is short */
        nt_child_kill_all(nt_clock_s() + CLEAN_S);
    log_outcome(&m);
    nt_log_fini(&m.log);
    return check_published(&m, err);
}

void nt_monitor_refuse(const struct nt_request *request, const struct nt_conf *conf, double began,
                       const char *reason)
{
    struct nt_worker_state state = {.self = 1}; /* a host whose index is unknown is not the first */
    struct monitor m = {.request = request, .conf = conf, .began = began, .state = &state};
    struct nt_job job;
    if (nt_job_read(&job, request->job, request->uid, request->gid, NULL) == 0) {
        atomic_store(&state.hosts, job.hosts);
        atomic_store(&state.self, job.self);
        nt_job_fini(&job);
    }
    snprintf(m.report.outcome.text, sizeof m.report.outcome.text, "failed %s", reason);
    open_log(&m);
    log_outcome(&m);
    nt_log_fini(&m.log);
}
