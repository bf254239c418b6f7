/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket of a leader of a job or block, on a port of the configured range, and its
 * pending connections, which are not authenticated yet. Does not read what authenticated members
 * send.
 *
 * A new connection gets a HELLO and has a second to authenticate (auth.h). At most
 * NT_LISTENER_PENDING_MAX connections are pending. If all slots are taken, a connection from an
 * address with few slots takes one from the address with the most slots, so that one machine cannot
 * keep members out, however fast it connects, nor can several: of fewer than 64 addresses one has
 * two slots. So the job's hosts need no slots of their own, for which every job would look up all
 * its addresses, and translated addresses would not match. Otherwise the oldest connection is
 * closed after an honest peer would have had time to authenticate. So idle connections cannot keep
 * members out, and many members that connect at the same time do not evict each other. A connection
 * that does not come from a reserved port gets no slot (ports.h), so that an ordinary user can
 * neither fill the slots nor cause credentials to be decoded.
 *
 * It listens on all addresses of all network devices, or of the device that the administrator
 * names. The addresses that members can reach are not known here, and Slurm's NodeAddr may be
 * translated.
 * Tests: test_listener.c. */
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

/* POLL_MS: the longest sleep in poll while a listener is open, because poll does not report
 * timeouts of pending connections, of stalled members and of a paused listener. */
enum {
    NT_LISTENER_POLL_MS = 100,
    NT_LISTENER_PENDING_MAX = 64,
    NT_LISTENER_POLLFDS = NT_LISTENER_PENDING_MAX + 1
};

struct nt_pending {
    struct nt_conn conn;
    unsigned char
        source[16]; /* its address; for IPv6 the first 64 bits, which belong to one machine */
    unsigned char nonce[NT_NONCE_BYTES];
    double connected_at;
};

struct nt_listener {
    int fd; /* -1: closed */
    uint16_t port;
    uint32_t version;               /* nt_auth_version of this agent */
    const struct nt_job *job;       /* borrowed */
    const struct nt_conf *conf;     /* borrowed */
    const struct nt_client *client; /* borrowed: checks proofs and creates this host's */
    size_t pending_count;
    struct nt_pending pending[NT_LISTENER_PENDING_MAX];
    /* No accept until then (nt_clock_s): it failed for lack of descriptors or memory */
    double paused_until;
    unsigned strangers;       /* number of connections closed because their port is not reserved */
    unsigned refused;         /* number of connections that did not authenticate */
    struct nt_err last_error; /* error of the last one */
};

/* Listens on the first free candidate port. conf, job and client stay borrowed until
 * nt_listener_fini. -1, NT_ERR_SYSTEM: no port could be opened. */
int nt_listener_open(struct nt_listener *listener, const struct nt_conf *conf,
                     const struct nt_job *job, const struct nt_client *client, struct nt_err *err);
void nt_listener_fini(struct nt_listener *listener);

/* Fills polls (room for NT_LISTENER_POLLFDS) and returns their number. */
size_t nt_listener_pollfds(const struct nt_listener *listener, struct pollfd *polls);

/* Reads from the pending connections until one has sent a proof, and checks the proof. Without a
 * proof, accepts new connections. Returns 1 if the member with index *host has authenticated; the
 * caller owns *conn. Returns 0 otherwise, also after an invalid proof. Call again when poll reports
 * an event. */
int nt_listener_step(struct nt_listener *listener, size_t *host, struct nt_conn *conn);

#endif
