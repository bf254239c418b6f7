/* SPDX-License-Identifier: Apache-2.0 */
/* The hint of a map.
 * Tests: test_solve.c. */
#ifndef NT_MAP_PLACEMENT_H
#define NT_MAP_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "map.h"
#include "samples.h"

/* Sets map->placement for a task on every slot, without the hosts that the samples' job does
 * without (spare.h). Hosts that did not answer come last, but the job's first host stays first. Of
 * a network that is not determined only which hosts are left out is placed. pattern "": neighbour;
 * matrix:PATH: what samples (may be NULL) hold of it. A pattern that is impossible (it does not fit
 * the tasks, say) costs a warning, not the map; where hosts are not joined, there is no placement
 * at all. */
int nt_map_place(struct nt_map *map, const uint32_t *slots, const char *pattern,
                 const struct nt_samples *samples, bool determined, struct nt_err *err);

#endif
