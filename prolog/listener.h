/* A leader's door (of a job, or of a block of its hosts): a listening port out of the configured
 * range, and those who stand before it until they have proved who they are.
 *
 * Whoever connects gets a HELLO and little time. There are few places before the door; when all
 * are taken the one who waited longest goes as soon as he could have proved himself, so that
 * idlers cannot keep honest hosts out, and many honest ones at once do not push each other out. */
#ifndef NT_LISTENER_H
#define NT_LISTENER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "auth.h"
#include "conf.h"
#include "conn.h"
#include "err.h"
#include "job.h"

/* LOOK_MS: whoever polls looks at least so often: idlers, members that stall and a door that
 * rests wake nobody. */
enum {
    NT_LISTENER_POLL_MS = 100,
    NT_LISTENER_PENDING_MAX = 64,
    NT_LISTENER_POLLFDS = NT_LISTENER_PENDING_MAX + 1,
    NT_PORT_TRIES = 8
};

struct nt_pending {
    struct nt_conn conn;
    unsigned char nonce[NT_NONCE_BYTES];
    double connected_at;
};

struct nt_listener {
    int fd; /* -1: closed */
    uint16_t port;
    const struct nt_job *job;   /* borrowed */
    const struct nt_conf *conf; /* borrowed */
    size_t pending_count;
    struct nt_pending pending[NT_LISTENER_PENDING_MAX];
    double paused_until;      /* nobody is let in: there was no file for one more */
    unsigned refused;         /* how many did not prove themselves */
    struct nt_err last_error; /* why the last of them */
};

/* The k-th port (k < nt_port_count) that a job's leader tries and its members look at. */
size_t nt_port_count(const struct nt_conf *conf);
uint16_t nt_port_candidate(const struct nt_conf *conf, uint32_t job, size_t k);

/* Listens on the first candidate that is free. */
int nt_listener_open(struct nt_listener *listener, const struct nt_conf *conf,
                     const struct nt_job *job, struct nt_err *err);
void nt_listener_fini(struct nt_listener *listener);

/* Fills polls (at least NT_LISTENER_POLLFDS) and returns how many. */
size_t nt_listener_pollfds(const struct nt_listener *listener, struct pollfd *polls);

/* Lets in who waits and listens to who is there. 1: host number *host has proved itself and
 * *conn is now the caller's; call again until 0. Never fails for what a guest does. */
int nt_listener_step(struct nt_listener *listener, size_t *host, struct nt_conn *conn);

#endif
