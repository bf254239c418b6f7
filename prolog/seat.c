#include "seat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "now.h"

void nt_seat_init(struct nt_seat *seat, const struct nt_conf *conf, const struct nt_job *job,
                  const struct nt_option *option, const struct nt_log *log, double due,
                  double give_up)
{
    struct nt_err err;
    int socket;
    *seat = (struct nt_seat){.conf = conf,
                             .job = job,
                             .option = option,
                             .log = log,
                             .due = due,
                             .give_up = give_up,
                             .child = {.pidfd = -1},
                             .probe = {.fd = -1}};
    nt_publish_begin(&seat->publish, conf->run_dir, job->id, job->uid, job->gid,
                     conf->publish_limit_bytes, &seat->publish_err);
    if (seat->publish_err.kind != NT_ERR_NONE)
        nt_log(log, NT_LOG_ERROR, "%s; to do: %s", seat->publish_err.text,
               nt_advice_text(NT_ADVICE_PUBLISH));
    if (nt_child_start(&seat->child, conf, log, job->uid, job->gid, give_up - nt_now(), &socket,
                       &err) != 0 ||
        nt_conn_init(&seat->probe, socket, NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX, &err) != 0)
        nt_seat_lose(seat, NT_ADVICE_PROGRAM, err.text);
    else
        nt_log(log, NT_LOG_DEBUG, "%s runs as uid %u, pid %d, on host %zu of %zu", conf->probe,
               (unsigned)job->uid, (int)seat->child.pid, job->me + 1, job->hosts);
}

void nt_seat_fini(struct nt_seat *seat)
{
    nt_child_stop(&seat->child);
    nt_conn_fini(&seat->probe);
    nt_publish_fini(&seat->publish);
}

void nt_seat_lose(struct nt_seat *seat, enum nt_advice advice, const char *why)
{
    if (seat->probe_lost)
        return;
    seat->probe_lost = true;
    seat->probe_advice = advice;
    nt_err_set(&seat->probe_end, NT_ERR_SYSTEM, "%s", why);
    if (advice == NT_ADVICE_NONE)
        nt_log(seat->log, NT_LOG_DEBUG, "the probe has ended: %s", why);
    else
        nt_log(seat->log, NT_LOG_ERROR, "the probe is lost: %s; to do: %s", why,
               nt_advice_text(advice));
    nt_child_stop(&seat->child);
    nt_conn_fini(&seat->probe);
}

/* ---- START ---- */

struct text {
    char *at;
    size_t bytes, room;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->at + text->bytes, text->room - text->bytes, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < text->room - text->bytes)
        text->bytes += (size_t)n;
}

static int start_text(const struct nt_seat *seat, enum nt_policy policy,
                      const struct nt_job_use *use, struct text *text, struct nt_err *err)
{
    const struct nt_job *job = seat->job;
    char option[NT_OPTION_TEXT_BYTES];
    if (nt_option_format(seat->option, option, sizeof option, err) != 0)
        return -1;
    text->bytes = 0;
    text->room = 4096;
    for (size_t k = 0; k < job->hosts; k++)
        text->room += strlen(job->host[k]) + 8;
    text->at = malloc(text->room);
    if (text->at == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "out of memory");
    add(text, "rank %zu\nsize %zu\ndeadline_ms %d\n", job->me, job->hosts, nt_ms_until(seat->due));
    add(text, "job %u\nrestart %u\n", job->id, job->restart);
    if (seat->log != NULL)
        add(text, "log %s\n", nt_log_level_name(seat->log->level));
    if (job->cluster[0] != '\0')
        add(text, "cluster %s\n", job->cluster);
    add(text, "policy %s\noption %s\n", policy == NT_POLICY_FULL ? "full" : "latency", option);
    add(text, "inline_limit %u\nmax_load %.3f\n", seat->conf->inline_limit_bytes,
        seat->conf->max_load);
    if (use != NULL && use->tasks > 0)
        add(text, "tasks %u\n", use->tasks);
    if (use != NULL && use->task_cpus > 0)
        add(text, "task_cpus %u\n", use->task_cpus);
    if (job->cpus[0] != '\0')
        add(text, "cpus %s\n", job->cpus);
    for (size_t k = 0; k < job->hosts; k++)
        add(text, "host %s\n", job->host[k]);
    add(text, "end\n");
    return 0;
}

