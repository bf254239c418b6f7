/* SPDX-License-Identifier: Apache-2.0 */
/* The agents directly connected to this one, after authentication: one connection each, broadcast
 * and unicast.
 *
 * Hosts are indices into the job's host list; self is this agent's own and never connected.
 * Connection memory is touched only for hosts that connect; the flags take a few bytes a host.
 * Tests: test_subtree.c. */
#ifndef NT_CHILDREN_H
#define NT_CHILDREN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "conn.h"
#include "err.h"

struct nt_children {
    size_t hosts, self;
    struct nt_conn *conn; /* per host, valid while it is online; owned */
    bool *ever_joined;    /* per host; owned */
    bool *ready;          /* per host: may have data to read; owned */
    size_t *online; /* indices of the online hosts, in the order of nt_children_pollfds; owned */
    size_t online_count;
    size_t joined_count, lost_count; /* since init */
    struct nt_err last_error;        /* of the last child whose connection failed */
    bool is_congested;               /* at least NT_QUEUE_HIGH is queued for one of them */
};

int nt_children_init(struct nt_children *children, size_t hosts, size_t self, struct nt_err *err);
void nt_children_fini(struct nt_children *children);

/* Takes over an authenticated connection. false, and the connection is closed, when that host has
 * been connected before: a host that is lost does not return within a sweep. */
bool nt_children_add(struct nt_children *children, size_t host, struct nt_conn *conn,
                     size_t payload_max, size_t queue_max);

/* Closes the connection; the host is lost. */
void nt_children_remove(struct nt_children *children, size_t host);

/* Fills polls (room for children->online_count) and returns how many; waits for input only when
 * read is true. */
size_t nt_children_pollfds(const struct nt_children *children, bool read, struct pollfd *polls);

/* Takes the results of poll. No child may be added or removed in between. */
void nt_children_poll_events(struct nt_children *children, const struct pollfd *polls);

bool nt_children_is_online(const struct nt_children *children, size_t host);

/* Whether a host was connected and is not any more. */
bool nt_children_is_lost(const struct nt_children *children, size_t host);

/* One frame to every online child. A child whose queue is full or connection broken is removed. */
void nt_children_bcast(struct nt_children *children, const struct nt_frame *frame,
                       const void *payload);

/* One frame to one online child, which is removed when its queue is full or connection broken.
 * Sent at the latest by the next nt_children_flush, so that many small frames leave together. */
void nt_children_send(struct nt_children *children, size_t host, const struct nt_frame *frame,
                      const void *payload);

/* Sends what is queued. Removes a child whose connection is broken or that has accepted nothing for
 * stall_s seconds. */
void nt_children_flush(struct nt_children *children, double stall_s);

/* Whether any online child has still to be sent something. */
bool nt_children_have_queued(const struct nt_children *children);

/* Closes the sending direction of every child with an empty queue. */
void nt_children_shutdown(struct nt_children *children);

#endif
