/* SPDX-License-Identifier: Apache-2.0 */
/* The out-of-band exchange in a prolog: frames of base/frame.h to and from the agent that started
 * this probe, over one inherited descriptor. start.h describes the START text.
 *
 * Each call (gather, bcast) has its own sequence number, which every host counts in the same way. A
 * frame of an earlier call is late and dropped. A frame of a later call means that this probe
 * missed a call. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "oob.h"
#include "start.h"

enum {
    BUFFER_BYTES = 2 * (NT_FRAME_HEAD_BYTES + NT_FRAME_PAYLOAD_MAX),
    BCAST_BYTES_MAX = 256 * 1024 * 1024, /* a table of 131,072 addresses of 2 KiB */
    CONTRIBUTION_BYTES_MAX = 1024 * 1024,
    START_BYTES_MAX = 64 * 1024 * 1024,
    REASON_MAX = 512, /* bytes in DONE, as FIGURES_MAX */
    FIGURES_MAX = 400,
};

/* The agent ends a gather by its own clock. If it is this much later, it no longer responds. */
static const double AGENT_LATE_S = 0.5;
static const double START_WAIT_S = 10;

struct oob_tcp {
    struct nt_oob base;
    int fd;
    uint32_t seq;
    struct nt_start start;
    /* received data that is not used yet: kept, so that a deadline within a frame loses nothing;
     * read in large pieces, because rank 0 receives a frame of every host twice per round */
    unsigned char in[BUFFER_BYTES];
    size_t in_at, in_end;
    struct nt_frame frame; /* the current frame */
    const unsigned char *payload;
    unsigned char out[BUFFER_BYTES]; /* output of the current call */
    size_t out_end;
};

void nt_contributions_free(struct nt_contribution *contributions, size_t n)
{
    for (size_t i = 0; contributions != NULL && i < n; i++) {
        free(contributions[i].data);
        contributions[i] = (struct nt_contribution){0};
    }
}

/* A text that arrives in several frames. */
struct parts {
    unsigned char *data;
    size_t bytes, max;
};

static int add_part(struct parts *parts, const void *data, size_t bytes, struct nt_err *err)
{
    if (bytes > parts->max - parts->bytes)
        return nt_err_set(err, NT_ERR_INPUT, "oob: a message of over %zu bytes", parts->max);
    unsigned char *grown = realloc(parts->data, parts->bytes + bytes + 1);
    if (grown == NULL)
        return nt_err_memory(err);
    if (bytes > 0)
        memcpy(grown + parts->bytes, data, bytes);
    parts->data = grown;
    parts->bytes += bytes;
    return 0;
}

/* ---- frames ---- */
static int agent_error(struct nt_err *err, const char *what)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "the agent: %s", what);
}

/* Returns 1 if want bytes are available at in_at, 0 at the deadline, -1 if the agent closed the
 * connection. */
static int read_at_least(struct oob_tcp *m, size_t want, double deadline_s, struct nt_err *err)
{
    if (m->in_at + want > sizeof m->in) {
        memmove(m->in, m->in + m->in_at, m->in_end - m->in_at);
        m->in_end -= m->in_at;
        m->in_at = 0;
    }
    while (m->in_end - m->in_at < want) {
        ssize_t n = read(m->fd, m->in + m->in_end, sizeof m->in - m->in_end);
        if (n == 0)
            return agent_error(err, "closed the connection");
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return agent_error(err, strerror(errno));
        if (n > 0) {
            m->in_end += (size_t)n;
            continue;
        }
        struct pollfd fd = {m->fd, POLLIN, 0};
        int ready = poll(&fd, 1, nt_clock_left_ms(deadline_s));
        if (ready < 0 && errno != EINTR) /* the error would repeat at once */
            return agent_error(err, strerror(errno));
        if (ready == 0)
            return 0;
    }
    return 1;
}

/* Receives the next frame into m->frame and m->payload, valid until the next call. Returns as
 * read_at_least. */
