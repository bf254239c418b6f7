/* SPDX-License-Identifier: Apache-2.0 */
/* LogGP of a cluster's paths from what its jobs measured, for jobs that lack the time for it
 * (Lichei 2006, section 6: parameters are kept between runs).
 *
 * Of each class of paths and device the job counts with which most others agree: its regimes are
 * stated as they are, since a mean over jobs whose regimes end at different sizes describes none.
 * Two agree if their times and gaps differ by less than a fifth at all sizes that both have.
 * Support is Laplace's (k + 1) / (n + 2) for k of n jobs that agree, itself among them. Nothing is
 * stated that jobs of one user alone say, or that has less support than one half.
 * Tests: test_store.c, bats/fleet.bats. */
#ifndef NT_FLEET_LOGGP_H
#define NT_FLEET_LOGGP_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"
#include "store.h"

/* Jobs since then. Entries with seen and support, in the order of a prior; *out is the caller's. */
int nt_fleet_loggp(struct nt_store *store, int64_t since_s, struct nt_loggp **out, size_t *n,
                   struct nt_err *err);

#endif
