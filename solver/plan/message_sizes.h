/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies of larger messages, for the method that compares structures found at several sizes
 * (Salnikov, Andreev, Lebedev, 2012: message-size matrices).
 * Tests: test_campaign.c. */
#ifndef NT_MESSAGE_SIZES_H
#define NT_MESSAGE_SIZES_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "sweep.h"

/* Plans all pairs once per size, one size after the other, in phase "sizes", in rounds of disjoint
 * pairs as nt_sweep_all_create. sizes: count sizes in bytes, at most NT_MESSAGE_SIZES_MAX.
 * rate_MBps: of a link, for window_s of the orders; NaN: unknown, then window_s is 0. The caller
 * frees *out. */
enum { NT_MESSAGE_SIZES_MAX = 8 };
int nt_message_sizes_create(const struct nt_sweep_setup *setup, const double *sizes, size_t count,
                            double rate_MBps, struct nt_planner **out, struct nt_err *err);

/* Number of remaining rounds; *optional: those after the first size. */
size_t nt_message_sizes_rounds_left(const struct nt_planner *planner, size_t *optional);

#endif
