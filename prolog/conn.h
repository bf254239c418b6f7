/* A connection that carries frames, without ever blocking.
 *
 * What comes in is bounded by payload_max, what waits to go out by queue_max: a peer that floods
 * or does not read costs at most these and is then the caller's to drop. Knows nothing of what
 * the frames mean. */
#ifndef NT_CONN_H
#define NT_CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "frame.h"

/* For peers that have proved themselves. */
enum {
    NT_QUEUE_HIGH = 256 * 1024, /* when so much waits for a peer, its sources are not read */
    NT_QUEUE_MAX = NT_QUEUE_HIGH + 2 * (NT_FRAME_HEAD_BYTES + NT_FRAME_PAYLOAD_MAX),
};

struct nt_conn {
    int fd; /* owned; -1: none */
    size_t payload_max, queue_max;
    unsigned char *in; /* NT_FRAME_HEAD_BYTES + payload_max */
    size_t in_at, in_end;
    unsigned char *out; /* grows to queue_max */
    size_t out_at, out_end, out_capacity;
    double progress_at; /* when bytes last went out, or the queue last began */
};

/* Takes over fd (also on error, when it is closed) and makes it non-blocking. */
int nt_conn_init(struct nt_conn *conn, int fd, size_t payload_max, size_t queue_max,
                 struct nt_err *err);

/* Closes it. A conn that is all zero with fd = -1, or was closed already, is fine. */
void nt_conn_fini(struct nt_conn *conn);

/* New bounds for a peer that has proved itself; only upwards. */
int nt_conn_raise_limits(struct nt_conn *conn, size_t payload_max, size_t queue_max,
                         struct nt_err *err);

bool nt_conn_is_open(const struct nt_conn *conn);

/* The next whole frame: 1 with *frame and *payload (valid until the next call), 0 when there is
 * none yet, -1 (NT_ERR_INPUT) when the peer closed, broke off or sent what is no frame of at most
 * payload_max. Reads from fd as needed. */
int nt_conn_next(struct nt_conn *conn, struct nt_frame *frame, const unsigned char **payload,
                 struct nt_err *err);

/* Queues one frame (frame->payload_bytes of payload) and sends what the peer takes at once.
 * -1 when the queue would pass its bound or the peer is gone. */
int nt_conn_send(struct nt_conn *conn, const struct nt_frame *frame, const void *payload,
                 struct nt_err *err);

/* The same, but sends only once much waits; nt_conn_flush is the caller's to call. */
int nt_conn_queue(struct nt_conn *conn, const struct nt_frame *frame, const void *payload,
                  struct nt_err *err);

/* Sends of the queue what the peer takes now. */
int nt_conn_flush(struct nt_conn *conn, struct nt_err *err);

/* Bytes that wait to go out. */
size_t nt_conn_queued(const struct nt_conn *conn);

#endif
