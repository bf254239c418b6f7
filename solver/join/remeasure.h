/* SPDX-License-Identifier: Apache-2.0 */
/* Measures again the pairs that decide (plan/deciding_pairs.h) where a network inferred from all
 * pairs is uncertain, and infers it anew; a few times, until it is certain or nothing changes any
 * more.
 *
 * A planner as sweep.h says. Each turn has two phases of repeats, in each of which its pairs are
 * read as often as all pairs were before: what then counts of them is in core/repeats.h, and
 * solving the record does the same. Pure, no clock: it may be ended at any time. */
#ifndef NT_REMEASURE_H
#define NT_REMEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"
#include "sweep.h"

/* A network of this confidence is left as it is. */
#define NT_REMEASURE_CONFIDENCE 0.9

enum { NT_REMEASURE_PHASES = 2 }; /* a turn */

struct nt_remeasure_input {
    const struct nt_model *model;        /* as inferred from min_latency; copied */
    const struct nt_matrix *min_latency; /* of the readings of all pairs; borrowed */
    const struct nt_matrix *errors;      /* standard errors of those, or NULL; borrowed */
    const bool *missing;                 /* hosts of them; may be NULL */
    unsigned passes;                     /* as often was each pair read */
    size_t most_rounds;                  /* of different pairs in a turn */
    uint32_t batches, count;             /* of an order */
    uint64_t seed;                       /* of inference, and of what is random */
};

/* *rounds: of the first turn; 0: the network is certain, or no pair decides, and *out is NULL. */
int nt_remeasure_create(const struct nt_remeasure_input *input, struct nt_planner **out,
                        size_t *rounds, struct nt_err *err);

/* How often it inferred. For planners made above, as is the next. */
size_t nt_remeasure_inferred(const struct nt_planner *planner);

/* The network by all results so far, inferred now if there are new ones; the caller's own. */
int nt_remeasure_model(struct nt_planner *planner, struct nt_model **out, struct nt_err *err);

#endif
