/* Which pairs decide whether a network is the right one: those to measure again where it is in
 * doubt.
 *
 * Of few hosts every pair does. Else those inside groups of little support; those of hosts on one
 * switch that read low against both hosts' other pairs, as two or three hosts behind a switch of
 * their own that was not found do; and those that do not fit. Hosts that would rest in a round meet
 * others, as controls. Pure; asks nothing but the model and the readings it is from. */
#ifndef NT_DECIDE_H
#define NT_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "memory.h"
#include "model.h"

enum { NT_DECIDE_FEW = 16 }; /* hosts */

/* A group below a link between switches is in doubt under this probability. */
#define NT_DECIDE_SUPPORT 0.99

struct nt_decision {
    struct nt_arena memory; /* of all arrays */
    size_t rounds;
    size_t *start;       /* rounds + 1: round r has pair[start[r]..start[r + 1]) */
    uint32_t (*pair)[2]; /* first < second, each pair once */
    size_t deciding;     /* pairs; the others are controls */
};

/* latency: what the model was inferred from. absent[i] (may be NULL): host i takes no part. At most
 * most_rounds, in each of which a host has one partner; what decides most comes first. Nothing
 * decides where the model has no switch. The same input and seed give the same rounds. */
int nt_decide(const struct nt_model *model, const struct nt_matrix *latency, const bool *absent,
              size_t most_rounds, uint64_t seed, struct nt_decision *out, struct nt_err *err);

void nt_decision_fini(struct nt_decision *decision);

#endif
