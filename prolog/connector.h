/* A member looks for its leader: it goes round the candidate ports of the leader's addresses
 * until one says the HELLO of our job, proves itself there and lets the leader prove itself.
 *
 * Other jobs' leaders, and whoever else listens on those ports, are met on the way and left. */
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
    NT_CONNECTOR_PAUSED,
    NT_CONNECTOR_CONNECTING,
    NT_CONNECTOR_AWAIT_HELLO,
    NT_CONNECTOR_AWAIT_PROOF
};

struct nt_connector {
    const struct nt_job *job;   /* borrowed */
    const struct nt_conf *conf; /* borrowed */
    size_t leader;              /* which host of the job it looks for */
    struct nt_addresses addresses;
    size_t candidate; /* which candidate */
    enum nt_connector_state state;
    struct nt_conn conn;
    double state_until;     /* of this state */
    double hello_timeout_s; /* for a HELLO; grows from round to round */
    uint16_t port;
    unsigned char leader_nonce[NT_NONCE_BYTES], member_nonce[NT_NONCE_BYTES];
    bool leader_found;        /* our leader was there, so last is worth telling */
    struct nt_err last_error; /* why it did not work the last time */
};

/* addresses: of the leader. */
void nt_connector_init(struct nt_connector *connector, const struct nt_conf *conf,
                       const struct nt_job *job, size_t leader,
                       const struct nt_addresses *addresses);
void nt_connector_fini(struct nt_connector *connector);

/* What to wait for: fills one pollfd (fd -1 for none) and returns until when at most. */
double nt_connector_pollfd(const struct nt_connector *connector, struct pollfd *poll);

/* 1: *conn leads to the leader and is the caller's; 0: not yet. */
int nt_connector_step(struct nt_connector *connector, struct nt_conn *conn);

#endif
