/* SPDX-License-Identifier: Apache-2.0 */
/* The set of measured pairs of hosts, each counted once while a record is read. Takes memory for
 * the pairs that were measured, not for all, since a sweep of many hosts measures few; one bit for
 * each pair where that is less. Readings (readings.h) and latencies (latencies.h) keep every
 * reading, and so do not count pairs. */
#ifndef NT_MEASURED_PAIRS_H
#define NT_MEASURED_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_measured_pairs {
    size_t hosts, pairs; /* pairs: how many were measured */
    uint32_t *partners;  /* hosts of them: how many a host was measured with; owned */
    uint64_t *slot;      /* open addressing, 0: free; owned */
    size_t capacity;     /* a power of two, more than half of it free */
    uint64_t *bit; /* instead of slots, once there are: pair a < b is b (b-1) / 2 + a; owned */
};

int nt_measured_pairs_init(struct nt_measured_pairs *measured, size_t hosts, struct nt_err *err);
void nt_measured_pairs_fini(struct nt_measured_pairs *measured);

/* a and b, below hosts, were measured; in any order, and any number of times. */
int nt_measured_pairs_note(struct nt_measured_pairs *measured, uint32_t a, uint32_t b,
                           struct nt_err *err);

#endif