int nt_seat_start(struct nt_seat *seat, enum nt_policy policy, const struct nt_job_use *use,
                  struct nt_err *err)
{
    struct text text;
    if (seat->probe_lost)
        return 0;
    if (start_text(seat, policy, use, &text, err) != 0)
        return -1;
    /* all at once, whether the probe reads already or is still being loaded */
    size_t heads = (text.bytes / NT_FRAME_PAYLOAD_MAX + 1) * NT_FRAME_HEAD_BYTES;
    int rc =
        nt_conn_widen(&seat->probe, NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX + text.bytes + heads, err);
    for (size_t at = 0; at < text.bytes && rc == 0;) {
        size_t left = text.bytes - at;
        bool more = left > NT_FRAME_PAYLOAD_MAX;
        struct nt_frame frame = {.type = NT_FRAME_START,
                                 .flags = more ? NT_FRAME_MORE : 0,
                                 .payload_bytes = more ? NT_FRAME_PAYLOAD_MAX : (uint32_t)left};
        rc = nt_conn_send(&seat->probe, &frame, text.at + at, err);
        at += frame.payload_bytes;
    }
    free(text.at);
    return rc;
}

/* ---- the probe ---- */

/* It closes its end a moment before it ends: how it ended tells more than a broken pipe. */
static void lose_or_end(struct nt_seat *seat, const char *why)
{
    char end[48];
    struct pollfd ending = {.fd = seat->child.pidfd, .events = POLLIN};
    poll(&ending, 1, 20);
    if (nt_child_ended(&seat->child, end, sizeof end))
        nt_seat_lose(seat, nt_child_advice(&seat->child), end);
    else
        nt_seat_lose(seat, NT_ADVICE_PROBE, why);
}

/* One that has hung up takes nothing more, but what it said before is still to be read: at the end
 * of its time a probe may be done and gone while we have something for it. */
static void stop_talking(struct nt_seat *seat, const char *why)
{
    struct pollfd line = {.fd = seat->probe.fd};
    if (poll(&line, 1, 0) == 1 && (line.revents & POLLHUP) != 0)
        seat->probe_deaf = true;
    else
        lose_or_end(seat, why);
}

static bool listens(const struct nt_seat *seat)
{
    return !seat->probe_lost && !seat->probe_deaf;
}

size_t nt_seat_polls(const struct nt_seat *seat, bool read, struct pollfd *polls)
{
    if (seat->probe_lost)
        return 0;
    bool write = listens(seat) && nt_conn_queued(&seat->probe) > 0;
    short events = (short)((read ? POLLIN : 0) | (write ? POLLOUT : 0));
    /* who has hung up or ended says so without end: leave them out when we do not look */
    polls[0] = (struct pollfd){.fd = events != 0 ? seat->probe.fd : -1, .events = events};
    polls[1] = (struct pollfd){.fd = read ? seat->child.pidfd : -1, .events = POLLIN};
    return 2;
}

int nt_seat_next(struct nt_seat *seat, struct nt_frame *frame, const unsigned char **payload)
{
    struct nt_err err;
    char end[48];
    if (seat->probe_lost)
        return 0;
    int got = nt_conn_next(&seat->probe, frame, payload, &err);
    if (got > 0)
        return 1;
    if (got < 0) {
        lose_or_end(seat, err.text);
    } else if (nt_child_ended(&seat->child, end, sizeof end)) {
        /* what it said before it ended may have come in between */
        if (got == 0 && nt_conn_next(&seat->probe, frame, payload, &err) > 0)
            return 1;
        nt_seat_lose(seat, nt_child_advice(&seat->child), end);
    } else {
        nt_seat_flush(seat);
    }
    return 0;
}

void nt_seat_send(struct nt_seat *seat, const struct nt_frame *frame, const void *payload)
{
    struct nt_err err;
    if (listens(seat) && nt_conn_send(&seat->probe, frame, payload, &err) != 0)
        stop_talking(seat, err.text);
}

