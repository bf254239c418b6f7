/* SPDX-License-Identifier: Apache-2.0 */
/* From the record of a sweep to what its rails say of the map's findings (infer/rail_faults.h).
 * Tests: test_rail_faults.c. */
#ifndef NT_MAP_RAILS_H
#define NT_MAP_RAILS_H

#include <stdint.h>

#include "err.h"
#include "map.h"
#include "samples.h"

/* Refines map->fault, which has room for NT_FAULTS_MAX. order[k]: the record's number of the map's
 * host k. Of phase "rails" (plan/rail_links.h). */
int nt_map_rails(const struct nt_samples *samples, const uint32_t *order, struct nt_map *map,
                 struct nt_err *err);

#endif
