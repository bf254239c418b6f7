/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the measurement of LogGP parameters: which PRTT(n, d, s) (Lichei 2006, chapter 3), between
 * which hosts.
 *
 * A class of paths is the number of switches (of links, if hosts are switches) between two hosts;
 * one pair measures it. Classes whose pairs share no link are measured in the same rounds. The
 * steps for each set of classes on each rail follow; all sets and rails complete a step before the
 * next one begins:
 * 1. round trips of single messages, sizes in factors of four, or of 16 if time is short;
 * 2. sizes in between if a straight line between neighbours does not fit, and the middle between
 * regimes that jump, which locates the change of protocol;
 * 3. trains without delay in every regime: the gap;
 * 4. trains with a delay well above the gap (section 3.5.2: near it the delay disturbs): the
 * overhead of the sender;
 * 5. answers that wait until they are received: the overhead of the receiver (infer/loggp_fit.h);
 * 6. round trips of other sizes, in phase "loggp-check", to check the prediction.
 *
 * Repetitions and n follow from earlier results, so that a round takes about round_s. window_s of
 * each order is the expected duration.
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
    size_t rails;            /* below 2: one rail without a name, selected by the transport */
    const char *const *rail; /* names of devices; with several, all together come last */
    double max_bytes;        /* 0: 4 MiB */
    double round_s;          /* 0: 0.03 */
    double longest_s;        /* limit of one order; 0: 2 */
    double seconds; /* for everything; near the limit, sizes and gaps are left out; 0: no limit */
    double round_overhead_s; /* duration of a round in addition to its window */
};

/* settings may be NULL; settings and model are not kept. If the model has no two connected hosts,
 * the planner has no rounds. The caller frees *out. */
int nt_loggp_create(const struct nt_model *model, const struct nt_loggp_settings *settings,
                    struct nt_planner **out, struct nt_err *err);

/* Reports the duration of the last round; with it the planner keeps its time limit. It leaves out
 * sizes first, then the check. 0: unknown. */
void nt_loggp_took(struct nt_planner *planner, double seconds);

/* Estimated number of remaining rounds; *optional: those after step 1. */
size_t nt_loggp_rounds_left(const struct nt_planner *planner, size_t *optional);
/* Estimated time for which a round loads the network. */
double nt_loggp_round_s(const struct nt_planner *planner);

#endif