static int receive_frame(struct oob_tcp *m, double deadline_s, struct nt_err *err)
{
    int rc = read_at_least(m, NT_FRAME_HEAD_BYTES, deadline_s, err);
    if (rc == 1 && nt_frame_decode(m->in + m->in_at, &m->frame, err) != 0)
        return -1;
    if (rc == 1)
        rc = read_at_least(m, NT_FRAME_HEAD_BYTES + m->frame.payload_bytes, deadline_s, err);
    if (rc != 1)
        return rc;
    m->payload = m->in + m->in_at + NT_FRAME_HEAD_BYTES;
    m->in_at += NT_FRAME_HEAD_BYTES + m->frame.payload_bytes;
    return 1;
}

static int flush_output(struct oob_tcp *m, struct nt_err *err)
{
    for (size_t at = 0; at < m->out_end;) {
        ssize_t n = write(m->fd, m->out + at, m->out_end - at);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return agent_error(err, strerror(errno));
        struct pollfd fd = {m->fd, POLLOUT, 0};
        if (n < 0 && poll(&fd, 1, nt_clock_left_ms(m->base.deadline_s)) == 0)
            return agent_error(err, "takes no more data");
        if (n > 0)
            at += (size_t)n;
    }
    m->out_end = 0;
    return 0;
}

static int put_frame(struct oob_tcp *m, const struct nt_frame *frame, const void *payload,
                     struct nt_err *err)
{
    if (sizeof m->out - m->out_end < NT_FRAME_HEAD_BYTES + (size_t)frame->payload_bytes &&
        flush_output(m, err) != 0)
        return -1;
    nt_frame_encode(frame, m->out + m->out_end);
    m->out_end += NT_FRAME_HEAD_BYTES;
    if (frame->payload_bytes > 0)
        memcpy(m->out + m->out_end, payload, frame->payload_bytes);
    m->out_end += frame->payload_bytes;
    return 0;
}

/* Queues a text as one or several frames. */
static int put_text(struct oob_tcp *m, struct nt_frame frame, const void *data, size_t bytes,
                    struct nt_err *err)
{
    const char *at = data;
    uint16_t flags = frame.flags;
    do {
        size_t part = bytes < NT_FRAME_PAYLOAD_MAX ? bytes : NT_FRAME_PAYLOAD_MAX;
        frame.flags = bytes > part ? flags | NT_FRAME_MORE : flags;
        frame.payload_bytes = (uint32_t)part;
        if (put_frame(m, &frame, at, err) != 0)
            return -1;
        at += part;
        bytes -= part;
    } while (bytes > 0);
    return 0;
}

static int send_text(struct oob_tcp *m, struct nt_frame frame, const void *data, size_t bytes,
                     struct nt_err *err)
{
    return put_text(m, frame, data, bytes, err) == 0 ? flush_output(m, err) : -1;
}

/* ---- gather ---- */
static int add_contribution(struct oob_tcp *m, struct parts *parts,
                            struct nt_contribution *contributions, struct nt_err *err)
{
    uint32_t host = m->frame.host;
    if (host >= m->base.size)
        return nt_err_set(err, NT_ERR_INPUT, "the agent: a contribution of host %u of %u", host,
                          m->base.size);
    if (host == m->base.rank || contributions[host].present)
        return 0;
    /* a contribution that is too large counts as missing; the other hosts are not affected */
    if (parts[host].max == 0 ||
        add_part(&parts[host], m->payload, m->frame.payload_bytes, NULL) != 0) {
        parts[host].max = 0;
        return 0;
    }
    if ((m->frame.flags & NT_FRAME_MORE) == 0) {
        contributions[host] = (struct nt_contribution){true, parts[host].bytes, parts[host].data};
        parts[host] = (struct parts){0};
    }
    return 0;
}

