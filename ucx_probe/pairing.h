/* SPDX-License-Identifier: Apache-2.0 */
/* Who measures with whom in a round.
 * Tests: test_prtt_hold.c. */
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

#endif
