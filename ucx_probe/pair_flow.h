/* SPDX-License-Identifier: Apache-2.0 */
/* A flow: messages in a window, for a time, until the other end has them all. Its rate is that of
 * the arrivals in mid-flow: neither the start, when others of the round may not send yet, nor what
 * is under way at the end, when others may have finished, says what the network carries at once.
 * See nt_pair_measure for what the arguments and the result are.
 * Tests: bats/standard.bats. */
#ifndef NT_PAIR_FLOW_H
#define NT_PAIR_FLOW_H

#include "pair_ucx.h"

int nt_pair_flow(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err);

#endif
