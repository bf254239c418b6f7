/* The agents below this one, of which each may stand for a block of hosts.
 *
 * A small job's agents form a star: every host comes to the first one. Beyond that they form
 * blocks of consecutive hosts: the first host of a block (its leader) comes to the job's first
 * host, the others come to him, so that nobody has more than about twice the root of the number
 * of hosts to look after. A host whose block's leader is not there or is lost comes to the job's
 * first host instead. What a leader says of the hosts of his own block is believed, and nothing
 * else: everyone has proved who he is to the one whom he speaks with.
 *
 * Passes frames; what they mean is the business of lead.c and follow.c. */
#ifndef NT_BRANCH_H
#define NT_BRANCH_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "conf.h"
#include "door.h"
#include "frame.h"
#include "job.h"
#include "star.h"

enum { NT_GREETING_BYTES = NT_ERR_TEXT_BYTES + 16 };

struct nt_branch {
    struct nt_door door;
    struct nt_star star;
    size_t hosts, me, block;  /* of the job; this one; hosts a block (hosts: a star) */
    size_t at;                /* of star.order: who is heard next */
    size_t lost_seen;         /* of star.dropped */
    size_t lost_at;           /* the host to look at next; hosts: all are looked at */
    bool *told;               /* per host: its loss was told; owned */
    double *awaited_until;    /* per block: once its leader is lost, how long its hosts may take to
                               * come themselves; 0 before; owned */
    double look_at;           /* when the next of those times is over */
    struct nt_frame greeting; /* for who comes now; payload_bytes 0: nothing */
    char greeting_text[NT_GREETING_BYTES];
};

/* Hosts a block: configured, or by the number of hosts when that is 0. hosts: a star. */
size_t nt_block_hosts(size_t hosts, uint32_t configured);

/* Whom a host comes to at first: its block's leader, for whom it is the job's first host. */
size_t nt_block_leader(size_t block, size_t host);

/* Nobody is here and the door is closed; me leads a block. */
int nt_branch_init(struct nt_branch *branch, size_t hosts, size_t me, size_t block,
                   struct nt_err *err);
void nt_branch_fini(struct nt_branch *branch);

/* How many will come when all do. */
size_t nt_branch_expects(const struct nt_branch *branch);

/* At most how many nt_branch_polls fills. */
size_t nt_branch_polls_max(const struct nt_branch *branch);
size_t nt_branch_polls(const struct nt_branch *branch, bool read, struct pollfd *polls);
/* What poll said of them, right after it. */
void nt_branch_heed(struct nt_branch *branch, const struct pollfd *polls);

/* Lets in who is at the door and sends what waits. */
void nt_branch_step(struct nt_branch *branch);

/* To all who are here, and to who comes later until there is another greeting. -1, and nobody
 * hears anything, when the payload is over NT_GREETING_BYTES. */
int nt_branch_greet(struct nt_branch *branch, const struct nt_frame *frame, const void *payload);

/* From now on who comes is told that it is too late. */
void nt_branch_shut(struct nt_branch *branch);

/* To everyone below, or with NT_FRAME_ONE towards the host that it is for, if that is below. */
void nt_branch_send(struct nt_branch *branch, const struct nt_frame *frame, const void *payload);

/* 1: a frame from below, GATHER or DONE, whose host says for whom it speaks: *payload is valid
 * until the next call. 0: none is there. */
int nt_branch_next(struct nt_branch *branch, struct nt_frame *frame, const unsigned char **payload);

/* 1: this host is not reached any more, told once. 0: no more such for now. Who has lost only his
 * leader has some time to come himself. */
int nt_branch_next_lost(struct nt_branch *branch, double now, size_t *host);

/* At the end, again and again until true: everyone has what was sent, and has gone. Who closes
 * while the others still speak takes what he sent from them, so they go first. */
bool nt_branch_farewell(struct nt_branch *branch);

#endif
