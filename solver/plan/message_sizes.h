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
 * NT_MESSAGE_SIZES_MAX. */
enum { NT_MESSAGE_SIZES_MAX = 8 };
int nt_message_sizes_create(size_t hosts, const bool *missing, const double *sizes, size_t count,
                            unsigned passes, uint32_t batches, uint32_t pings,
                            struct nt_planner **out, struct nt_err *err);

#endif
