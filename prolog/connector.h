/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a member to its leader: tries all candidate ports on all addresses of the leader at the
 * same time, and authenticates in both directions (auth.h) with those that send the HELLO of this
 * job. The first that proves to be the leader is the connection, the others are closed.
 *
 * Other jobs' leaders, unrelated services and whoever imitates a leader may listen on the same
 * ports, and an address may drop packets: none of them delays the leader's own port. What fails is
 * tried again after a random time that grows to RETRY_MAX_S.
 * Tests: test_connector.c, test_listener.c. */
#ifndef NT_CONNECTOR_H
#define NT_CONNECTOR_H

#include <poll.h>
#include <stddef.h>

#include "client.h"
#include "conf.h"
#include "conn.h"
#include "err.h"
#include "job.h"
#include "listener.h"

enum nt_attempt_state {
    NT_ATTEMPT_PAUSED,      /* until it is tried again */
    NT_ATTEMPT_CONNECTING,  /* TCP connect */
    NT_ATTEMPT_AWAIT_HELLO, /* from the leader */
    NT_ATTEMPT_HAS_HELLO,   /* our proof waits for that to another */
    NT_ATTEMPT_AWAIT_PROOF, /* of the leader; ours is sent */
};

/* One port on one address. */
struct nt_attempt {
    enum nt_attempt_state state;
    uint16_t port;
    size_t address;
    struct nt_conn conn;
    double state_until; /* when this state times out */
    double retry_s;     /* the pause after the next failure */
    unsigned proofs;    /* that were sent to it */
    unsigned char leader_nonce[NT_NONCE_BYTES], member_nonce[NT_NONCE_BYTES];
    unsigned char secret[NT_SECRET_BYTES]; /* in our proof */
};

enum { NT_CONNECTOR_ATTEMPTS = NT_ADDRESSES_MAX * NT_PORT_TRIES };

struct nt_connector {
    const struct nt_job *job;       /* borrowed */
    const struct nt_conf *conf;     /* borrowed */
    const struct nt_client *client; /* borrowed: makes our proofs and checks the leader's */
    size_t leader;                  /* its index in the job's host list */
    uint32_t version;               /* ours, nt_auth_version */
    struct nt_addresses addresses;
    size_t attempts; /* 0: nothing to connect to */
    struct nt_attempt attempt[NT_CONNECTOR_ATTEMPTS];
    double next_proof_at;     /* before, no other proof is made */
    uint64_t random;          /* state of the pauses' random numbers */
    bool leader_found;        /* the HELLO of our leader came: last_error is about it */
    struct nt_err last_error; /* of the last attempt that failed */
};

/* addresses: of the leader, copied. */
void nt_connector_init(struct nt_connector *connector, const struct nt_conf *conf,
                       const struct nt_job *job, const struct nt_client *client, size_t leader,
                       const struct nt_addresses *addresses);
/* Fine for one that is all zero. */
void nt_connector_fini(struct nt_connector *connector);

/* Fills polls (room for NT_CONNECTOR_ATTEMPTS), sets *count to how many, and returns when to call
 * nt_connector_step at the latest. */
double nt_connector_pollfds(const struct nt_connector *connector, struct pollfd *polls,
                            size_t *count);

/* 1: *conn is the authenticated connection and the caller's, all others are closed; 0: not yet. */
int nt_connector_step(struct nt_connector *connector, struct nt_conn *conn);

#endif
