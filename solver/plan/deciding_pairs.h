/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the pairs to measure again if a network is uncertain.
 *
 * With few hosts, every pair is deciding. Else the pairs that distinguish the network from its
 * rivals (nt_model.deciding_pair) come first, then those that do not fit. Hosts that would be idle
 * in a round are paired with others, as controls. Pure; uses only the model.
 * Tests: test_deciding_pairs.c. */
#ifndef NT_DECIDING_PAIRS_H
#define NT_DECIDING_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "model.h"

enum { NT_DECIDING_PAIRS_FEW = 16 }; /* hosts */

struct nt_deciding_pairs {
    struct nt_arena memory; /* of all arrays */
    size_t rounds;
    size_t *start;       /* rounds + 1; round r has pair[start[r]..start[r + 1] - 1] */
    uint32_t (*pair)[2]; /* first < second, each pair once */
    size_t deciding;     /* number of deciding pairs; the others are controls */
};

/* Plans at most most_rounds rounds, in each of which a host has one partner, with as many deciding
 * pairs as possible, best first. missing[hosts] (may be NULL): takes no part. There are no deciding
 * pairs if the model has no switch. Equal inputs and seeds give equal rounds. The caller frees out
 * with nt_deciding_pairs_fini. */
int nt_deciding_pairs_find(const struct nt_model *model, const bool *missing, size_t most_rounds,
                           uint64_t seed, struct nt_deciding_pairs *out, struct nt_err *err);

void nt_deciding_pairs_fini(struct nt_deciding_pairs *decision);

#endif
