/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs decide whether a network is the right one: those to measure again where it is
 * uncertain.
 *
 * If there are few hosts, every pair decides. Else the pairs that tell the network from its rivals
 * (nt_model.decides) come first, and then those that do not fit. Hosts that would rest in a round
 * are paired with others, as controls. Pure; uses only the model. Tests: test_deciding_pairs.c. */
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
    size_t *start;       /* rounds + 1: round r has pair[start[r]..start[r + 1]) */
    uint32_t (*pair)[2]; /* first < second, each pair once */
    size_t deciding;     /* pairs; the others are controls */
};

/* missing[i] (may be NULL): host i takes no part. At most most_rounds, in each of which a host has
 * one partner; the most deciding pairs come first. No pair decides where the model has no switch.
 * The same input and seed give the same rounds. */
int nt_deciding_pairs_find(const struct nt_model *model, const bool *missing, size_t most_rounds,
                           uint64_t seed, struct nt_deciding_pairs *out, struct nt_err *err);

void nt_deciding_pairs_fini(struct nt_deciding_pairs *decision);

#endif
