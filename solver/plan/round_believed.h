/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs to measure next to verify what is believed of a network (infer/believed.h).
 * Tests: test_sweep_prior.c. */
#ifndef NT_ROUND_BELIEVED_H
#define NT_ROUND_BELIEVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "believed.h"
#include "err.h"
#include "memory.h"
#include "rng.h"
#include "round_pairs.h"

struct nt_round_believed {
    struct nt_round_pairs pairs; /* the round: hosts */
    uint32_t *rank;              /* hosts: their places in a random order */
    struct nt_seated *at;        /* scratch: hosts of them, as are the next */
    uint32_t *from, *till;       /* idle hosts of a cluster: places in at */
};

/* Arrays come from memory. */
int nt_round_believed_init(struct nt_round_believed *round, size_t hosts, struct nt_arena *memory,
                           struct nt_rng *rng, struct nt_err *err);

/* What is to be read again first, then loose hosts, then joints of switches, then clusters that are
 * to be read apart, then pairs of levels that hardly were. */
int nt_round_believed_plan(struct nt_round_believed *round, const struct nt_believed *believed,
                           const bool *missing, struct nt_rng *rng, struct nt_err *err);

#endif
