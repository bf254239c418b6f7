/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of messages of known sizes to map: links get the latency of an empty message, and
 * bandwidths from the sizes (infer/size_fit.h). Not for a sweep, whose pings are as good as empty.
 * Tests: bats/commands.bats. */
#ifndef NT_SOLVE_SIZED_H
#define NT_SOLVE_SIZED_H

#include "err.h"
#include "map.h"
#include "solve.h"

/* nt_solve_measured, where measured has matrices. bytes: of latency's messages and of each of
 * larger's, strictly rising; NULL: not known. Makes nothing of them with one size and no bandwidth,
 * or by a method that unites sizes itself. */
int nt_solve_sized(const struct nt_solve_input *measured, const double *bytes, struct nt_map **out,
                   struct nt_err *err);

#endif
