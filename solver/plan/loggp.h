/* SPDX-License-Identifier: Apache-2.0 */
/* LogGP on the wire: which PRTT(n, d, s) (Lichei 2006, chapter 3) to measure, between which hosts.
 *
 * A class of paths is how many switches (links, where hosts are switches) lie between two hosts;
 * it is measured by one pair. Classes whose pairs share no link are measured in the same rounds.
 * For each set of classes, on each rail, in this order, all sets and rails a step before any goes
 * on:
 *   1. round trips of single messages, sizes in factors of four, or of 16 if the time is short;
 *   2. sizes in between, where a straight line between neighbours fails, and halfway between
 *      regimes that jump: that narrows down where the protocol changes;
 *   3. trains without delay in every regime: the gap;
 *   4. trains with a delay of well over the gap (section 3.5.2: near it the delay disturbs): the
 *      sender's overhead;
 *   5. answers that wait until they are taken in: the receiver's overhead (infer/loggp_fit.h);
 *   6. round trips of sizes that none of these had, in phase "loggp-check": for the prediction.
 * Repetitions and n follow what was seen, so that a round takes about round_s. window_s of each
 * order is what it will take.
 * Tests: test_loggp_plan.c. */
#ifndef NT_PLAN_LOGGP_H
#define NT_PLAN_LOGGP_H

#include <stddef.h>

#include "err.h"
#include "model.h"
#include "sweep.h"

enum { NT_LOGGP_RAILS_MAX = 8, NT_LOGGP_CLASSES_MAX = 8 };

#define NT_LOGGP_PHASE "loggp"
#define NT_LOGGP_CHECK_PHASE "loggp-check"

struct nt_loggp_settings {
    size_t rails;            /* below 2: one without a name, what the transport chooses */
    const char *const *rail; /* names of devices; with several, all together come last */
    double max_bytes;        /* 0: 4 MiB */
    double round_s;          /* 0: 0.03 */
    double longest_s;        /* no order that would take longer; 0: 2 */
    double seconds;          /* for everything; when much of it is used up, sizes and gaps are
                                left out; 0: as long as it takes */
    double round_overhead_s; /* what a round takes besides its window */
};

/* settings may be NULL; nothing of it or of the model is kept. A model without two hosts that
 * reach each other gives a planner with nothing to do. */
int nt_loggp_create(const struct nt_model *model, const struct nt_loggp_settings *settings,
                    struct nt_planner **out, struct nt_err *err);

/* How long the round last ordered took: with that the planner keeps within its seconds. It leaves
 * out sizes first, then the check. 0: unknown. */
void nt_loggp_took(struct nt_planner *planner, double seconds);

/* About how many rounds are still to come; *optional: of them, those after the coarse sizes. */
size_t nt_loggp_rounds_left(const struct nt_planner *planner, size_t *optional);
/* For how long a round loads the network, about. */
double nt_loggp_round_s(const struct nt_planner *planner);

#endif
