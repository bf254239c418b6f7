/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

void nt_session_init(struct nt_session *session, struct nt_service *service, int client_fd)
{
    struct nt_err err;
    *session = (struct nt_session){.conf = service->conf,
                                   .job = service->job,
                                   .option = service->option,
                                   .limit_note = service->limit_note,
                                   .log = service->log,
                                   .deadline = service->deadline,
                                   .give_up = service->give_up,
                                   .client = {.fd = client_fd, .local = service},
                                   .probe = {.fd = -1},
                                   .probe_pidfd = service->child.pidfd,
                                   .artifacts = &service->publish.artifacts,
                                   .publish_err = service->publish_err};
    if (service->probe_err.kind != NT_ERR_NONE)
        nt_session_lose_probe(session, NT_ADVICE_PROGRAM, service->probe_err.text);
    else if (nt_conn_init(&session->probe, service->probe_socket, NT_FRAME_PAYLOAD_MAX,
                          NT_QUEUE_MAX, &err) != 0)
        nt_session_lose_probe(session, NT_ADVICE_SYSTEM, err.text);
}

void nt_session_fini(struct nt_session *session)
{
    nt_conn_fini(&session->probe);
}

void nt_session_lose_probe(struct nt_session *session, enum nt_advice advice, const char *why)
{
    if (session->probe_lost)
        return;
    session->probe_lost = true;
    session->probe_advice = advice;
    nt_err_set(&session->probe_end, NT_ERR_SYSTEM, "%s", why);
    if (advice == NT_ADVICE_NONE)
        nt_log(session->log, NT_LOG_DEBUG, "the probe exited: %s", why);
    else
        nt_log(session->log, NT_LOG_ERROR, "the probe failed: %s; to do: %s", why,
               nt_advice_text(advice));
    nt_client_stop_probe(&session->client);
    session->probe_pidfd = -1;
    nt_conn_fini(&session->probe);
}

/* Less than the 0.17 s after give_up that the worker waits (RELAY_S in worker.c). */
static const double DRAIN_LATEST_S = 0.15;

double nt_session_drain_until(const struct nt_session *session, double seconds)
{
    double until = nt_clock_s() + seconds, latest = session->give_up + DRAIN_LATEST_S;
    return until < latest ? until : latest;
}

/* ---- START ---- */

static int format_start(const struct nt_session *session, enum nt_policy policy,
                        const struct nt_job_use *use, char **text, size_t *bytes,
                        struct nt_err *err)
{
    const struct nt_job *job = session->job;
    char option[NT_OPTION_TEXT_BYTES];
    if (nt_option_format(session->option, option, sizeof option, err) != 0)
        return -1;
    FILE *to = open_memstream(text, bytes);
    if (to == NULL)
        return nt_err_memory(err);
    fprintf(to, "rank %zu\nsize %zu\ndeadline_us %.0f\n", job->self, job->hosts,
            session->deadline * 1e6);
    fprintf(to, "job %u\nrestart %u\n", job->id, job->restart);
    if (session->log != NULL)
        fprintf(to, "log %s\n", nt_log_level_name(session->log->level));
    if (session->limit_note != NULL && session->limit_note[0] != '\0')
        fprintf(to, "warning %s\n", session->limit_note);
    if (job->cluster[0] != '\0')
        fprintf(to, "cluster %s\n", job->cluster);
    fprintf(to, "policy %s\noption %s\n", policy == NT_POLICY_FULL ? "full" : "latency", option);
    if (session->option->level_auto)
        fprintf(to, "level auto\n");
    if (use == NULL && job->self == 0)
        fprintf(to, "use unknown\n");
    if (use != NULL && use->limit_s > 0)
        fprintf(to, "limit %u\n", use->limit_s);
    if (session->conf->archive.dir[0] != '\0' && job->self == 0)
        fprintf(to, "archive yes\n");
    fprintf(to, "inline_limit %u\nmax_load %.3f\n", session->conf->inline_limit_bytes,
            session->conf->max_load);
    if (use != NULL && use->tasks > 0)
        fprintf(to, "tasks %u\n", use->tasks);
    if (use != NULL && use->task_cpus > 0)
        fprintf(to, "task_cpus %u\n", use->task_cpus);
    if (session->conf->prior[0] != '\0')
        fprintf(to, "prior %s\n", session->conf->prior);
    if (job->cpus[0] != '\0')
        fprintf(to, "cpus %s\n", job->cpus);
    for (size_t k = 0; k < job->hosts; k++)
        fprintf(to, "host %s\n", job->host[k]);
    fprintf(to, "end\n");
    bool failed = ferror(to) != 0;
    if (fclose(to) == 0 && !failed)
        return 0;
    free(*text);
    return nt_err_memory(err);
}

