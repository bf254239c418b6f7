/* SPDX-License-Identifier: Apache-2.0 */
/* Better conditioned minimal sets by exchange (Goreinov et al., "How to find a good submatrix",
 * 2010: maximal volume): a pair outside whose combination of the chosen ones has a coefficient
 * over 1 replaces that one, until no pair does. Then every pair of the network is a combination
 * with coefficients of at most 1. Rounds stay link-disjoint and as many as they are.
 * Tests: test_plan_routes.c. */
#ifndef NT_EXCHANGE_H
#define NT_EXCHANGE_H

#include "choice.h"
#include "err.h"

enum { NT_EXCHANGE_RANK_MAX = 640 };

/* On an independent choice. Does nothing above NT_EXCHANGE_RANK_MAX pairs: the inverse basis is
 * dense. Bounded steps, no time. */
int nt_exchange(struct nt_choice *choice, struct nt_err *err);

#endif
