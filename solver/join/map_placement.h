/* SPDX-License-Identifier: Apache-2.0 */
/* The hint of a map.
 * Tests: test_solve.c. */
#ifndef NT_MAP_PLACEMENT_H
#define NT_MAP_PLACEMENT_H

#include <stdint.h>

#include "err.h"
#include "map.h"
#include "samples.h"

/* Sets map->placement for a task on every slot of the hosts that answered. pattern "": neighbour;
 * matrix:PATH: what samples (may be NULL) hold of it. A pattern that is impossible (it does not fit
 * the tasks, say) costs a warning, not the map; where hosts are not joined, there is no placement
 * at all. */
int nt_map_place(struct nt_map *map, const uint32_t *slots, const char *pattern,
                 const struct nt_samples *samples, struct nt_err *err);

#endif
