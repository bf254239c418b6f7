/* SPDX-License-Identifier: Apache-2.0 */
/* The authenticated connections of this agent to the agents directly below it: one per host, with
 * broadcast and unicast. Does not interpret frames.
 *
 * Hosts are indices into the job's host list. self, the index of this host, never has a connection.
 * Memory for a connection is used only when its host connects; the flags take a few bytes per host.
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
    struct nt_conn *conn; /* per host, valid while the host is online; owned */
    bool *ever_joined;    /* per host: has connected at least once; owned */
    bool *ready;          /* per host: there may be data to read; owned */
    size_t *online; /* indices of the online hosts, in the order of nt_children_pollfds; owned */
    size_t online_count;
    size_t joined_count, lost_count; /* since init */
    struct nt_err last_error;        /* error of the last connection that failed */
    bool is_congested;               /* at least NT_QUEUE_HIGH bytes are queued for one host */
};

int nt_children_init(struct nt_children *children, size_t hosts, size_t self, struct nt_err *err);
void nt_children_fini(struct nt_children *children);

/* Takes ownership of an authenticated connection. Returns false and closes the connection if that
 * host has been connected before: a lost host does not return within a sweep. */
bool nt_children_add(struct nt_children *children, size_t host, struct nt_conn *conn,
                     size_t payload_max, size_t queue_max);

/* Closes the connection of a host, which is lost from then on. */
void nt_children_remove(struct nt_children *children, size_t host);

/* Fills polls (room for children->online_count) and returns their number. Waits for input only if
 * read is true. */
size_t nt_children_pollfds(const struct nt_children *children, bool read, struct pollfd *polls);

/* Reads the results of poll. No child may be added or removed between nt_children_pollfds and this
 * call. */
void nt_children_poll_events(struct nt_children *children, const struct pollfd *polls);

bool nt_children_is_online(const struct nt_children *children, size_t host);

/* Returns whether a host has been connected but no longer is. */
bool nt_children_is_lost(const struct nt_children *children, size_t host);

/* Sends a frame to every online child. Removes a child whose queue is full or whose connection is
 * broken. */
void nt_children_bcast(struct nt_children *children, const struct nt_frame *frame,
                       const void *payload);

/* Queues a frame for one online child. Removes the child if its queue is full or its connection is
 * broken. The next nt_children_flush sends the frame at the latest, so that many small frames are
 * sent together. */
void nt_children_send(struct nt_children *children, size_t host, const struct nt_frame *frame,
                      const void *payload);

/* Sends the queued frames. Removes a child whose connection is broken or that has accepted no data
 * for stall_s seconds. */
void nt_children_flush(struct nt_children *children, double stall_s);

/* Returns whether frames are queued for any online child. */
bool nt_children_have_queued(const struct nt_children *children);

/* Closes the sending direction of every child with an empty queue. */
void nt_children_shutdown(struct nt_children *children);

#endif
