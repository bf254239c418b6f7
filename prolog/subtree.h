/* The agents below this one, of which each may stand for a block of hosts.
 *
 * A small job's agents form a star: every host comes to the first one. Beyond that they form
 * blocks of consecutive hosts: the first host of a block (its leader) comes to the job's first
 * host, the others come to him, so that nobody has more than about twice the root of the number
 * of hosts to look after. A host whose block's leader is not there or is lost comes to the job's
 * first host instead. What a leader says of the hosts of his own block is believed, and nothing
 * else: everyone has proved who he is to the one whom he speaks with.
 *
 * Passes frames; what they mean is the business of leader.c and member.c. */
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
    size_t hosts, self, block; /* of the job; this one; hosts a block (hosts: a star) */
    size_t next_child;         /* of children.order: who is heard next */
    size_t lost_count_seen;    /* of children.lost_count */
    size_t lost_next;          /* the host to look at next; hosts: all are looked at */
    bool *loss_reported;       /* per host: its loss was told; owned */
    double *rejoin_until;      /* per block: once its leader is lost, how long its hosts may take to
                                * come themselves; 0 before; owned */
    double recheck_at;         /* when the next of those times is over */
    struct nt_frame announcement; /* for who comes now; payload_bytes 0: nothing */
    char announcement_text[NT_ANNOUNCEMENT_BYTES];
};

/* Hosts a block: configured, or by the number of hosts when that is 0. hosts: a children. */
size_t nt_block_hosts(size_t hosts, uint32_t configured);

/* Whom a host comes to at first: its block's leader, for whom it is the job's first host. */
size_t nt_block_leader(size_t block, size_t host);

/* Nobody is here and the door is closed; me leads a block. */
int nt_subtree_init(struct nt_subtree *subtree, size_t hosts, size_t self, size_t block,
                    struct nt_err *err);
void nt_subtree_fini(struct nt_subtree *subtree);

/* How many will come when all do. */
size_t nt_subtree_expected(const struct nt_subtree *subtree);

/* At most how many nt_subtree_pollfds fills. */
size_t nt_subtree_pollfds_max(const struct nt_subtree *subtree);
size_t nt_subtree_pollfds(const struct nt_subtree *subtree, bool read, struct pollfd *polls);
/* What poll said of them, right after it. */
void nt_subtree_poll_events(struct nt_subtree *subtree, const struct pollfd *polls);

/* Lets in who is at the door and sends what waits. */
void nt_subtree_step(struct nt_subtree *subtree);

/* To all who are here, and to who comes later until there is another greeting. -1, and nobody
 * hears anything, when the payload is over NT_ANNOUNCEMENT_BYTES. */
int nt_subtree_announce(struct nt_subtree *subtree, const struct nt_frame *frame,
                        const void *payload);

/* From now on who comes is told that it is too late. */
void nt_subtree_reject_late(struct nt_subtree *subtree);

/* To everyone below, or with NT_FRAME_UNICAST towards the host that it is for, if that is below. */
void nt_subtree_send(struct nt_subtree *subtree, const struct nt_frame *frame, const void *payload);

/* 1: a frame from below, GATHER or DONE, whose host says for whom it speaks: *payload is valid
 * until the next call. 0: none is there. */
int nt_subtree_next(struct nt_subtree *subtree, struct nt_frame *frame,
                    const unsigned char **payload);

/* 1: this host is not reached any more, told once. 0: no more such for now. Who has lost only his
 * leader has some time to come himself. */
int nt_subtree_next_lost(struct nt_subtree *subtree, double now, size_t *host);

/* At the end, again and again until true: everyone has what was sent, and has gone. Who closes
 * while the others still speak takes what he sent from them, so they go first. */
bool nt_subtree_drain(struct nt_subtree *subtree);

#endif
