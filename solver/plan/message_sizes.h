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

/* All pairs once for each size, one size after the other, in phase "sizes". Disjoint pairs in a
 * round as nt_sweep_all_create makes them. sizes: count of them, bytes, at most
 * NT_MESSAGE_SIZES_MAX. rate_MBps: of a link, for window_s of the orders; NaN: unknown, then 0. */
enum { NT_MESSAGE_SIZES_MAX = 8 };
int nt_message_sizes_create(const struct nt_sweep_setup *setup, const double *sizes, size_t count,
                            double rate_MBps, struct nt_planner **out, struct nt_err *err);

/* How many rounds are still to come; *optional: of them, those after the first size. */
size_t nt_message_sizes_rounds_left(const struct nt_planner *planner, size_t *optional);

#endif
