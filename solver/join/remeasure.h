/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the deciding pairs (plan/deciding_pairs.h) again if a network that was inferred from all
 * pairs is uncertain, and infers it again; a few times, until it is certain or nothing changes.
 *
 * Implements sweep.h. Each turn has two phases of repetitions, each with as many readings per pair
 * as the passes over all pairs. core/repeats.h combines the readings, here and when the record is
 * solved. Pure, no clock: it can end at any time. */
#ifndef NT_REMEASURE_H
#define NT_REMEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"
#include "sweep.h"

/* Networks with this confidence are not measured again. */
#define NT_REMEASURE_CONFIDENCE 0.9

enum { NT_REMEASURE_PHASES = 2 }; /* per turn */

struct nt_remeasure_input {
    const struct nt_model *model;        /* inferred from min_latency; copied */
    const struct nt_matrix *min_latency; /* of all pairs; borrowed */
    const struct nt_matrix *errors;      /* of min_latency, or NULL; borrowed */
    const bool *missing;                 /* per host; may be NULL */
    unsigned passes;                     /* readings per pair so far */
    size_t most_rounds;                  /* limit of rounds with different pairs per turn */
    uint32_t batches, count;             /* per order */
    uint64_t seed;                       /* of inference and of random choices */
};

/* *rounds: of the first turn; 0: the network is certain, or there are no deciding pairs, and *out
 * is NULL. The caller frees *out. */
int nt_remeasure_create(const struct nt_remeasure_input *input, struct nt_planner **out,
                        size_t *rounds, struct nt_err *err);

/* The number of inferences so far. These functions take planners of nt_remeasure_create only. */
size_t nt_remeasure_inferences(const struct nt_planner *planner);

/* The network from all results so far, inferred now if there are new ones. The caller frees
 * *out. */
int nt_remeasure_model(struct nt_planner *planner, struct nt_model **out, struct nt_err *err);

#endif
