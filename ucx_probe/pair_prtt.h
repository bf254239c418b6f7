/* SPDX-License-Identifier: Apache-2.0 */
/* PRTT(n, d, s) (core/prtt.h). See nt_pair_measure for what the arguments and the result are.
 * Tests: test_prtt_hold.c. */
#ifndef NT_PAIR_PRTT_H
#define NT_PAIR_PRTT_H

#include "pair_ucx.h"

int nt_pair_prtt(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err);

#endif
