/* The leader's proven members: a connection to each, one text for all.
 *
 * Hosts are numbers as in the job's list; 0 is the leader itself and never connected. A tree
 * would put a star under each block's leader; nothing here knows how many hosts a job has above
 * those it was made for. */
#ifndef NT_STAR_H
#define NT_STAR_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "conn.h"
#include "err.h"

struct nt_star {
    size_t hosts;
    struct nt_conn *conn; /* per host; fd -1: not here; owned */
    bool *was_here;       /* per host; owned */
    size_t *order;        /* the hosts that are here, in the order of nt_star_polls; owned */
    size_t here;
    size_t joined, dropped; /* how many ever */
};

int nt_star_init(struct nt_star *star, size_t hosts, struct nt_err *err);
void nt_star_fini(struct nt_star *star);

/* Takes over a proven connection; false (and it is closed) when that host was here already. */
bool nt_star_join(struct nt_star *star, size_t host, struct nt_conn *conn, size_t payload_max,
                  size_t queue_max);

void nt_star_drop(struct nt_star *star, size_t host);

/* Fills polls (at least star->here) and returns how many; reads only when read is true. */
size_t nt_star_polls(const struct nt_star *star, bool read, struct pollfd *polls);

/* One frame to everyone who is here; who cannot take it is dropped. */
void nt_star_cast(struct nt_star *star, const struct nt_frame *frame, const void *payload);

/* Whether a host was here and is no more. */
bool nt_star_has_lost(const struct nt_star *star, size_t host);

/* Sends what waits. Drops who is gone or has taken nothing for stall_s. */
void nt_star_flush(struct nt_star *star, double stall_s);

/* The longest queue, in bytes. */
size_t nt_star_queued(const struct nt_star *star);

#endif
