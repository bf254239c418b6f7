/* SPDX-License-Identifier: Apache-2.0 */
/* LogGP of a cluster's paths from the measurements of its jobs, for jobs that have no time to
 * measure it (Lichei 2006, section 6: parameters are kept between runs).
 *
 * For each class of paths and device, the job with which most others agree is selected, and its
 * values are used unchanged, because a mean over jobs whose ranges of sizes differ describes none
 * of them. Two jobs agree if their times and gaps differ by less than a slow link's from the usual
 * ones (NT_FAULT_SLOWER) at all sizes that both have. The support is Laplace's (k + 1) / (n + 2)
 * for k of n jobs that agree, including the job itself. Nothing is reported that jobs of only one
 * user show, or that has a support below one half.
 * Tests: test_store.c, bats/fleet.bats. */
#ifndef NT_FLEET_LOGGP_H
#define NT_FLEET_LOGGP_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"
#include "store.h"

/* Uses jobs since since_s. Returns entries with seen and support in the order of a prior; the
 * caller frees *out. */
int nt_fleet_loggp(struct nt_store *store, int64_t since_s, struct nt_loggp **out, size_t *n,
                   struct nt_err *err);

#endif
