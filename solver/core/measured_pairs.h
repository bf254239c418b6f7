/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the measured pairs of hosts, each pair once, while a record is read. A sweep of many hosts
 * measures few pairs, and a set with open addressing needs memory for these only. It becomes one
 * bit per pair when that is smaller. The views readings.h and latencies.h keep every reading and do
 * not count pairs. */
#ifndef NT_MEASURED_PAIRS_H
#define NT_MEASURED_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_measured_pairs {
    size_t hosts, pairs; /* pairs: how many were measured */
    uint32_t *partners;  /* per host: with how many hosts it was measured; owned */
    uint64_t *slot;      /* open addressing, 0: free; owned */
    size_t capacity;     /* slots, a power of two; more than half are free */
    uint64_t *bit;       /* replaces slot, else NULL: pair a < b is bit b (b-1) / 2 + a; owned */
};

int nt_measured_pairs_init(struct nt_measured_pairs *measured, size_t hosts, struct nt_err *err);
void nt_measured_pairs_fini(struct nt_measured_pairs *measured);

/* Adds the pair of a and b, both below hosts, in either order. Repetitions are ignored. */
int nt_measured_pairs_note(struct nt_measured_pairs *measured, uint32_t a, uint32_t b,
                           struct nt_err *err);

#endif
