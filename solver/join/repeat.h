/* Measures again the pairs that decide (plan/decide.h) where a network told from all pairs is not
 * sure, and infers it anew; a few times, until it is sure or nothing changes any more.
 *
 * A planner as sweep.h says. Each turn has two phases of repeats, in each of which its pairs are
 * read as often as all pairs were before: what then counts of them is in core/repeats.h, and
 * solving the record does the same. Pure, no clock: it may be ended at any time. */
#ifndef NT_REPEAT_H
#define NT_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"
#include "sweep.h"

/* A network of this confidence is left as it is. */
#define NT_REPEAT_SURE 0.9

enum { NT_REPEAT_PHASES = 2 }; /* a turn */

struct nt_repeat_ask {
    const struct nt_model *model;   /* as told from lowest; copied */
    const struct nt_matrix *lowest; /* of the readings of all pairs; borrowed */
    const struct nt_matrix *errors; /* standard errors of those, or NULL; borrowed */
    const bool *absent;             /* hosts of them; may be NULL */
    unsigned passes;                /* as often was each pair read */
    size_t most_rounds;             /* of different pairs in a turn */
    uint32_t batches, count;        /* of an order */
    uint64_t seed;                  /* of inference, and of what is random */
};

/* *rounds: of the first turn; 0: the network is sure, or nothing decides, and *out is NULL. */
int nt_repeat_create(const struct nt_repeat_ask *ask, struct nt_planner **out, size_t *rounds,
                     struct nt_err *err);

/* How often it inferred. For planners made above, as is the next. */
size_t nt_repeat_inferred(const struct nt_planner *planner);

/* The network by all that was told so far, inferred now if that is more than before; the caller's
 * own. */
int nt_repeat_model(struct nt_planner *planner, struct nt_model **out, struct nt_err *err);

#endif
