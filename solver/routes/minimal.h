/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal set: as many pairs as are independent, in few rounds. Liu et al., NPC 2018, section
 * 3.2, steps b and c: a maximal independent subset of all paths, coloured so that no two of one
 * colour share a link. There the set comes first and its colouring after; here both are chosen
 * together, a round at a time, which ends near the bound that the hosts set.
 * Tests: test_plan_routes.c. */
#ifndef NT_MINIMAL_H
#define NT_MINIMAL_H

#include "choice.h"
#include "err.h"
#include "routes.h"

/* Chooses into an empty choice. Takes no time limit: the effort is a bounded number of steps, so
 * the same routes and seed give the same choice. */
int nt_minimal_choose(struct nt_choice *choice, uint64_t seed, struct nt_err *err);

#endif
