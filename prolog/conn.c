/* SPDX-License-Identifier: Apache-2.0 */
#include "conn.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

/* ---- keys and tags ---- */

void nt_frame_key_derive(const unsigned char member_secret[NT_SECRET_BYTES],
                         const unsigned char leader_secret[NT_SECRET_BYTES], const char *name,
                         struct nt_frame_key *key)
{
    unsigned char both[2 * NT_SECRET_BYTES];
    _Static_assert((int)sizeof both <= (int)crypto_generichash_blake2b_KEYBYTES_MAX,
                   "the secrets must fit into a key");
    *key = (struct nt_frame_key){.is_set = true};
    memcpy(both, member_secret, NT_SECRET_BYTES);
    memcpy(both + NT_SECRET_BYTES, leader_secret, NT_SECRET_BYTES);
    crypto_generichash_blake2b(key->key, sizeof key->key, (const unsigned char *)name, strlen(name),
                               both, sizeof both);
    sodium_memzero(both, sizeof both);
}

/* Computes the tag of the next frame. frame: header and payload, contiguous. */
static void make_tag(struct nt_frame_key *key, const unsigned char *frame, size_t bytes,
                     unsigned char tag[NT_TAG_BYTES])
{
    crypto_generichash_blake2b_state state;
    unsigned char count[8];
    for (int k = 0; k < 8; k++)
        count[k] = (unsigned char)(key->frames >> (8 * k) & 0xff);
    key->frames++;
    crypto_generichash_blake2b_init(&state, key->key, sizeof key->key, NT_TAG_BYTES);
    crypto_generichash_blake2b_update(&state, count, sizeof count);
    crypto_generichash_blake2b_update(&state, frame, bytes);
    crypto_generichash_blake2b_final(&state, tag, NT_TAG_BYTES);
}

/* Returns whether tag is the tag of the next frame. */
static bool is_tag_right(struct nt_frame_key *key, const unsigned char *frame, size_t bytes,
                         const unsigned char tag[NT_TAG_BYTES])
{
    unsigned char expected[NT_TAG_BYTES];
    make_tag(key, frame, bytes, expected);
    return sodium_memcmp(tag, expected, NT_TAG_BYTES) == 0;
}

/* ---- the connection ---- */

enum { FLUSH_BYTES = 16384 };

int nt_conn_init(struct nt_conn *conn, int fd, size_t payload_max, size_t queue_max,
                 struct nt_err *err)
{
    *conn = (struct nt_conn){.fd = fd, .payload_max = payload_max, .queue_max = queue_max};
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "connection: %s", strerror(errno));
        goto close_fd;
    }
    conn->in = malloc(NT_FRAME_HEAD_BYTES + payload_max + NT_TAG_BYTES);
    if (conn->in == NULL) {
        nt_err_memory(err);
        goto close_fd;
    }
    return 0;
close_fd:
    nt_conn_fini(conn);
    return -1;
}

void nt_conn_fini(struct nt_conn *conn)
{
    if (conn->fd >= 0)
        close(conn->fd);
    free(conn->in);
    free(conn->out);
    *conn = (struct nt_conn){.fd = -1};
}

int nt_conn_raise_limits(struct nt_conn *conn, size_t payload_max, size_t queue_max,
                         struct nt_err *err)
{
    unsigned char *in = realloc(conn->in, NT_FRAME_HEAD_BYTES + payload_max + NT_TAG_BYTES);
    if (in == NULL)
        return nt_err_memory(err);
    conn->in = in;
    conn->payload_max = payload_max;
    conn->queue_max = queue_max;
    return 0;
}

void nt_conn_set_keys(struct nt_conn *conn, const struct nt_frame_key *out,
                      const struct nt_frame_key *in)
{
    conn->out_key = *out;
    conn->in_key = *in;
}

static size_t tag_bytes(const struct nt_frame_key *key)
{
    return key->is_set ? NT_TAG_BYTES : 0;
}

bool nt_conn_is_open(const struct nt_conn *conn)
{
    return conn->fd >= 0;
}

/* Reads as read does. A probe can send descriptors too. If there were no room for them, the kernel
 * would close them here, which takes as long as the owner of a socket lets it linger. They stay
 * open until this process exits; then nothing lingers. */
