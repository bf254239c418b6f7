/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs to measure to find where hosts on longer links are attached: rounds for slow.h.
 * Tests: test_slow_hosts.c. */
#ifndef NT_ROUND_SLOW_H
#define NT_ROUND_SLOW_H

#include "err.h"
#include "rng.h"
#include "round_pairs.h"
#include "slow.h"

/* Adds the pair to the round, of hosts that are not in it yet, that tells most about the place of
 * each unplaced host; returns how many of them only decide between places that were read. -1: see
 * err. */
int nt_round_slow(const struct nt_found_tree *tree, struct nt_round_pairs *round,
                  struct nt_err *err);

/* The same before anything is known: any idle host, near ones and others in turn. */
int nt_round_slow_early(const struct nt_found_tree *tree, struct nt_rng *rng,
                        struct nt_round_pairs *round, struct nt_err *err);

#endif
