/* The meeting in a prolog: frames of base/frame.h to and from the agent that started this probe,
 * over one inherited descriptor. The START text is described in start.h.
 *
 * Each call (gather, cast) has its own seq, counted on every host alike. What comes for an
 * earlier one is late and dropped; what comes for a later one means that this probe was away. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "meet.h"
#include "start.h"

enum {
    ROOM = 2 * (NT_FRAME_HEAD_BYTES + NT_FRAME_PAYLOAD_MAX),
    CAST_BYTES_MAX = 256 * 1024 * 1024, /* the table of 131,072 addresses of 2 KiB */
    PIECE_BYTES_MAX = 1024 * 1024,
    START_BYTES_MAX = 64 * 1024 * 1024,
};

/* The agent ends a gather at its own time; this much later it is not there any more. */
static const double AGENT_LATE_S = 0.5;
static const double START_WAIT_S = 10;

struct meet_tcp {
    struct nt_meet base;
    int fd;
    uint32_t seq;
    struct nt_start start;
    /* what has come and is not used yet: kept, so that a deadline in the middle of a frame loses
     * nothing; read in large pieces, as rank 0 hears a frame of every host twice a round */
    unsigned char in[ROOM];
    size_t in_at, in_end;
    struct nt_frame frame; /* the current one */
    const unsigned char *payload;
    unsigned char out[ROOM]; /* on its way, for as long as a call lasts */
    size_t out_end;
};

/* A text that comes in several frames. */
struct parts {
    unsigned char *data;
    size_t bytes, max;
};

static int add_part(struct parts *parts, const void *data, size_t bytes, struct nt_err *err)
{
    if (bytes > parts->max - parts->bytes)
        return nt_err_set(err, NT_ERR_INPUT, "the meeting: a message of over %zu bytes",
                          parts->max);
    unsigned char *grown = realloc(parts->data, parts->bytes + bytes + 1);
    if (grown == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "the meeting: out of memory");
    if (bytes > 0)
        memcpy(grown + parts->bytes, data, bytes);
    parts->data = grown;
    parts->bytes += bytes;
    return 0;
}

/* ---- frames ---- */
static int lost(struct nt_err *err, const char *what)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "the agent: %s", what);
}

/* 1: so many bytes are there from in_at on; 0: the deadline has passed; -1: the agent is gone */
static int fill(struct meet_tcp *m, size_t want, double deadline_s, struct nt_err *err)
{
    if (m->in_at + want > sizeof m->in) {
        memmove(m->in, m->in + m->in_at, m->in_end - m->in_at);
        m->in_end -= m->in_at;
        m->in_at = 0;
    }
    while (m->in_end - m->in_at < want) {
        ssize_t n = read(m->fd, m->in + m->in_end, sizeof m->in - m->in_end);
        if (n == 0)
            return lost(err, "closed the connection");
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return lost(err, strerror(errno));
        if (n > 0) {
            m->in_end += (size_t)n;
            continue;
        }
        struct pollfd fd = {m->fd, POLLIN, 0};
        int ready = poll(&fd, 1, nt_clock_left_ms(deadline_s));
        if (ready < 0 && errno != EINTR)
            return lost(err, strerror(errno));
        if (ready == 0)
            return 0;
    }
    return 1;
}

/* The next frame, in m->frame and m->payload until the next call. Returns as fill. */
static int receive(struct meet_tcp *m, double deadline_s, struct nt_err *err)
{
    int rc = fill(m, NT_FRAME_HEAD_BYTES, deadline_s, err);
    if (rc == 1 && nt_frame_decode(m->in + m->in_at, &m->frame, err) != 0)
        return -1;
    if (rc == 1)
        rc = fill(m, NT_FRAME_HEAD_BYTES + m->frame.payload_bytes, deadline_s, err);
    if (rc != 1)
        return rc;
    m->payload = m->in + m->in_at + NT_FRAME_HEAD_BYTES;
    m->in_at += NT_FRAME_HEAD_BYTES + m->frame.payload_bytes;
    return 1;
}

static int flush(struct meet_tcp *m, struct nt_err *err)
{
    for (size_t at = 0; at < m->out_end;) {
        ssize_t n = write(m->fd, m->out + at, m->out_end - at);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return lost(err, strerror(errno));
        struct pollfd fd = {m->fd, POLLOUT, 0};
        if (n < 0 && poll(&fd, 1, nt_clock_left_ms(m->base.deadline_s)) == 0)
            return lost(err, "takes no more data");
        if (n > 0)
            at += (size_t)n;
    }
    m->out_end = 0;
    return 0;
}

