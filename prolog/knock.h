/* A member looks for its leader: it goes round the candidate ports of the leader's addresses
 * until one says the HELLO of our job, proves itself there and lets the leader prove itself.
 *
 * Other jobs' leaders, and whoever else listens on those ports, are met on the way and left. */
#ifndef NT_KNOCK_H
#define NT_KNOCK_H

#include <poll.h>
#include <stddef.h>

#include "auth.h"
#include "conf.h"
#include "conn.h"
#include "err.h"
#include "job.h"

enum nt_knock_state { NT_KNOCK_REST, NT_KNOCK_CONNECTING, NT_KNOCK_HELLO, NT_KNOCK_PROOF };

struct nt_knock {
    const struct nt_job *job;   /* borrowed */
    const struct nt_conf *conf; /* borrowed */
    size_t leader;              /* which host of the job it looks for */
    struct nt_addresses addresses;
    size_t at; /* which candidate */
    enum nt_knock_state state;
    struct nt_conn conn;
    double until;      /* of this state */
    double patience_s; /* for a HELLO; grows from round to round */
    uint16_t port;
    unsigned char leader_nonce[NT_NONCE_BYTES], member_nonce[NT_NONCE_BYTES];
    bool met;           /* our leader was there, so last is worth telling */
    struct nt_err last; /* why it did not work the last time */
};

/* addresses: of the leader. */
void nt_knock_init(struct nt_knock *knock, const struct nt_conf *conf, const struct nt_job *job,
                   size_t leader, const struct nt_addresses *addresses);
void nt_knock_fini(struct nt_knock *knock);

/* What to wait for: fills one pollfd (fd -1 for none) and returns until when at most. */
double nt_knock_poll(const struct nt_knock *knock, struct pollfd *poll);

/* 1: *conn leads to the leader and is the caller's; 0: not yet. */
int nt_knock_step(struct nt_knock *knock, struct nt_conn *conn);

#endif
