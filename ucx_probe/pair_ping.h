/* SPDX-License-Identifier: Apache-2.0 */
/* A latency: ping-pong. See nt_pair_measure for what the arguments and the result are.
 * Tests: bats/shapes.bats. */
#ifndef NT_PAIR_PING_H
#define NT_PAIR_PING_H

#include "pair_ucx.h"

int nt_pair_ping(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err);

#endif
