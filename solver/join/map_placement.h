/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the hint of a map.
 * Tests: test_solve.c. */
#ifndef NT_MAP_PLACEMENT_H
#define NT_MAP_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "map.h"
#include "samples.h"

/* Sets map->placement for one task per slot, without the spare hosts of the samples' job (spare.h).
 * Hosts that did not answer come last, but the job's first host stays first. If the network is
 * undetermined, only spare hosts are selected. pattern "": neighbour; matrix:PATH: the matrix in
 * samples (may be NULL). An impossible pattern (such as one for another number of tasks) gives a
 * warning, not an error; if hosts are not connected, there is no placement. */
int nt_map_place(struct nt_map *map, const uint32_t *slots, const char *pattern,
                 const struct nt_samples *samples, bool determined, struct nt_err *err);

#endif