static int collect_contributions(struct oob_tcp *m, struct parts *parts, double deadline_s,
                                 struct nt_contribution *contributions, struct nt_err *err)
{
    for (;;) {
        int rc = receive_frame(m, deadline_s, err);
        if (rc == 0)
            return agent_error(err, "did not end a gather in time");
        if (rc < 0)
            return -1;
        if (m->frame.seq != m->seq)
            continue;
        if (m->frame.type == NT_FRAME_GATHERED)
            return 0;
        if (m->frame.type == NT_FRAME_GATHER && add_contribution(m, parts, contributions, err) != 0)
            return -1;
    }
}

static int copy_own(struct nt_contribution *contribution, const void *mine, size_t bytes,
                    struct nt_err *err)
{
    contribution->data = malloc(bytes + 1);
    if (contribution->data == NULL)
        return nt_err_memory(err);
    if (bytes > 0)
        memcpy(contribution->data, mine, bytes);
    contribution->bytes = bytes;
    contribution->present = true;
    return 0;
}

static int gather(struct nt_oob *oob, const void *mine, size_t bytes, double wait_s,
                  struct nt_contribution *contributions, struct nt_err *err)
{
    struct oob_tcp *m = (struct oob_tcp *)oob;
    double deadline = nt_clock_s() + wait_s + AGENT_LATE_S;
    struct nt_frame frame = {.type = NT_FRAME_GATHER,
                             .seq = ++m->seq,
                             .host = oob->rank,
                             .wait_ms = (uint32_t)(wait_s > 0 ? wait_s * 1e3 : 0)};
    if (send_text(m, frame, mine, bytes, err) != 0)
        return -1;
    if (oob->rank != 0)
        return 0;
    struct parts *parts = calloc(oob->size, sizeof *parts);
    if (parts == NULL)
        return nt_err_memory(err);
    for (size_t i = 0; i < oob->size; i++) {
        contributions[i] = (struct nt_contribution){0};
        parts[i].max = CONTRIBUTION_BYTES_MAX;
    }
    int rc = copy_own(&contributions[0], mine, bytes, err);
    if (rc == 0)
        rc = collect_contributions(m, parts, deadline, contributions, err);
    for (size_t i = 0; i < oob->size; i++)
        free(parts[i].data);
    free(parts);
    if (rc != 0)
        nt_contributions_free(contributions, oob->size);
    return rc;
}

/* ---- bcast ---- */
static int bcast(struct nt_oob *oob, const void *text, size_t bytes, struct nt_err *err)
{
    struct oob_tcp *m = (struct oob_tcp *)oob;
    struct nt_frame frame = {.type = NT_FRAME_BCAST, .seq = ++m->seq};
    return send_text(m, frame, text, bytes, err);
}

static int receive(struct nt_oob *oob, unsigned char **data, size_t *bytes, double wait_s,
                   struct nt_err *err)
{
    struct oob_tcp *m = (struct oob_tcp *)oob;
    double deadline = nt_clock_s() + wait_s;
    m->seq++;
    struct parts parts = {.max = BCAST_BYTES_MAX};
    for (;;) {
        int rc = receive_frame(m, deadline, err);
        if (rc == 0)
            rc = agent_error(err, "nothing from rank 0 in time");
        else if (rc == 1 && m->frame.type == NT_FRAME_BCAST && m->frame.seq > m->seq)
            rc = agent_error(err, "this probe missed a call and is out of step");
        else if (rc == 1 && m->frame.type == NT_FRAME_BCAST && m->frame.seq == m->seq)
            rc = add_part(&parts, m->payload, m->frame.payload_bytes, err) == 0 ? 1 : -1;
        else if (rc == 1)
            continue;
        if (rc == 1 && (m->frame.flags & NT_FRAME_MORE) != 0)
            continue;
        if (rc < 0) {
            free(parts.data);
            return -1;
        }
        *data = parts.data;
        *bytes = parts.bytes;
        return 0;
    }
}