int nt_session_start_probe(struct nt_session *session, enum nt_policy policy,
                           const struct nt_job_use *use, struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (session->probe_lost)
        return 0;
    if (format_start(session, policy, use, &text, &bytes, err) != 0)
        return -1;
    /* the queue has room for the whole text, because the probe may not read yet */
    size_t heads = (bytes / NT_FRAME_PAYLOAD_MAX + 1) * NT_FRAME_HEAD_BYTES;
    int rc = nt_conn_raise_limits(&session->probe, NT_FRAME_PAYLOAD_MAX,
                                  NT_QUEUE_MAX + bytes + heads, err);
    for (size_t at = 0; at < bytes && rc == 0;) {
        size_t left = bytes - at;
        bool more = left > NT_FRAME_PAYLOAD_MAX;
        struct nt_frame frame = {.type = NT_FRAME_START,
                                 .flags = more ? NT_FRAME_MORE : 0,
                                 .payload_bytes = more ? NT_FRAME_PAYLOAD_MAX : (uint32_t)left};
        rc = nt_conn_send(&session->probe, &frame, text + at, err);
        at += frame.payload_bytes;
    }
    free(text);
    return rc;
}

/* ---- the probe ---- */

/* Asks the service only after the kernel has reported the end. */
static bool probe_ended(const struct nt_session *session, char end[NT_PROBE_END_BYTES],
                        enum nt_advice *advice)
{
    struct pollfd ending = {.fd = session->probe_pidfd, .events = POLLIN};
    if (session->probe_pidfd >= 0 && poll(&ending, 1, 0) <= 0)
        return false;
    return nt_client_probe_ended(&session->client, end, advice);
}

/* The socket closes shortly before the process ends, and the exit status explains more than a
 * broken pipe. */
static void lose_probe_with_status(struct nt_session *session, const char *why)
{
    char end[NT_PROBE_END_BYTES];
    enum nt_advice advice;
    struct pollfd ending = {.fd = session->probe_pidfd, .events = POLLIN};
    poll(&ending, 1, 20);
    if (probe_ended(session, end, &advice))
        nt_session_lose_probe(session, advice, end);
    else
        nt_session_lose_probe(session, NT_ADVICE_PROBE, why);
}

/* After a hangup, frames that the probe sent before are still read: at its deadline a probe may
 * send DONE and exit while the agent has frames for it. */
static void probe_write_failed(struct nt_session *session, const char *why)
{
    struct pollfd line = {.fd = session->probe.fd};
    if (poll(&line, 1, 0) == 1 && (line.revents & POLLHUP) != 0)
        session->probe_hung_up = true;
    else
        lose_probe_with_status(session, why);
}

static bool probe_accepts(const struct nt_session *session)
{
    return !session->probe_lost && !session->probe_hung_up;
}

size_t nt_session_pollfds(const struct nt_session *session, bool read, struct pollfd *polls)
{
    if (session->probe_lost)
        return 0;
    bool write = probe_accepts(session) && nt_conn_queued(&session->probe) > 0;
    short events = (short)((read ? POLLIN : 0) | (write ? POLLOUT : 0));
    /* a hangup or an exit would wake poll again and again, so it is omitted if nothing is read */
    polls[0] = (struct pollfd){.fd = events != 0 ? session->probe.fd : -1, .events = events};
    polls[1] = (struct pollfd){.fd = read ? session->probe_pidfd : -1, .events = POLLIN};
    return 2;
}

int nt_session_probe_next(struct nt_session *session, struct nt_frame *frame,
                          const unsigned char **payload)
{
    struct nt_err err;
    char end[NT_PROBE_END_BYTES];
    enum nt_advice advice;
    if (session->probe_lost)
        return 0;
    int got = nt_conn_next(&session->probe, frame, payload, &err);
    if (got > 0)
        return 1;
    if (got < 0) {
        lose_probe_with_status(session, err.text);
    } else if (probe_ended(session, end, &advice)) {
        /* frames may have arrived between the read and its exit */
        if (got == 0 && nt_conn_next(&session->probe, frame, payload, &err) > 0)
            return 1;
        nt_session_lose_probe(session, advice, end);
    } else {
        nt_session_probe_flush(session);
    }
    return 0;
}

