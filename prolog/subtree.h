/* SPDX-License-Identifier: Apache-2.0 */
/* The agents below this one in the tree of a job's agents: its children, and the hosts of a block
 * behind each child that leads one.
 *
 * In a small job every host connects to the first one. In a larger one the hosts form blocks of
 * consecutive hosts: the first host of a block, its leader, connects to the job's first host, the
 * others to their leader, so that no agent has more than about 2 sqrt(hosts) connections. A host
 * whose block leader is missing or lost connects to the job's first host instead. A block leader
 * may send frames in the name of the hosts of its own block, and of no others; every connection is
 * authenticated.
 *
 * Routes frames by their head; what they mean is known to leader.c and member.c. */
#ifndef NT_SUBTREE_H
#define NT_SUBTREE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "children.h"
#include "conf.h"
#include "frame.h"
#include "job.h"
#include "listener.h"

enum { NT_ANNOUNCEMENT_BYTES = NT_ERR_TEXT_BYTES + 16 };

struct nt_subtree {
    struct nt_listener listener;
    struct nt_children children;
    size_t hosts, self, block;    /* of the job; own index; hosts a block (hosts: no blocks) */
    double give_up;               /* when the result must be there (nt_clock_s); INFINITY: ever */
    size_t next_child;            /* position in children.online: the next to read from */
    size_t lost_count_seen;       /* children.lost_count at the last search */
    size_t lost_next;             /* the next host to examine; hosts: the search is over */
    bool *loss_reported;          /* per host; owned */
    double *rejoin_until;         /* per block: once its leader is lost, until when its hosts may
                                   * connect here themselves; 0 before; owned */
    double recheck_at;            /* the earliest of those times that is not over */
    struct nt_frame announcement; /* to each new child; payload_bytes 0: none */
    char announcement_text[NT_ANNOUNCEMENT_BYTES];
};

/* Hosts a block: configured, or by the number of hosts when that is 0. hosts: no blocks. */
size_t nt_block_hosts(size_t hosts, uint32_t configured);

/* The host that a host connects to at first: its block's leader; for a block leader the job's first
 * host. */
size_t nt_block_leader(size_t block, size_t host);

/* No children, the listener closed, give_up INFINITY; self leads a block. */
int nt_subtree_init(struct nt_subtree *subtree, size_t hosts, size_t self, size_t block,
                    struct nt_err *err);
void nt_subtree_fini(struct nt_subtree *subtree);

/* How many children there are when no host is missing. */
size_t nt_subtree_expected(const struct nt_subtree *subtree);

/* The most that nt_subtree_pollfds fills. */
size_t nt_subtree_pollfds_max(const struct nt_subtree *subtree);
size_t nt_subtree_pollfds(const struct nt_subtree *subtree, bool read, struct pollfd *polls);
/* Takes the results of poll, right after it. */
void nt_subtree_poll_events(struct nt_subtree *subtree, const struct pollfd *polls);

/* Accepts at most one member, as authentication takes as long as munged does, and sends what is
 * queued. */
void nt_subtree_step(struct nt_subtree *subtree);

/* Sends the frame to all children, and to each that connects later until it is replaced by another
 * announcement. -1, with nothing sent, when the payload is over NT_ANNOUNCEMENT_BYTES. */
int nt_subtree_announce(struct nt_subtree *subtree, const struct nt_frame *frame,
                        const void *payload);

/* From now on a member that connects gets DONE: it is too late to take part. */
void nt_subtree_reject_late(struct nt_subtree *subtree);

/* To all hosts below; with NT_FRAME_UNICAST only towards frame->host, if that is below. */
void nt_subtree_send(struct nt_subtree *subtree, const struct nt_frame *frame, const void *payload);

/* 1: a GATHER or DONE from below, frame->host being its checked origin; *payload is valid until the
 * next call. 0: none is available. */
int nt_subtree_next(struct nt_subtree *subtree, struct nt_frame *frame,
                    const unsigned char **payload);

/* 1: *host is lost, reported once a host. 0: no more for now. The hosts of a lost block leader have
 * a second to connect here themselves before they count as lost. */
int nt_subtree_next_lost(struct nt_subtree *subtree, double now, size_t *host);

/* At the end, to be repeated until true: all children have received everything and disconnected, or
 * those that are left have received everything and it is idle_until (nt_clock_s); one that accepts
 * nothing is lost after some time, as always. Children close first, because closing a socket with
 * unread input resets the connection and discards what is still on its way to the peer. */
bool nt_subtree_drain(struct nt_subtree *subtree, double idle_until);

#endif
