/* Proven members below an agent: a connection to each, one text for all or one for one.
 *
 * Hosts are numbers as in the job's list; me is the one that this agent is on and never
 * connected. Memory is touched only for hosts that come, but small flags a host. */
#ifndef NT_CHILDREN_H
#define NT_CHILDREN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "conn.h"
#include "err.h"

struct nt_children {
    size_t hosts, self;
    struct nt_conn *conn; /* per host, of use only when it was here; owned */
    bool *ever_joined;    /* per host; owned */
    bool *ready;          /* per host: may have said something; owned */
    size_t *online;       /* the hosts that are here, in the order of nt_children_pollfds; owned */
    size_t online_count;
    size_t joined_count, lost_count; /* how many ever */
    bool is_congested;               /* NT_QUEUE_HIGH waits for one of them */
};

int nt_children_init(struct nt_children *children, size_t hosts, size_t self, struct nt_err *err);
void nt_children_fini(struct nt_children *children);

/* Takes over a proven connection; false (and it is closed) when that host was here already. */
bool nt_children_add(struct nt_children *children, size_t host, struct nt_conn *conn,
                     size_t payload_max, size_t queue_max);

void nt_children_remove(struct nt_children *children, size_t host);

/* Fills polls (at least children->online_count) and returns how many; reads only when read is true.
 */
size_t nt_children_pollfds(const struct nt_children *children, bool read, struct pollfd *polls);

/* What poll said of them, with nobody joined or dropped meanwhile. */
void nt_children_poll_events(struct nt_children *children, const struct pollfd *polls);

bool nt_children_is_online(const struct nt_children *children, size_t host);

/* Whether a host was here and is no more. */
bool nt_children_is_lost(const struct nt_children *children, size_t host);

/* One frame to everyone who is here; who cannot take it is dropped. */
void nt_children_bcast(struct nt_children *children, const struct nt_frame *frame,
                       const void *payload);

/* One frame to one who is here, who is dropped when he cannot take it. Leaves with the next
 * nt_children_flush at the latest: many small ones go together. */
void nt_children_send(struct nt_children *children, size_t host, const struct nt_frame *frame,
                      const void *payload);

/* Sends what waits. Drops who is gone or has taken nothing for stall_s. */
void nt_children_flush(struct nt_children *children, double stall_s);

/* Says to everyone for whom nothing waits any more that nothing will follow. */
void nt_children_shutdown(struct nt_children *children);

#endif