void nt_session_probe_send(struct nt_session *session, const struct nt_frame *frame,
                           const void *payload)
{
    struct nt_err err;
    if (probe_accepts(session) && nt_conn_send(&session->probe, frame, payload, &err) != 0)
        probe_write_failed(session, err.text);
}

void nt_session_probe_queue(struct nt_session *session, const struct nt_frame *frame,
                            const void *payload)
{
    struct nt_err err;
    if (probe_accepts(session) && nt_conn_queue(&session->probe, frame, payload, &err) != 0)
        probe_write_failed(session, err.text);
}

void nt_session_probe_flush(struct nt_session *session)
{
    struct nt_err err;
    if (probe_accepts(session) && nt_conn_flush(&session->probe, &err) != 0)
        probe_write_failed(session, err.text);
}

/* ---- the end ---- */

void nt_session_write_artifact(struct nt_session *session, const struct nt_frame *frame,
                               const void *payload)
{
    struct nt_artifact_files *artifacts = session->artifacts;
    if (session->publish_err.kind != NT_ERR_NONE)
        return;
    bool dropped = artifacts->dropped[NT_ARTIFACT_SAMPLES];
    nt_artifact_files_write(artifacts, frame->host, (frame->flags & NT_FRAME_MORE) != 0, payload,
                            frame->payload_bytes, &session->publish_err);
    if (artifacts->dropped[NT_ARTIFACT_SAMPLES] && !dropped)
        nt_log(session->log, NT_LOG_INFO,
               "the samples are omitted, because the job's files are larger than publish_limit");
}

static void report_result(struct nt_session *session, bool failed)
{
    struct nt_relay_result result = {.failed = failed,
                                     .probe_failed = session->probe_lost &&
                                                     session->probe_advice != NT_ADVICE_NONE,
                                     .advice = session->outcome.advice};
    for (int k = 0; k < NT_ARTIFACT_END; k++)
        result.complete[k] = session->artifacts->complete[k];
    memcpy(result.text, session->outcome.text, sizeof result.text);
    result.figures = session->outcome.figures;
    session->outcome.decided = true;
    nt_client_report_result(&session->client, &result);
}

void nt_session_fail(struct nt_session *session, enum nt_advice advice, const char *format, ...)
{
    struct nt_err reason;
    char text[NT_ERR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nt_err_set(&reason, NT_ERR_NONE, "%s", text); /* converts it to one printable line */
    session->outcome.advice = advice;
    snprintf(session->outcome.text, sizeof session->outcome.text, "failed %s", reason.text);
    report_result(session, true);
}

static bool has_prefix(const char *text, size_t bytes, const char *word)
{
    return bytes >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

/* The outcome was reported by this host's probe, or by the probe of the job's first host. */
static enum nt_advice outcome_advice(const struct nt_session *session, bool ok)
{
    if (ok)
        return NT_ADVICE_NONE;
    return session->job->self == 0 ? NT_ADVICE_PROBE : NT_ADVICE_LEADER;
}

void nt_session_finish(struct nt_session *session, const struct nt_frame *done, const char *text)
{
    size_t bytes = done->payload_bytes;
    struct nt_err line;
    bool ok = has_prefix(text, bytes, "ok"), good = ok || has_prefix(text, bytes, "partial ");
    const char *end = memchr(text, '\n', bytes);
    if (end != NULL) {
        nt_job_figures_parse(end + 1, bytes - (size_t)(end + 1 - text), &session->outcome.figures);
        bytes = (size_t)(end - text);
    }
    if (bytes > NT_ERR_TEXT_BYTES - 1)
        bytes = NT_ERR_TEXT_BYTES - 1;
    nt_err_set(&line, NT_ERR_NONE, "%.*s", (int)bytes, text);
    if (session->publish_err.kind != NT_ERR_NONE) {
        nt_session_fail(session, NT_ADVICE_PUBLISH, "%s", session->publish_err.text);
        return;
    }
    bool by_rank_0 = (done->flags & NT_FRAME_AGENT) == 0;
    if (!good && !(by_rank_0 && session->artifacts->complete[NT_ARTIFACT_ENV])) {
        nt_session_fail(session, outcome_advice(session, false), "%s",
                        has_prefix(text, bytes, "failed ") ? line.text + 7 : line.text);
        return;
    }
    session->outcome.advice = outcome_advice(session, ok);
    snprintf(session->outcome.text, sizeof session->outcome.text, "%s", line.text);
    report_result(session, false);
}
