/* SPDX-License-Identifier: Apache-2.0 */
/* The stress kernels of a map from the records of its samples: what was measured, what the map
 * says of it, and which link congests.
 *
 * Alone: every host plays its program (sim/program.h); a message leaves when those that its host
 * sent before have left the host's own link, and arrives as if the network were empty. What the
 * kernel takes longer is due to messages that meet: at links between switches, or at the link of
 * a host that several send to. Shared: the same through sim/kernels.h over the map's links. */
#ifndef NT_MAP_STRESS_H
#define NT_MAP_STRESS_H

#include "err.h"
#include "map.h"
#include "samples.h"

/* Fills map->stress from all kernels of the samples, in their order. A time of a pair is the
 * longer of what LogGP of its class (when the map has that) and its latency with its narrowest
 * link say. Predictions are absent where a pair's latency or bandwidth is, and for records that do
 * not say who took part. Hosts are found by name; call it after nt_map_loggp. */
int nt_map_stress(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

#endif
