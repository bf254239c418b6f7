/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated sweep that starts from a prior.
 * Tests: bats/prior.bats. */
#ifndef NT_SIMULATE_PRIOR_H
#define NT_SIMULATE_PRIOR_H

#include "belief.h"
#include "err.h"

/* What the file says of these hosts. *out is the caller's. */
int nt_simulate_prior_read(const char *path, const char *const *host_name, size_t hosts,
                           struct nt_belief **out, struct nt_err *err);

#endif
