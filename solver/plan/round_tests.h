/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs to measure to verify a network: rounds for verify.h.
 * Tests: test_slow_hosts.c. */
#ifndef NT_ROUND_TESTS_H
#define NT_ROUND_TESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "rng.h"
#include "round_pairs.h"
#include "verify.h"

/* A round of further tests: pairs to be read again first. The round's count is 0 when there is
 * nothing to do. */
int nt_round_tests(const struct nt_found_tree *claim, const struct nt_finding *finding,
                   struct nt_rng *rng, struct nt_round_pairs *round, struct nt_err *err);

/* Adds neighbours to an empty round. */
void nt_round_pairs_fill(size_t seats, const bool *lost, struct nt_round_pairs *round);

#endif
