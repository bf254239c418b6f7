/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces a map's confidence for disturbed readings.
 * Tests: test_solve.c. */
#ifndef NT_DISTURBED_CONFIDENCE_H
#define NT_DISTURBED_CONFIDENCE_H

#include "err.h"
#include "map.h"
#include "samples.h"

/* A pair that is to be expected to have disturbed readings alone (disturbed.h) may lead to another
 * network, which the noise in the readings does not show. From 0.3 expected pairs on a warning says
 * so. For maps of all pairs. */
int nt_disturbed_confidence_apply(const struct nt_samples *samples, struct nt_map *map,
                                  struct nt_err *err);

#endif
