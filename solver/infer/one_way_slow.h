/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a tree that are slow one way only, from latencies of both directions of pairs.
 *
 * What the two directions of a pair differ by is the sum over the links on the way of what theirs
 * differ by. A link's is the median over the pairs across it; links are taken one by one, that
 * which explains most (least absolute deviations), and taken out of all pairs. The confidence is
 * that of fault_odds.h, against what the links of the tree differ by otherwise.
 * Tests: test_faults.c. */
#ifndef NT_INFER_ONE_WAY_SLOW_H
#define NT_INFER_ONE_WAY_SLOW_H

#include <stddef.h>

#include "err.h"
#include "fault.h"
#include "matrix.h"
#include "model.h"

/* Adds findings of kind NT_FAULT_LINK_SLOW with way up or down to the count there are, or sets the
 * way of one that is there; fault: room for NT_FAULTS_MAX. latency: row to column, of the model's
 * hosts; half round trips have no difference, and give nothing. found is that way's latency. */
int nt_one_way_slow_find(const struct nt_model *model, const struct nt_matrix *latency,
                         struct nt_fault *fault, size_t *count, struct nt_err *err);

#endif
