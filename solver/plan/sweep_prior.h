/* SPDX-License-Identifier: Apache-2.0 */
/* A latency sweep that starts from knowledge: verifies what is believed of the hosts
 * (core/belief.h), and measures what is not known, unsure or contradicted.
 *
 * In the first rounds hosts of a switch are joined, one or two pairs a host; then clusters are read
 * apart, in rounds in which each has as many partners as it has hosts; what does not fit is read
 * again, and hosts that are elsewhere are placed (infer/believed.h). Three to five rounds where all
 * is as believed. A planner as sweep.h says.
 * Tests: test_sweep_prior.c. */
#ifndef NT_SWEEP_PRIOR_H
#define NT_SWEEP_PRIOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belief.h"
#include "believed.h"
#include "err.h"
#include "sweep.h"

/* belief: copied; of the hosts of the setup. There are more batches where readings are noisy. */
int nt_sweep_prior_create(const struct nt_belief *belief, const struct nt_sweep_setup *setup,
                          struct nt_planner **out, struct nt_err *err);

/* When it has ended: OPEN, too, when it gave up. Only for planners made above. */
enum nt_sparse_verdict nt_sweep_prior_verdict(const struct nt_planner *planner);

/* The network that was verified: see nt_believed_sparse. */
int nt_sweep_prior_known(const struct nt_planner *planner, struct nt_sparse *out,
                         struct nt_err *err);

#endif