void nt_seat_queue(struct nt_seat *seat, const struct nt_frame *frame, const void *payload)
{
    struct nt_err err;
    if (listens(seat) && nt_conn_queue(&seat->probe, frame, payload, &err) != 0)
        stop_talking(seat, err.text);
}

void nt_seat_flush(struct nt_seat *seat)
{
    struct nt_err err;
    if (listens(seat) && nt_conn_flush(&seat->probe, &err) != 0)
        stop_talking(seat, err.text);
}

/* ---- the publication ---- */

void nt_seat_paper(struct nt_seat *seat, const struct nt_frame *frame, const void *payload)
{
    if (seat->publish_err.kind != NT_ERR_NONE)
        return;
    nt_publish_paper(&seat->publish, frame->host, (frame->flags & NT_FRAME_MORE) != 0, payload,
                     frame->payload_bytes, &seat->publish_err);
}

void nt_seat_publish_log(struct nt_publish *publish, const struct nt_option *option,
                         const struct nt_log *log, const struct nt_outcome *outcome)
{
    static char text[NT_LOG_TEXT_BYTES]; /* large, and one at a time */
    if (!option->debug || log == NULL)
        return;
    size_t bytes =
        nt_log_text(log, outcome->text, nt_advice_text(outcome->advice), text, sizeof text);
    nt_publish_log(publish, text, bytes);
}

/* What is to be told, before it is published: the log beside the map holds it too. */
static void note(struct nt_seat *seat, enum nt_advice advice, const char *text)
{
    seat->outcome.advice = advice;
    snprintf(seat->outcome.text, sizeof seat->outcome.text, "%s", text);
    nt_log(seat->log, NT_LOG_DEBUG, "%s", text);
    nt_seat_publish_log(&seat->publish, seat->option, seat->log, &seat->outcome);
}

void nt_seat_fail(struct nt_seat *seat, enum nt_advice advice, const char *format, ...)
{
    struct nt_err reason, err;
    char text[NT_ERR_TEXT_BYTES], told[NT_DONE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nt_err_set(&reason, NT_ERR_NONE, "%s", text); /* one printable line */
    snprintf(told, sizeof told, "failed %s", reason.text);
    note(seat, advice, told);
    if (nt_publish_failed(&seat->publish, reason.text, &err) != 0)
        snprintf(seat->outcome.text, sizeof seat->outcome.text,
                 "failed %.300s; not published: %.190s", reason.text,
                 seat->publish_err.kind != NT_ERR_NONE ? seat->publish_err.text : err.text);
    seat->outcome.settled = true;
}

static bool starts(const char *text, size_t bytes, const char *word)
{
    return bytes >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

/* Who said the word of the end: our own probe, or that of the job's first host. */
static enum nt_advice advice_of(const struct nt_seat *seat, bool ok)
{
    if (ok)
        return NT_ADVICE_NONE;
    return seat->job->me == 0 ? NT_ADVICE_PROBE : NT_ADVICE_LEADER;
}

void nt_seat_settle(struct nt_seat *seat, const char *text, size_t bytes)
{
    struct nt_err err, line;
    bool ok = starts(text, bytes, "ok"), good = ok || starts(text, bytes, "partial ");
    if (bytes > NT_ERR_TEXT_BYTES - 1)
        bytes = NT_ERR_TEXT_BYTES - 1;
    nt_err_set(&line, NT_ERR_NONE, "%.*s", (int)bytes, text);
    if (seat->publish_err.kind != NT_ERR_NONE) {
        nt_seat_fail(seat, NT_ADVICE_PUBLISH, "%s", seat->publish_err.text);
        return;
    }
    if (!good && !seat->publish.complete[NT_PAPER_ENV]) {
        nt_seat_fail(seat, advice_of(seat, false), "%s",
                     starts(text, bytes, "failed ") ? line.text + 7 : line.text);
        return;
    }
    note(seat, advice_of(seat, ok), line.text);
    if (nt_publish_finish(&seat->publish, &err) != 0) {
        nt_seat_fail(seat, NT_ADVICE_PUBLISH, "%s", err.text);
        return;
    }
    seat->outcome.settled = true;
}
