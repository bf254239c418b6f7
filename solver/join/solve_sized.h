/* SPDX-License-Identifier: Apache-2.0 */
/* From matrices of messages of known sizes to a map: links have the latency of an empty message,
 * and bandwidths from the sizes (infer/size_fit.h). Not for sweeps, whose pings are practically
 * empty.
 * Tests: bats/commands.bats. */
#ifndef NT_SOLVE_SIZED_H
#define NT_SOLVE_SIZED_H

#include "err.h"
#include "map.h"
#include "solve.h"

/* Calls nt_solve_measured for an input with matrices. bytes: message sizes of latency and of each
 * element of larger, strictly ascending; NULL: unknown. Sizes are not used with one size and no
 * bandwidth, or with a method that combines sizes itself. The caller frees *out. */
int nt_solve_sized(const struct nt_solve_input *measured, const double *bytes, struct nt_map **out,
                   struct nt_err *err);

#endif
