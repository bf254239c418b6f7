/* SPDX-License-Identifier: Apache-2.0 */
/* The pairs of a round, and the connections that a rank keeps between rounds: the last used ones.
 *
 * A rank keeps a connection if and only if it reported its round as good. Rank 0 receives the
 * reports and applies the same rule, so it orders the use of a connection only if both ends have
 * it: two ends that took different ones would wait in vain. Pure.
 * Tests: test_pairing.c, test_prtt_hold.c. */
#ifndef NT_PAIRING_H
#define NT_PAIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sweep.h"

enum { NT_PAIR_RAILS_MAX = 8, NT_PAIR_TRANSPORTS_BYTES = 64, NT_PAIR_USED_BYTES = 128 };

/* Two hosts; both ends say the same, self and peer swapped. */
struct nt_pairing {
    uint32_t round, self, peer;
    bool first; /* this end is the first of the pair: it asks, the other answers */
    bool kept;  /* over the connection of an earlier round, which both ends kept */
    const void *address;
    size_t address_bytes; /* of the peer; kept: not needed */
};

/* All participants of a stress kernel. */
enum { NT_KERNEL_GROUP_MAX = 64 };

struct nt_kernel_group {
    uint32_t round;
    size_t n, self; /* participants, and which this one is */
    const void *address[NT_KERNEL_GROUP_MAX];
    size_t address_bytes[NT_KERNEL_GROUP_MAX];
};

/* An endpoint takes up to two descriptors and 13 KiB. In jobs of more hosts a pass
 * over all pairs meets no kept connection. */
enum { NT_KEPT_MAX = 64 };

#define NT_KEPT_NONE UINT32_MAX

struct nt_kept {
    uint32_t n;
    uint32_t peer[NT_KEPT_MAX]; /* ranks, the longest unused first */
};

/* Whether peer is still kept after uses of other peers. */
bool nt_kept_stays(const struct nt_kept *kept, uint32_t peer, uint32_t uses);

/* peer is the last used now. Returns the peer that is kept no more for it, else NT_KEPT_NONE. */
uint32_t nt_kept_use(struct nt_kept *kept, uint32_t peer);

/* No effect on one that is not kept. */
void nt_kept_drop(struct nt_kept *kept, uint32_t peer);

#endif