static int scatter(struct nt_oob *oob, const struct nt_unicast *unicasts, size_t n,
                   const void *mine, size_t mine_bytes, struct nt_err *err)
{
    struct oob_tcp *m = (struct oob_tcp *)oob;
    struct nt_frame frame = {.type = NT_FRAME_BCAST, .flags = NT_FRAME_UNICAST, .seq = ++m->seq};
    for (size_t k = 0; k < n; k++) {
        frame.host = unicasts[k].rank;
        if (put_text(m, frame, unicasts[k].data, unicasts[k].bytes, err) != 0)
            return -1;
    }
    frame.flags = 0;
    frame.host = 0;
    return send_text(m, frame, mine, mine_bytes, err);
}

/* ---- artifacts and the end ---- */
static int artifact(struct nt_oob *oob, enum nt_artifact number, const char *text, size_t bytes,
                    struct nt_err *err)
{
    struct oob_tcp *m = (struct oob_tcp *)oob;
    struct nt_frame frame = {.type = NT_FRAME_ARTIFACT, .seq = m->seq, .host = (uint32_t)number};
    return send_text(m, frame, text, bytes, err);
}

/* Allocates no memory, so that a probe without memory can report its end. */
static int done(struct nt_oob *oob, enum nt_status status, const char *reason, struct nt_err *err)
{
    static const char *const words[] = {"ok", "partial ", "failed "};
    struct oob_tcp *m = (struct oob_tcp *)oob;
    struct nt_frame frame = {.type = NT_FRAME_DONE, .seq = m->seq};
    char line[16 + REASON_MAX + FIGURES_MAX];
    size_t bytes = status == NT_STATUS_OK ? 0 : strcspn(reason, "\n");
    const char *figures = strchr(reason, '\n');
    if (figures == NULL || strlen(figures) > FIGURES_MAX)
        figures = "";
    int n = snprintf(line, sizeof line, "%s%.*s%s", words[status],
                     (int)(bytes < REASON_MAX ? bytes : REASON_MAX), reason, figures);
    return send_text(m, frame, line, (size_t)n, err);
}

/* ---- life ---- */
static void destroy(struct nt_oob *oob)
{
    struct oob_tcp *m = (struct oob_tcp *)oob;
    nt_start_fini(&m->start);
    close(m->fd);
    free(m);
}

static const struct nt_oob_ops OPS = {gather, bcast, receive, scatter, artifact, done, destroy};

static int receive_start(struct oob_tcp *m, struct nt_err *err)
{
    double deadline = nt_clock_s() + START_WAIT_S;
    struct parts text = {.max = START_BYTES_MAX};
    int rc;
    do {
        rc = receive_frame(m, deadline, err);
        if (rc == 0)
            rc = agent_error(err, "sent no START in time");
        else if (rc == 1 && m->frame.type != NT_FRAME_START)
            rc = agent_error(err, "sent another frame before START");
        else if (rc == 1 && add_part(&text, m->payload, m->frame.payload_bytes, err) != 0)
            rc = -1;
    } while (rc == 1 && (m->frame.flags & NT_FRAME_MORE) != 0);
    if (rc == 1)
        rc = nt_start_parse((const char *)text.data, text.bytes, &m->start, err);
    free(text.data);
    return rc;
}

static void apply_start(struct oob_tcp *m, struct nt_probe_job *job)
{
    const struct nt_start *s = &m->start;
    m->base.rank = s->rank;
    m->base.size = s->size;
    m->base.deadline_s = (double)s->deadline_us * 1e-6;
    *job = s->job;
    snprintf(job->host, sizeof job->host, "%s", s->host[s->rank]);
}

int nt_oob_tcp_create(int fd, struct nt_oob **out, struct nt_probe_job *job, struct nt_err *err)
{
    struct oob_tcp *m = calloc(1, sizeof *m);
    if (m == NULL)
        return nt_err_memory(err);
    m->base.ops = &OPS;
    m->fd = fd;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        free(m);
        return nt_err_set(err, NT_ERR_SYSTEM, "the agent's descriptor %d: %s", fd, strerror(errno));
    }
    if (receive_start(m, err) != 0) {
        destroy(&m->base);
        return -1;
    }
    apply_start(m, job);
    *out = &m->base;
    return 0;
}
