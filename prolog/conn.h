/* SPDX-License-Identifier: Apache-2.0 */
/* A non-blocking connection that carries frames (base/frame.h). Does not interpret the payload of a
 * frame.
 *
 * Input is limited to payload_max and the output queue to queue_max. A peer that floods or does not
 * read costs at most this much memory; then the calls fail and the caller closes the connection.
 *
 * Each frame between two agents carries a tag: a keyed hash (BLAKE2b, RFC 7693) of the number of
 * earlier frames, the header and the payload. Each direction has its own key. A frame that was
 * altered, injected, repeated, reordered or reflected, or that follows a removed one, has another
 * tag than the receiver expects. The hash is from libsodium, which only conn.c uses: MUNGE's
 * library has none, and OpenSSL's is large for a process that runs as root. */
#ifndef NT_CONN_H
#define NT_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "frame.h"

enum { NT_SECRET_BYTES = 32, NT_TAG_BYTES = 16 };

struct nt_frame_key {
    bool is_set;
    unsigned char key[32];
    uint64_t frames; /* number of frames tagged or checked so far */
};

/* Derives a key from the secrets in the credentials of both sides. name: the name of the direction,
 * as in the claim (auth.h). */
void nt_frame_key_derive(const unsigned char member_secret[NT_SECRET_BYTES],
                         const unsigned char leader_secret[NT_SECRET_BYTES], const char *name,
                         struct nt_frame_key *key);

/* Limits in bytes for authenticated peers. */
enum {
    NT_QUEUE_HIGH = 256 * 1024, /* above this the sources of these frames are not read */
    NT_QUEUE_MAX = NT_QUEUE_HIGH + 2 * (NT_FRAME_HEAD_BYTES + NT_FRAME_PAYLOAD_MAX + NT_TAG_BYTES),
};

struct nt_conn {
    int fd; /* owned; -1: none */
    size_t payload_max, queue_max;
    struct nt_frame_key in_key, out_key; /* not set: frames have no tags */
    unsigned char *in;                   /* NT_FRAME_HEAD_BYTES + payload_max + NT_TAG_BYTES */
    size_t in_at, in_end;
    unsigned char *out; /* grows to queue_max */
    size_t out_at, out_end, out_capacity;
    double progress_at; /* when bytes were last sent, or the queue was last empty (nt_clock_s) */
};

/* Takes ownership of fd and makes it non-blocking. Closes fd on error. */
int nt_conn_init(struct nt_conn *conn, int fd, size_t payload_max, size_t queue_max,
                 struct nt_err *err);

/* Closes the connection. Does nothing if fd is -1 and everything else zero, or if it is closed
 * already. */
void nt_conn_fini(struct nt_conn *conn);

/* Raises the limits after the peer has been authenticated. */
int nt_conn_raise_limits(struct nt_conn *conn, size_t payload_max, size_t queue_max,
                         struct nt_err *err);

/* From now on every frame carries a tag: sent frames with key out, received frames with key in. */
void nt_conn_set_keys(struct nt_conn *conn, const struct nt_frame_key *out,
                      const struct nt_frame_key *in);

bool nt_conn_is_open(const struct nt_conn *conn);

/* Returns 1 with the next complete frame in *frame and *payload (valid until the next call), or 0
 * if there is none yet. Reads from fd as needed. -1 (NT_ERR_INPUT) if the connection is closed or
 * broken, or if the peer sent an invalid frame, a payload over payload_max or a wrong tag. */
int nt_conn_next(struct nt_conn *conn, struct nt_frame *frame, const unsigned char **payload,
                 struct nt_err *err);

/* Queues a frame with frame->payload_bytes of payload and sends as much of the queue as the socket
 * accepts. -1 if the queue is full or the connection is closed. */
int nt_conn_send(struct nt_conn *conn, const struct nt_frame *frame, const void *payload,
                 struct nt_err *err);

/* Queues a frame as nt_conn_send does, but sends only if the queue is long. The caller calls
 * nt_conn_flush. */
int nt_conn_queue(struct nt_conn *conn, const struct nt_frame *frame, const void *payload,
                  struct nt_err *err);

/* Sends as much of the queue as the socket accepts. -1 if the connection is broken. */
int nt_conn_flush(struct nt_conn *conn, struct nt_err *err);

/* Returns the number of queued bytes. */
size_t nt_conn_queued(const struct nt_conn *conn);

#endif
