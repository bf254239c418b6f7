/* SPDX-License-Identifier: Apache-2.0 */
/* A non-blocking connection that carries frames.
 *
 * Input is bounded by payload_max, the output queue by queue_max: a peer that floods or does not
 * read costs at most this much memory, then the calls fail and the caller closes the connection.
 * This module does not interpret the payload of frames.
 *
 * Each frame between two agents carries a tag: a keyed hash (BLAKE2b, RFC 7693) of the number of
 * earlier frames, the header and the payload. Each direction has its own key. A frame that was
 * altered, injected, repeated, reordered or reflected, or that follows a removed one, has another
 * tag than the receiver expects. The hash is libsodium's: MUNGE's library has none, and OpenSSL's
 * is a large part of a process that runs as root. Only conn.c uses libsodium. */
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
    uint64_t frames; /* tagged or checked so far */
};

/* From the secrets that both sides put into their credentials. name: of the direction, as in the
 * claim. */
void nt_frame_key_derive(const unsigned char member_secret[NT_SECRET_BYTES],
                         const unsigned char leader_secret[NT_SECRET_BYTES], const char *name,
                         struct nt_frame_key *key);

/* The tag of the next frame: head and payload in one piece. */
void nt_frame_key_tag(struct nt_frame_key *key, const unsigned char *frame, size_t bytes,
                      unsigned char tag[NT_TAG_BYTES]);

/* Whether this is the tag of the next frame. */
bool nt_frame_key_check(struct nt_frame_key *key, const unsigned char *frame, size_t bytes,
                        const unsigned char tag[NT_TAG_BYTES]);

/* For authenticated peers. */
enum {
    NT_QUEUE_HIGH = 256 * 1024, /* from here on the sources of these frames are not read */
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
    double progress_at; /* when bytes were last sent, or the queue was last empty */
};

/* Takes over fd and makes it non-blocking; on error fd is closed. */
int nt_conn_init(struct nt_conn *conn, int fd, size_t payload_max, size_t queue_max,
                 struct nt_err *err);

/* Closes it. Fine for one that is all zero with fd = -1, or closed already. */
void nt_conn_fini(struct nt_conn *conn);

/* Raises the limits, once the peer is authenticated. */
int nt_conn_raise_limits(struct nt_conn *conn, size_t payload_max, size_t queue_max,
                         struct nt_err *err);

/* From now on every frame carries a tag, those that are sent of one key, those that come of the
 * other. */
void nt_conn_set_keys(struct nt_conn *conn, const struct nt_frame_key *out,
                      const struct nt_frame_key *in);

bool nt_conn_is_open(const struct nt_conn *conn);

/* The next complete frame: 1 with *frame and *payload (valid until the next call), 0 when there is
 * none yet, -1 (NT_ERR_INPUT) when the connection is closed or broken or the peer sent no valid
 * frame of at most payload_max, or one whose tag is not that of its next frame. Reads from fd as
 * needed. */
int nt_conn_next(struct nt_conn *conn, struct nt_frame *frame, const unsigned char **payload,
                 struct nt_err *err);

/* Queues one frame (frame->payload_bytes of payload) and sends what the socket accepts.
 * -1 when the queue is full or the connection closed. */
int nt_conn_send(struct nt_conn *conn, const struct nt_frame *frame, const void *payload,
                 struct nt_err *err);

/* The same, but sends only once much is queued; the caller calls nt_conn_flush. */
int nt_conn_queue(struct nt_conn *conn, const struct nt_frame *frame, const void *payload,
                  struct nt_err *err);

/* Sends of the queue what the socket accepts. */
int nt_conn_flush(struct nt_conn *conn, struct nt_err *err);

/* Queued bytes. */
size_t nt_conn_queued(const struct nt_conn *conn);

#endif
