/* SPDX-License-Identifier: Apache-2.0 */
/* The network as it is believed (core/belief.h), where nothing was measured: clusters as switches,
 * the latencies of the levels as its links, and of all of it the support that the belief has.
 * Tests: test_prior_record.c. */
#ifndef NT_BELIEVED_TAKEN_H
#define NT_BELIEVED_TAKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "belief.h"
#include "err.h"
#include "model.h"

/* belief: taken, of at least one level. order[k]: its host that is host k of the model.
 * missing[hosts of the belief]: takes no part. 1: *out is the network, canonical; 0: of a host that
 * takes part nothing is believed, or fewer than two do. */
int nt_believed_taken(const struct nt_belief *belief, const bool *missing, const uint32_t *order,
                      struct nt_model **out, struct nt_err *err);

#endif
