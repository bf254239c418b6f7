/* Which pairs of hosts have met. Costs memory for the pairs that did, not for all that could: a
 * sweep of many hosts measures few of its pairs. Where a bit for each that could is less, that. */
#ifndef NT_MET_H
#define NT_MET_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_met {
    size_t hosts, pairs; /* pairs: how many have met */
    uint32_t *partners;  /* hosts of them: how many a host has met; owned */
    uint64_t *slot;      /* open addressing, 0: free; owned */
    size_t room;         /* a power of two, more than half of it free */
    uint64_t *bit; /* instead of slots, once there are: pair a < b is b (b-1) / 2 + a; owned */
};

int nt_met_init(struct nt_met *met, size_t hosts, struct nt_err *err);
void nt_met_fini(struct nt_met *met);

/* a and b, below hosts, have met; in any order, as often as you like. */
int nt_met_note(struct nt_met *met, uint32_t a, uint32_t b, struct nt_err *err);

#endif
