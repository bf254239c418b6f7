/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a member to its leader: tries the candidate ports on the leader's addresses in turn
 * until one sends the HELLO of this job, then authenticates in both directions (auth.h).
 *
 * Other jobs' leaders and unrelated services may listen on the same ports: a candidate that does
 * not send the right HELLO in time is skipped, and tried again in the next round.
 * Tests: test_listener.c. */
#ifndef NT_CONNECTOR_H
#define NT_CONNECTOR_H

#include <poll.h>
#include <stddef.h>

#include "auth.h"
#include "conf.h"
#include "conn.h"
#include "err.h"
#include "job.h"

enum nt_connector_state {
    NT_CONNECTOR_PAUSED,      /* between candidates or rounds */
    NT_CONNECTOR_CONNECTING,  /* TCP connect */
    NT_CONNECTOR_AWAIT_HELLO, /* from the leader */
    NT_CONNECTOR_AWAIT_PROOF, /* of the leader; ours is sent */
};

struct nt_connector {
    const struct nt_job *job;   /* borrowed */
    const struct nt_conf *conf; /* borrowed */
    size_t leader;              /* its index in the job's host list */
    struct nt_addresses addresses;
    size_t candidate; /* address and port that are tried: addresses.count * nt_port_count of them */
    enum nt_connector_state state;
    struct nt_conn conn;
    double state_until;     /* when this state times out */
    double hello_timeout_s; /* doubles from round to round */
    uint16_t port;
    unsigned char leader_nonce[NT_NONCE_BYTES], member_nonce[NT_NONCE_BYTES];
    bool leader_found;        /* the HELLO of our leader came: last_error is about it */
    struct nt_err last_error; /* of the last attempt */
};

/* addresses: of the leader, copied. */
void nt_connector_init(struct nt_connector *connector, const struct nt_conf *conf,
                       const struct nt_job *job, size_t leader,
                       const struct nt_addresses *addresses);
void nt_connector_fini(struct nt_connector *connector);

/* Fills one pollfd (fd -1 for none) and returns when to call nt_connector_step at the latest. */
double nt_connector_pollfd(const struct nt_connector *connector, struct pollfd *poll);

/* 1: *conn is the authenticated connection and the caller's; 0: not yet. */
int nt_connector_step(struct nt_connector *connector, struct nt_conn *conn);

#endif
