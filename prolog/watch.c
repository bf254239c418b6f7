#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "now.h"
#include "role.h"

static const double GRACE_S = 0.25; /* after the budget the inner process gives up */
static const double HARD_S = 0.5;   /* and after this it is ended */
static const double REAP_S = 0.1;   /* for the inner process to be gone once killed */
static const double CLEAN_S = 0.2;  /* for ending what is left */

struct report {
    uint64_t hosts, me;
    bool probe_failed;
    struct nt_outcome outcome;
};

_Static_assert(sizeof(struct report) <= 4096, "a report is one write into a pipe");

struct watch {
    const struct nt_request *request;
    const struct nt_conf *conf;
    double began, budget_s;
    struct nt_log log; /* both processes' */
    struct report report;
};

/* ---- the inner process ---- */

static int work(struct watch *w)
{
    static struct nt_seat seat; /* large, and there is one */
    struct nt_job job;
    struct nt_err err;
    const struct nt_request *request = w->request;
    if (nt_job_read(&job, request->job, request->uid, request->gid, &err) != 0) {
        w->report.outcome.settled = false;
        w->report.outcome.advice = NT_ADVICE_JOB;
        snprintf(w->report.outcome.text, sizeof w->report.outcome.text, "failed %s", err.text);
        return -1;
    }
    double due = w->began + w->budget_s;
    w->report.hosts = job.hosts;
    w->report.me = job.me;
    nt_seat_init(&seat, w->conf, &job, &request->option, &w->log, due, due + GRACE_S);
    if (job.me == 0)
        nt_lead(&seat);
    else
        nt_follow(&seat);
    w->report.outcome = seat.outcome;
    w->report.probe_failed = seat.probe_lost && seat.probe_advice != NT_ADVICE_NONE;
    nt_seat_fini(&seat);
    nt_job_fini(&job);
    return 0;
}

static void inner(struct watch *w, int report_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work(w);
    ssize_t n = write(report_fd, &w->report, sizeof w->report);
    _exit(n == (ssize_t)sizeof w->report ? 0 : 1);
}

/* ---- the outer process ---- */

/* Waits until the inner one reports or its pipe closes; false when neither came in time. */
static bool hear_report(struct watch *w, int fd)
{
    double hard = w->began + w->budget_s + HARD_S;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (nt_now() < hard) {
        int got = poll(&ready, 1, nt_ms_until(hard));
        if (got > 0)
            return read(fd, &w->report, sizeof w->report) == (ssize_t)sizeof w->report;
        if (got < 0 && errno != EINTR)
            return false;
    }
    return false;
}

/* Gives it until then to end, kills it, and does not wait much longer: a process that a file
 * system holds up cannot be killed. */
static void reap(pid_t pid, double until)
{
    double last = (until > 0 ? until : nt_now()) + REAP_S;
    while (nt_now() < last) {
        pid_t got = waitpid(pid, NULL, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            return;
        if (nt_now() >= until)
            kill(pid, SIGKILL);
        poll(NULL, 0, 1);
    }
}

static void publish_failed(struct watch *w, enum nt_advice advice, const char *reason)
{
    struct nt_publish publish;
    struct nt_err err;
    const struct nt_request *request = w->request;
    struct nt_outcome *outcome = &w->report.outcome;
    outcome->advice = advice;
    snprintf(outcome->text, sizeof outcome->text, "failed %s", reason);
    int rc = nt_publish_begin(&publish, w->conf->run_dir, request->job, request->uid, request->gid,
                              w->conf->publish_limit_bytes, &err);
    if (rc == 0) {
        nt_seat_publish_log(&publish, &request->option, &w->log, outcome);
        rc = nt_publish_failed(&publish, reason, &err);
    }
    if (rc != 0)
        snprintf(outcome->text, sizeof outcome->text, "failed %.200s; not published: %.200s",
                 reason, err.text);
    nt_publish_fini(&publish);
}

/* One line a job from its first host, and from any other only what went wrong there. With what is
 * not ok comes what is known of it, from other hosts where it is theirs; with level debug always.
 */
static void log_outcome(const struct watch *w)
{
    const struct report *r = &w->report;
    const struct nt_outcome *outcome = &r->outcome;
    enum nt_log_level level = w->conf->debug;
    const char *to_do = nt_advice_text(outcome->advice);
    bool failed = strncmp(outcome->text, "failed", 6) == 0;
    bool ours = r->probe_failed || (failed && outcome->advice != NT_ADVICE_LEADER) ||
                (r->me == 0 && outcome->advice != NT_ADVICE_NONE);
    if (failed || (level >= NT_LOG_INFO && (r->me == 0 || ours)))
        syslog(failed ? LOG_WARNING : LOG_INFO, "%s: %llu hosts, %.2f s: %s%s%s", w->log.head,
               (unsigned long long)r->hosts, nt_now() - w->began, outcome->text,
               to_do[0] != '\0' ? "; to do: " : "", to_do);
    nt_log_syslog(&w->log, level, ours || level == NT_LOG_DEBUG);
}

static void begin_log(struct watch *w)
{
    char host[NT_HOST_BYTES], head[NT_HOST_BYTES + 32];
    nt_job_here(host);
    snprintf(head, sizeof head, "job %u on %s", w->request->job, host);
    nt_log_init(&w->log, head, w->request->option.debug ? NT_LOG_DEBUG : w->conf->debug, w->began);
}

/* Whether the job's directory is there. */
static int is_published(const struct watch *w, struct nt_err *err)
{
    char path[NT_CONF_PATH_BYTES + 16];
    struct stat st;
    snprintf(path, sizeof path, "%s/%u", w->conf->run_dir, w->request->job);
    if (lstat(path, &st) == 0)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM, "%s", w->report.outcome.text);
}

/* Runs the inner process to its end; false when it gave no report. */
static bool run_inner(struct watch *w, const char **why)
{
    int pipe_fd[2];
    *why = "pipe or fork refused";
    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        close(pipe_fd[0]);
        inner(w, pipe_fd[1]);
    }
    close(pipe_fd[1]);
    bool heard = pid > 0 && hear_report(w, pipe_fd[0]);
    close(pipe_fd[0]);
    if (pid > 0) {
        *why = "the agent was ended before it had a result";
        reap(pid, heard ? nt_now() + CLEAN_S : 0);
    }
    return heard;
}

int nt_watch(const struct nt_request *request, const struct nt_conf *conf, double budget_s,
             double began, struct nt_err *err)
{
    struct watch w = {.request = request, .conf = conf, .began = began, .budget_s = budget_s};
    const char *why;
    /* whatever a probe leaves behind becomes ours to end */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    nt_publish_remove(conf->run_dir, request->job, NULL);
    begin_log(&w);
    bool heard = run_inner(&w, &why);
    if (heard)
        nt_children_end(nt_now() + CLEAN_S);
    if (!heard) {
        publish_failed(&w, NT_ADVICE_AGENT, why);
    } else if (!w.report.outcome.settled) {
        struct nt_err reason;
        nt_err_set(&reason, NT_ERR_NONE, "%s", w.report.outcome.text + strlen("failed "));
        publish_failed(&w, w.report.outcome.advice, reason.text);
    }
    if (!heard) /* the job's files first: time is short */
        nt_children_end(nt_now() + CLEAN_S);
    log_outcome(&w);
    nt_log_fini(&w.log);
    return is_published(&w, err);
}
