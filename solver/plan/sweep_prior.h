/* SPDX-License-Identifier: Apache-2.0 */
/* A latency sweep that starts from a prior (core/belief.h): verifies it, and measures parts that
 * are unknown, uncertain or contradicted.
 *
 * The first rounds connect the hosts of a switch, with one or two pairs per host. Then clusters are
 * read apart, in rounds in which each cluster has as many partners as hosts. Pairs that do not fit
 * are read again, and hosts that moved are placed (infer/prior_check.h). A correct prior takes
 * three to five rounds. Implements sweep.h. Tests: test_sweep_prior.c. */
#ifndef NT_SWEEP_PRIOR_H
#define NT_SWEEP_PRIOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belief.h"
#include "err.h"
#include "prior_check.h"
#include "sweep.h"

/* belief: of the hosts of setup; copied. Noisy readings get more batches. The caller frees *out. */
int nt_sweep_prior_create(const struct nt_belief *belief, const struct nt_sweep_setup *setup,
                          struct nt_planner **out, struct nt_err *err);

/* The verdict after the last round; OPEN also if the sweep gave up. These functions take planners
 * of nt_sweep_prior_create only. */
enum nt_sparse_verdict nt_sweep_prior_verdict(const struct nt_planner *planner);

/* The verified network: see nt_prior_check_sparse. */
int nt_sweep_prior_network(const struct nt_planner *planner, struct nt_sparse *out,
                           struct nt_err *err);

#endif
