/* SPDX-License-Identifier: Apache-2.0 */
/* The network from the record of an adaptive sweep, where that was verified.
 * Tests: test_adaptive_record.c. */
#ifndef NT_SOLVE_ADAPTIVE_H
#define NT_SOLVE_ADAPTIVE_H

#include <stdint.h>

#include "err.h"
#include "model.h"
#include "samples.h"

/* order[k]: the record's host that is host k of the model, by names. Time and memory are about
 * linear in the readings. 1: *out is the network, which all readings support; 0: the record has
 * none such, and *out is not set. */
int nt_solve_adaptive(const struct nt_samples *samples, const uint32_t *order,
                      struct nt_model **out, struct nt_err *err);

#endif