static int put_frame(struct meet_tcp *m, const struct nt_frame *frame, const void *payload,
                     struct nt_err *err)
{
    if (sizeof m->out - m->out_end < NT_FRAME_HEAD_BYTES + (size_t)frame->payload_bytes &&
        flush(m, err) != 0)
        return -1;
    nt_frame_encode(frame, m->out + m->out_end);
    m->out_end += NT_FRAME_HEAD_BYTES;
    if (frame->payload_bytes > 0)
        memcpy(m->out + m->out_end, payload, frame->payload_bytes);
    m->out_end += frame->payload_bytes;
    return 0;
}

/* One text as one frame or several. */
static int put_text(struct meet_tcp *m, struct nt_frame frame, const void *data, size_t bytes,
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

static int send_text(struct meet_tcp *m, struct nt_frame frame, const void *data, size_t bytes,
                     struct nt_err *err)
{
    return put_text(m, frame, data, bytes, err) == 0 ? flush(m, err) : -1;
}

/* ---- gather ---- */
static int take_piece(struct meet_tcp *m, struct parts *parts, struct nt_piece *pieces,
                      struct nt_err *err)
{
    uint32_t host = m->frame.host;
    if (host >= m->base.size)
        return nt_err_set(err, NT_ERR_INPUT, "the agent: a piece of host %u of %u", host,
                          m->base.size);
    if (host == m->base.rank || pieces[host].present)
        return 0;
    /* too much from one host is that host's fault alone: it counts as absent */
    if (add_part(&parts[host], m->payload, m->frame.payload_bytes, NULL) != 0) {
        parts[host].max = 0;
        return 0;
    }
    if ((m->frame.flags & NT_FRAME_MORE) == 0 && parts[host].max > 0) {
        pieces[host] = (struct nt_piece){true, parts[host].bytes, parts[host].data};
        parts[host] = (struct parts){0};
    }
    return 0;
}

static int collect(struct meet_tcp *m, struct parts *parts, double deadline_s,
                   struct nt_piece *pieces, struct nt_err *err)
{
    for (;;) {
        int rc = receive(m, deadline_s, err);
        if (rc == 0)
            return lost(err, "did not end a gather in time");
        if (rc < 0)
            return -1;
        if (m->frame.seq != m->seq)
            continue;
        if (m->frame.type == NT_FRAME_GATHERED)
            return 0;
        if (m->frame.type == NT_FRAME_GATHER && take_piece(m, parts, pieces, err) != 0)
            return -1;
    }
}

static int keep_mine(struct nt_piece *piece, const void *mine, size_t bytes, struct nt_err *err)
{
    piece->data = malloc(bytes + 1);
    if (piece->data == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "the meeting: out of memory");
    if (bytes > 0)
        memcpy(piece->data, mine, bytes);
    piece->bytes = bytes;
    piece->present = true;
    return 0;
}

static int gather(struct nt_meet *meet, const void *mine, size_t bytes, double wait_s,
                  struct nt_piece *pieces, struct nt_err *err)
{
    struct meet_tcp *m = (struct meet_tcp *)meet;
    double deadline = nt_clock_s() + wait_s + AGENT_LATE_S;
    struct nt_frame frame = {.type = NT_FRAME_GATHER,
                             .seq = ++m->seq,
                             .host = meet->rank,
                             .wait_ms = (uint32_t)(wait_s > 0 ? wait_s * 1e3 : 0)};
    if (send_text(m, frame, mine, bytes, err) != 0)
        return -1;
    if (meet->rank != 0)
        return 0;
    struct parts *parts = calloc(meet->size, sizeof *parts);
    if (parts == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "the meeting: out of memory");
    for (size_t i = 0; i < meet->size; i++) {
        pieces[i] = (struct nt_piece){0};
        parts[i].max = PIECE_BYTES_MAX;
    }
    int rc = keep_mine(&pieces[0], mine, bytes, err);
    if (rc == 0)
        rc = collect(m, parts, deadline, pieces, err);
    for (size_t i = 0; i < meet->size; i++)
        free(parts[i].data);
    free(parts);
    if (rc != 0)
        nt_pieces_free(pieces, meet->size);
    return rc;
}

/* ---- cast ---- */
static int cast(struct nt_meet *meet, const void *mine, size_t mine_bytes, unsigned char **data,
                size_t *bytes, double wait_s, struct nt_err *err)
{
    struct meet_tcp *m = (struct meet_tcp *)meet;
    double deadline = nt_clock_s() + wait_s;
    struct nt_frame frame = {.type = NT_FRAME_BCAST, .seq = ++m->seq};
    if (meet->rank == 0)
        return send_text(m, frame, mine, mine_bytes, err);
    struct parts parts = {.max = CAST_BYTES_MAX};
    for (;;) {
        int rc = receive(m, deadline, err);
        if (rc == 0)
            rc = lost(err, "no word from the leading probe in time");
        else if (rc == 1 && m->frame.type == NT_FRAME_BCAST && m->frame.seq > m->seq)
            rc = lost(err, "this probe was away and is out of step");
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

static int scatter(struct nt_meet *meet, const struct nt_letter *letters, size_t n,
                   const void *mine, size_t mine_bytes, struct nt_err *err)
{
    struct meet_tcp *m = (struct meet_tcp *)meet;
    struct nt_frame frame = {.type = NT_FRAME_BCAST, .flags = NT_FRAME_UNICAST, .seq = ++m->seq};
    for (size_t k = 0; k < n; k++) {
        frame.host = letters[k].rank;
        if (put_text(m, frame, letters[k].data, letters[k].bytes, err) != 0)
            return -1;
    }
    frame.flags = 0;
    frame.host = 0;
    return send_text(m, frame, mine, mine_bytes, err);
}

/* ---- papers and the end ---- */
static int paper(struct nt_meet *meet, enum nt_artifact number, const char *text, size_t bytes,
                 struct nt_err *err)
{
    struct meet_tcp *m = (struct meet_tcp *)meet;
    struct nt_frame frame = {.type = NT_FRAME_ARTIFACT, .seq = m->seq, .host = (uint32_t)number};
    return send_text(m, frame, text, bytes, err);
}

static int done(struct nt_meet *meet, enum nt_status status, const char *reason, struct nt_err *err)
{
    static const char *const words[] = {"ok", "partial ", "failed "};
    struct meet_tcp *m = (struct meet_tcp *)meet;
    struct nt_frame frame = {.type = NT_FRAME_DONE, .seq = m->seq};
    struct parts line = {.max = 1024};
    size_t bytes = strlen(reason);
    int rc = add_part(&line, words[status], strlen(words[status]), err);
    if (rc == 0 && status != NT_STATUS_OK)
        rc = add_part(&line, reason, bytes < 512 ? bytes : 512, err);
    if (rc == 0)
        rc = send_text(m, frame, line.data, line.bytes, err);
    free(line.data);
    return rc;
}

/* ---- life ---- */
static void destroy(struct nt_meet *meet)
{
    struct meet_tcp *m = (struct meet_tcp *)meet;
    if (m == NULL)
        return;
    nt_start_fini(&m->start);
    close(m->fd);
    free(m);
}

static const struct nt_meet_ops OPS = {gather, cast, scatter, paper, done, destroy};

static int receive_start(struct meet_tcp *m, struct nt_err *err)
{
    double deadline = nt_clock_s() + START_WAIT_S;
    struct parts text = {.max = START_BYTES_MAX};
    int rc;
    do {
        rc = receive(m, deadline, err);
        if (rc == 0)
            rc = lost(err, "did not say where this probe is");
        else if (rc == 1 && m->frame.type != NT_FRAME_START)
            rc = lost(err, "spoke of something else before START");
        else if (rc == 1 && add_part(&text, m->payload, m->frame.payload_bytes, err) != 0)
            rc = -1;
    } while (rc == 1 && (m->frame.flags & NT_FRAME_MORE) != 0);
    if (rc == 1)
        rc = nt_start_parse((const char *)text.data, text.bytes, &m->start, err);
    free(text.data);
    return rc;
}

static void take_place(struct meet_tcp *m)
{
    const struct nt_start *s = &m->start;
    struct nt_meet *base = &m->base;
    base->rank = s->rank;
    base->size = s->size;
    base->job_id = s->job_id;
    base->restart = s->restart;
    base->deadline_s = nt_clock_s() + s->deadline_ms * 1e-3;
    base->latency_only = s->latency_only;
    base->max_load = s->max_load;
    base->option = s->option;
    base->log = s->log;
    base->tasks = s->tasks;
    base->task_cpus = s->task_cpus;
    base->cpus = s->cpus;
    base->inline_limit_bytes = s->inline_limit_bytes;
    base->host_names = (const char *const *)s->host;
    memcpy(base->cluster, s->cluster, sizeof base->cluster);
    memcpy(base->host, s->host[s->rank], strlen(s->host[s->rank]) + 1);
}

int nt_meet_tcp_create(int fd, struct nt_meet **out, struct nt_err *err)
{
    struct meet_tcp *m = calloc(1, sizeof *m);
    if (m == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "the meeting: out of memory");
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
    take_place(m);
    *out = &m->base;
    return 0;
}
