/* SPDX-License-Identifier: Apache-2.0 */
/* From the record of a sweep to the map's findings of lossy links (infer/losses.h).
 * Tests: test_losses.c. */
#ifndef NT_MAP_LOSSES_H
#define NT_MAP_LOSSES_H

#include <stdint.h>

#include "err.h"
#include "map.h"
#include "samples.h"

/* Adds to map->fault, which has room for NT_FAULTS_MAX. order[k]: the record's number of the map's
 * host k. Flows count of phase host-links, where each has its links to itself. */
int nt_map_losses(const struct nt_samples *samples, const uint32_t *order, struct nt_map *map,
                  struct nt_err *err);

#endif
