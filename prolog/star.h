/* Proven members below an agent: a connection to each, one text for all or one for one.
 *
 * Hosts are numbers as in the job's list; me is the one that this agent is on and never
 * connected. Memory is touched only for hosts that come, but small flags a host. */
#ifndef NT_STAR_H
#define NT_STAR_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "conn.h"
#include "err.h"

struct nt_star {
    size_t hosts, me;
    struct nt_conn *conn; /* per host, of use only when it was here; owned */
    bool *was_here;       /* per host; owned */
    bool *ready;          /* per host: may have said something; owned */
    size_t *order;        /* the hosts that are here, in the order of nt_star_polls; owned */
    size_t here;
    size_t joined, dropped; /* how many ever */
    bool is_full;           /* NT_QUEUE_HIGH waits for one of them */
};

int nt_star_init(struct nt_star *star, size_t hosts, size_t me, struct nt_err *err);
void nt_star_fini(struct nt_star *star);

/* Takes over a proven connection; false (and it is closed) when that host was here already. */
bool nt_star_join(struct nt_star *star, size_t host, struct nt_conn *conn, size_t payload_max,
                  size_t queue_max);

void nt_star_drop(struct nt_star *star, size_t host);

/* Fills polls (at least star->here) and returns how many; reads only when read is true. */
size_t nt_star_polls(const struct nt_star *star, bool read, struct pollfd *polls);

/* What poll said of them, with nobody joined or dropped meanwhile. */
void nt_star_heed(struct nt_star *star, const struct pollfd *polls);

bool nt_star_has(const struct nt_star *star, size_t host);

/* Whether a host was here and is no more. */
bool nt_star_has_lost(const struct nt_star *star, size_t host);

/* One frame to everyone who is here; who cannot take it is dropped. */
void nt_star_cast(struct nt_star *star, const struct nt_frame *frame, const void *payload);

/* One frame to one who is here, who is dropped when he cannot take it. Leaves with the next
 * nt_star_flush at the latest: many small ones go together. */
void nt_star_send(struct nt_star *star, size_t host, const struct nt_frame *frame,
                  const void *payload);

/* Sends what waits. Drops who is gone or has taken nothing for stall_s. */
void nt_star_flush(struct nt_star *star, double stall_s);

/* Says to everyone for whom nothing waits any more that nothing will follow. */
void nt_star_close_out(struct nt_star *star);

#endif
