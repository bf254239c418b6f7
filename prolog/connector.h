/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a member to its leader. Tries all candidate ports on all addresses of the leader at the
 * same time and authenticates in both directions (auth.h) with the listeners that send the HELLO of
 * this job. The first listener that proves to be the leader becomes the connection; the others are
 * closed.
 *
 * Other jobs' leaders, unrelated services and processes that imitate a leader may listen on the
 * same ports, and an address may drop packets. None of them delays the connection to the real
 * leader. A failed attempt is repeated after a random pause that grows to RETRY_MAX_S.
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
    NT_ATTEMPT_PAUSED,      /* until the next attempt */
    NT_ATTEMPT_CONNECTING,  /* TCP connect in progress */
    NT_ATTEMPT_AWAIT_HELLO, /* waits for the leader's HELLO */
    NT_ATTEMPT_HAS_HELLO,   /* has the HELLO; another listener gets a proof first */
    NT_ATTEMPT_AWAIT_PROOF, /* own proof is sent; waits for the leader's */
};

/* The attempt to connect to one port on one address. */
struct nt_attempt {
    enum nt_attempt_state state;
    uint16_t port;
    size_t address;
    struct nt_conn conn;
    double state_until; /* when this state times out */
    double retry_s;     /* the pause after the next failure */
    unsigned proofs;    /* number of proofs sent to it */
    unsigned char leader_nonce[NT_NONCE_BYTES], member_nonce[NT_NONCE_BYTES];
    unsigned char secret[NT_SECRET_BYTES]; /* secret in the proof that was sent */
};

enum { NT_CONNECTOR_ATTEMPTS = NT_ADDRESSES_MAX * NT_PORT_TRIES };

struct nt_connector {
    const struct nt_job *job;   /* borrowed */
    const struct nt_conf *conf; /* borrowed */
    const struct nt_client
        *client;      /* borrowed: creates this host's proofs and checks the leader's */
    size_t leader;    /* its index in the job's host list */
    uint32_t version; /* nt_auth_version of this agent */
    struct nt_addresses addresses;
    size_t attempts; /* 0: nothing to connect to */
    struct nt_attempt attempt[NT_CONNECTOR_ATTEMPTS];
    double next_proof_at;     /* earliest time of the next proof */
    uint64_t random;          /* state of the random numbers for the pauses */
    bool leader_found;        /* the leader's HELLO arrived, so last_error is about the leader */
    struct nt_err last_error; /* of the last attempt that failed */
};

/* Prepares the attempts. addresses: the leader's, copied. */
void nt_connector_init(struct nt_connector *connector, const struct nt_conf *conf,
                       const struct nt_job *job, const struct nt_client *client, size_t leader,
                       const struct nt_addresses *addresses);
/* Closes all attempts. Does nothing if all fields are zero. */
void nt_connector_fini(struct nt_connector *connector);

/* Fills polls (room for NT_CONNECTOR_ATTEMPTS), sets *count to their number, and returns the latest
 * time for the next call of nt_connector_step (nt_clock_s). */
double nt_connector_pollfds(const struct nt_connector *connector, struct pollfd *polls,
                            size_t *count);

/* Returns 1 if *conn is the authenticated connection, which the caller owns; all others are closed.
 * Returns 0 if there is none yet. */
int nt_connector_step(struct nt_connector *connector, struct nt_conn *conn);

#endif
