/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket of a leader (of a job, or of a block of its hosts), on a port of the
 * configured range, and the pending connections that are not authenticated yet.
 *
 * A new connection gets a HELLO and has a second to authenticate (auth.h). At most
 * NT_LISTENER_PENDING_MAX connections are pending. When all slots are taken, a connection from an
 * address with few slots takes one from the address with the most, so that one machine cannot keep
 * members out, however fast it connects. Otherwise the oldest one is closed once it has had time
 * for an honest peer to authenticate: idle connections cannot keep members out, and many members
 * that connect at once do not evict each other. A connection that
 * does not come from a reserved port gets no slot at all (ports.h), so that an ordinary user
 * can neither fill the slots nor have credentials decoded.
 *
 * It listens on all addresses, of all network devices or of the one that the administrator names:
 * which of them the members reach is not known here, and Slurm's NodeAddr may be one that is
 * translated. */
#ifndef NT_LISTENER_H
#define NT_LISTENER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "client.h"
#include "conf.h"
#include "conn.h"
#include "err.h"
#include "job.h"
#include "ports.h"

/* POLL_MS: the longest sleep in poll while a listener is open. Timeouts of pending connections, of
 * stalled members and of a paused listener are no events that poll reports. */
enum {
    NT_LISTENER_POLL_MS = 100,
    NT_LISTENER_PENDING_MAX = 64,
    NT_LISTENER_POLLFDS = NT_LISTENER_PENDING_MAX + 1
};

struct nt_pending {
    struct nt_conn conn;
    unsigned char source[16]; /* its address; of IPv6 the first 64 bits, which one machine has */
    unsigned char nonce[NT_NONCE_BYTES];
    double connected_at;
};

struct nt_listener {
    int fd; /* -1: closed */
    uint16_t port;
    uint32_t version;               /* ours, nt_auth_version */
    const struct nt_job *job;       /* borrowed */
    const struct nt_conf *conf;     /* borrowed */
    const struct nt_client *client; /* borrowed: checks proofs and makes ours */
    size_t pending_count;
    struct nt_pending pending[NT_LISTENER_PENDING_MAX];
    double paused_until;      /* accept failed for lack of descriptors or memory */
    unsigned strangers;       /* connections from other than reserved ports: closed at once */
    unsigned refused;         /* connections that did not authenticate */
    struct nt_err last_error; /* of the last of them */
};

/* Listens on the first candidate port that is free. conf, job and client stay borrowed. */
int nt_listener_open(struct nt_listener *listener, const struct nt_conf *conf,
                     const struct nt_job *job, const struct nt_client *client, struct nt_err *err);
void nt_listener_fini(struct nt_listener *listener);

/* Fills polls (room for NT_LISTENER_POLLFDS) and returns how many. */
size_t nt_listener_pollfds(const struct nt_listener *listener, struct pollfd *polls);

/* Reads from the pending connections up to the first proof, which is checked; when there is none,
 * accepts others. 1: the member with index *host has authenticated and *conn is the caller's. Poll
 * tells whether there is more to do. A misbehaving peer is no error. */
int nt_listener_step(struct nt_listener *listener, size_t *host, struct nt_conn *conn);

#endif