static ssize_t receive(int fd, void *to, size_t bytes, bool *passed)
{
    enum { MOST = 253 }; /* SCM_MAX_FD */
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(MOST * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = to, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    *passed = got >= 0 && message.msg_controllen > 0;
    return got;
}

/* Returns 1 if bytes were read, 0 if none are available. */
static int read_available(struct nt_conn *conn, struct nt_err *err)
{
    size_t room = NT_FRAME_HEAD_BYTES + conn->payload_max + tag_bytes(&conn->in_key);
    if (conn->in_at > 0) {
        memmove(conn->in, conn->in + conn->in_at, conn->in_end - conn->in_at);
        conn->in_end -= conn->in_at;
        conn->in_at = 0;
    }
    for (;;) {
        bool passed;
        ssize_t got = receive(conn->fd, conn->in + conn->in_end, room - conn->in_end, &passed);
        if (passed)
            return nt_err_set(err, NT_ERR_INPUT, "unexpected file descriptors");
        if (got > 0) {
            conn->in_end += (size_t)got;
            return 1;
        }
        if (got == 0)
            return nt_err_set(err, NT_ERR_INPUT, "%s",
                              conn->in_end > 0 ? "connection closed within a frame"
                                               : "connection closed");
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return 0;
        if (errno != EINTR)
            return nt_err_set(err, NT_ERR_INPUT, "connection failed: %s", strerror(errno));
    }
}

/* Returns 1 if a complete frame begins at in_at, 0 if more bytes are needed. */
static int decode_next(const struct nt_conn *conn, struct nt_frame *frame, struct nt_err *err)
{
    size_t have = conn->in_end - conn->in_at;
    if (have < NT_FRAME_HEAD_BYTES)
        return 0;
    if (nt_frame_decode(conn->in + conn->in_at, frame, err) != 0)
        return -1;
    if (frame->payload_bytes > conn->payload_max)
        return nt_err_set(err, NT_ERR_INPUT, "frame: expected at most %zu bytes, found %u",
                          conn->payload_max, frame->payload_bytes);
    return have - NT_FRAME_HEAD_BYTES >= frame->payload_bytes + tag_bytes(&conn->in_key);
}

int nt_conn_next(struct nt_conn *conn, struct nt_frame *frame, const unsigned char **payload,
                 struct nt_err *err)
{
    struct nt_frame found;
    for (;;) {
        int whole = decode_next(conn, &found, err);
        if (whole < 0)
            return -1;
        if (whole > 0)
            break;
        int got = read_available(conn, err);
        if (got <= 0)
            return got;
    }
    unsigned char *head = conn->in + conn->in_at;
    size_t bytes = NT_FRAME_HEAD_BYTES + (size_t)found.payload_bytes;
    if (conn->in_key.is_set && !is_tag_right(&conn->in_key, head, bytes, head + bytes))
        return nt_err_set(
            err, NT_ERR_INPUT,
            "frame: wrong tag, so that it was altered, repeated or injected on the way");
    *frame = found;
    *payload = head + NT_FRAME_HEAD_BYTES;
    conn->in_at += bytes + tag_bytes(&conn->in_key);
    return 1;
}

int nt_conn_flush(struct nt_conn *conn, struct nt_err *err)
{
    while (conn->out_at < conn->out_end) {
        ssize_t sent =
            send(conn->fd, conn->out + conn->out_at, conn->out_end - conn->out_at, MSG_NOSIGNAL);
        if (sent > 0) {
            conn->out_at += (size_t)sent;
            conn->progress_at = nt_clock_s();
            continue;
        }
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        return nt_err_set(err, NT_ERR_INPUT, "connection failed: %s", strerror(errno));
    }
    conn->out_at = conn->out_end = 0;
    return 0;
}

/* Makes room for more bytes at out_end, within queue_max. */
static int reserve_output(struct nt_conn *conn, size_t more, struct nt_err *err)
{
    size_t queued = conn->out_end - conn->out_at;
    if (more > conn->queue_max || queued > conn->queue_max - more)
        return nt_err_set(err, NT_ERR_INPUT, "the peer does not read, %zu bytes are queued",
                          queued);
    if (conn->out_capacity - conn->out_end >= more)
        return 0;
    if (queued > 0)
        memmove(conn->out, conn->out + conn->out_at, queued);
    conn->out_at = 0;
    conn->out_end = queued;
    if (conn->out_capacity - queued >= more)
        return 0;
    size_t room = queued + more;
    room = room < conn->queue_max / 2 ? room * 2 : conn->queue_max;
    unsigned char *out = realloc(conn->out, room);
    if (out == NULL)
        return nt_err_memory(err);
    conn->out = out;
    conn->out_capacity = room;
    return 0;
}

static int append_frame(struct nt_conn *conn, const struct nt_frame *frame, const void *payload,
                        struct nt_err *err)
{
    if (conn->fd < 0)
        return nt_err_set(err, NT_ERR_INPUT, "connection closed");
    if (frame->payload_bytes > NT_FRAME_PAYLOAD_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "frame: payload of %u bytes", frame->payload_bytes);
    size_t bytes = NT_FRAME_HEAD_BYTES + (size_t)frame->payload_bytes;
    if (reserve_output(conn, bytes + tag_bytes(&conn->out_key), err) != 0)
        return -1;
    if (conn->out_at == conn->out_end)
        conn->progress_at = nt_clock_s();
    unsigned char *head = conn->out + conn->out_end;
    nt_frame_encode(frame, head);
    if (frame->payload_bytes > 0)
        memcpy(head + NT_FRAME_HEAD_BYTES, payload, frame->payload_bytes);
    if (conn->out_key.is_set)
        make_tag(&conn->out_key, head, bytes, head + bytes);
    conn->out_end += bytes + tag_bytes(&conn->out_key);
    return 0;
}

int nt_conn_send(struct nt_conn *conn, const struct nt_frame *frame, const void *payload,
                 struct nt_err *err)
{
    return append_frame(conn, frame, payload, err) == 0 ? nt_conn_flush(conn, err) : -1;
}

int nt_conn_queue(struct nt_conn *conn, const struct nt_frame *frame, const void *payload,
                  struct nt_err *err)
{
    if (append_frame(conn, frame, payload, err) != 0)
        return -1;
    return nt_conn_queued(conn) < FLUSH_BYTES ? 0 : nt_conn_flush(conn, err);
}

size_t nt_conn_queued(const struct nt_conn *conn)
{
    return conn->out_end - conn->out_at;
}
