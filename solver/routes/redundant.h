/* SPDX-License-Identifier: Apache-2.0 */
/* More pairs than independent ones, where they reduce the errors most.
 * Tests: test_plan_routes.c. */
#ifndef NT_REDUNDANT_H
#define NT_REDUNDANT_H

#include <stddef.h>
#include <stdint.h>

#include "choice.h"
#include "err.h"

/* Adds pairs until the choice has `want` of them (or all there are): first into the rounds that are
 * there, then into new ones; in each round the pairs with the largest predicted variance. The
 * variances come from a sketch of the inverse, whose memory is that of the links: the choice must
 * determine what it is asked about, as a minimal set does. */
int nt_redundant_add(struct nt_choice *choice, size_t want, uint64_t seed, struct nt_err *err);

#endif
