/* SPDX-License-Identifier: Apache-2.0 */
/* The agents below this one in the tree of a job's agents: its children, and the hosts of a block
 * below each child that leads one. Routes frames by their header; leader.c and member.c know what
 * they mean.
 *
 * In a small job every host connects to the first host. In a larger one the hosts form blocks of
 * consecutive hosts. The first host of a block, its leader, connects to the job's first host, and
 * the others connect to their leader, so that no agent has more than about 2 sqrt(hosts)
 * connections. A host whose block leader is missing or lost connects to the job's first host
 * instead. A block leader may send frames in the name of the hosts of its own block only. Every
 * connection is authenticated. */
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
    /* Hosts of the job; index of this host; hosts per block (block == hosts: no blocks) */
    size_t hosts, self, block;
    double give_up;         /* when the result must be there (nt_clock_s); INFINITY: no limit */
    size_t next_child;      /* position in children.online of the next child to read from */
    size_t lost_count_seen; /* children.lost_count at the last search for lost hosts */
    size_t lost_next;       /* next host to examine in the search; hosts: the search is complete */
    bool *loss_reported;    /* per host; owned */
    /* Per block: if its leader is lost, until when its hosts may connect here themselves
     * (nt_clock_s); otherwise 0; owned */
    double *rejoin_until;
    double recheck_at;            /* the earliest of these times in the future */
    struct nt_frame announcement; /* sent to each new child; payload_bytes 0: none */
    char announcement_text[NT_ANNOUNCEMENT_BYTES];
};

/* Returns the number of hosts per block: the configured one, or, if that is 0, one that depends on
 * the number of hosts. Returns hosts for no blocks. */
size_t nt_block_hosts(size_t hosts, uint32_t configured);

/* Returns the host that a host connects to first: its block's leader, or for a block leader the
 * job's first host. */
size_t nt_block_leader(size_t block, size_t host);

/* Initializes a subtree without children and with a closed listener. The caller may set give_up,
 * INFINITY by default. self leads a block. */
int nt_subtree_init(struct nt_subtree *subtree, size_t hosts, size_t self, size_t block,
                    struct nt_err *err);
void nt_subtree_fini(struct nt_subtree *subtree);

/* Returns the number of children if no host is missing. */
size_t nt_subtree_expected(const struct nt_subtree *subtree);

/* Returns the maximum number of entries that nt_subtree_pollfds fills. */
size_t nt_subtree_pollfds_max(const struct nt_subtree *subtree);
size_t nt_subtree_pollfds(const struct nt_subtree *subtree, bool read, struct pollfd *polls);
/* Reads the results of poll. Call it directly after poll. */
void nt_subtree_poll_events(struct nt_subtree *subtree, const struct pollfd *polls);

/* Accepts at most one member, because authentication takes as long as munged does, and sends queued
 * frames. */
void nt_subtree_step(struct nt_subtree *subtree);

/* Sends the frame to all children, and to each child that connects later until another announcement
 * replaces it. -1 and nothing is sent if the payload exceeds NT_ANNOUNCEMENT_BYTES. */
int nt_subtree_announce(struct nt_subtree *subtree, const struct nt_frame *frame,
                        const void *payload);

/* From now on a member that connects gets DONE, because it is too late to take part. */
void nt_subtree_reject_late(struct nt_subtree *subtree);

/* Sends a frame to all hosts below this one. With NT_FRAME_UNICAST, sends it only towards
 * frame->host, if that host is below this one. */
void nt_subtree_send(struct nt_subtree *subtree, const struct nt_frame *frame, const void *payload);

/* Returns 1 with a GATHER or DONE from below, or 0 if there is none. frame->host is the origin,
 * which is checked. *payload is valid until the next call. */
int nt_subtree_next(struct nt_subtree *subtree, struct nt_frame *frame,
                    const unsigned char **payload);

/* Returns 1 if *host is lost, once per host, or 0 if there are no more for now. The hosts of a lost
 * block leader have a second to connect here themselves before they count as lost. */
int nt_subtree_next_lost(struct nt_subtree *subtree, double now, size_t *host);

/* Sends the remaining frames at the end. Call it until it returns true: all children have received
 * everything and disconnected, or at idle_until (nt_clock_s) the remaining ones have received
 * everything. A child that accepts no data is lost after some time, as before. Children close
 * first, because closing a socket with unread input resets the connection and discards data in
 * transit to the peer. */
bool nt_subtree_drain(struct nt_subtree *subtree, double idle_until);

#endif
