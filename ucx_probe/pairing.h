/* SPDX-License-Identifier: Apache-2.0 */
/* The pairs of a round, and the connections that a rank keeps between rounds: those used last. No
 * I/O.
 *
 * A rank keeps a connection if and only if it reported its round as successful. Rank 0 receives the
 * reports and applies the same rule, so it orders the use of a connection only if both ends have
 * kept it: two ends with different connections would wait in vain.
 * Tests: test_pairing.c, test_prtt_hold.c. */
#ifndef NT_PAIRING_H
#define NT_PAIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sweep.h"

enum { NT_PAIR_RAILS_MAX = 8, NT_PAIR_TRANSPORTS_BYTES = 64, NT_PAIR_USED_BYTES = 128 };

/* A pair of hosts. Both ends have the same values, with self and peer exchanged. */
struct nt_pairing {
    uint32_t round, self, peer;
    bool first; /* this end is the first of the pair and sends first */
    bool kept;  /* use the connection of an earlier round, which both ends kept */
    const void *address;
    size_t address_bytes; /* address of the peer; not needed if kept */
};

/* All participants of a stress kernel. */
enum { NT_KERNEL_GROUP_MAX = 64 };

struct nt_kernel_group {
    uint32_t round;
    size_t n, self; /* number of participants; index of this one */
    const void *address[NT_KERNEL_GROUP_MAX];
    size_t address_bytes[NT_KERNEL_GROUP_MAX];
};

/* Kept connections per rank. An endpoint takes up to two descriptors and 13 KiB. In jobs with more
 * hosts, all pairs in sequence never use a kept connection. */
enum { NT_KEPT_MAX = 64 };

#define NT_KEPT_NONE UINT32_MAX

struct nt_kept {
    uint32_t n;
    uint32_t peer[NT_KEPT_MAX]; /* ranks, least recently used first */
};

/* Returns whether peer is still kept after that many uses of other peers. */
bool nt_kept_stays(const struct nt_kept *kept, uint32_t peer, uint32_t uses);

/* Marks peer as used last. Returns the peer that is no longer kept because of it, or
 * NT_KEPT_NONE. */
uint32_t nt_kept_use(struct nt_kept *kept, uint32_t peer);

/* Removes peer if it is kept. */
void nt_kept_drop(struct nt_kept *kept, uint32_t peer);

#endif
