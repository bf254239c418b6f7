/* SPDX-License-Identifier: Apache-2.0 */
/* What the hosts of a map are inside, from the record: equal hosts share a model, and the latencies
 * between their cores are medians over all of them. */
#ifndef NT_MAP_MACHINES_H
#define NT_MAP_MACHINES_H

#include "err.h"
#include "map.h"
#include "samples.h"

/* Fills map->machine, numbered as the map's hosts come, and map->machine_of. A record without
 * models leaves the map as it is. Hosts are found by name. */
int nt_map_machines(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

#endif
