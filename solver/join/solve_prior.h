/* SPDX-License-Identifier: Apache-2.0 */
/* The network from the record of a sweep that started from what was believed, where that was
 * verified.
 * Tests: test_prior_record.c. */
#ifndef NT_SOLVE_PRIOR_H
#define NT_SOLVE_PRIOR_H

#include <stdint.h>

#include "err.h"
#include "map.h"
#include "model.h"
#include "samples.h"

/* order[k]: the record's host that is host k of the model, by names. use: what came of the belief,
 * where the record has one. 1: *out is the network, which all readings support, and *pairs how many
 * were read; 0: the record has none such, and neither is set. */
int nt_solve_prior(const struct nt_samples *samples, const uint32_t *order, struct nt_model **out,
                   uint64_t *pairs, struct nt_prior_use *use, struct nt_err *err);

#endif
