/* SPDX-License-Identifier: Apache-2.0 */
/* Since when what is in a map is worse than it was, where the fleet's store can be read.
 * Tests: bats/fleet.bats. */
#ifndef NT_SHOW_SINCE_H
#define NT_SHOW_SINCE_H

#include "map.h"
#include "strbuf.h"

/* A line for each host of the map whose link is worse than it was; nothing without fleet_store in
 * nettopo.conf, or when it cannot be read or is of another cluster. store: NULL, or in its place.
 */
void nt_show_since(struct nt_strbuf *d, const struct nt_map *map, const char *store);

#endif
