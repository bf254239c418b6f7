/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of a sweep holds for its map beside the network: LogGP, stress kernels, machines.
 * Tests: test_map_record.c. */
#ifndef NT_MAP_RECORD_H
#define NT_MAP_RECORD_H

#include "err.h"
#include "map.h"
#include "samples.h"

/* Fills map->loggp, in the order of classes (nearest first), rails and sizes, from all PRTT samples
 * between hosts that the map's network joins. Records of the phase NT_LOGGP_CHECK_PHASE are held
 * out and checked against. A regime whose line explains under 0.9 of the variance, or of which L or
 * G came out at 0, is not stated. Samples without any leave the map as it is; hosts are found by
 * name. */
int nt_map_loggp(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

/* Fills map->stress from all kernels of the samples, in their order: what was measured, what the
 * map predicts, and which link congests.
 *
 * Alone: every host plays its program (sim/kernels.h); a message leaves when those that its host
 * sent before have left the host's own link, and arrives as if the network were empty. What the
 * kernel takes longer is due to messages that meet: at links between switches, or at the link of
 * a host that several send to. Shared: the same through sim/kernels.h over the map's links.
 *
 * A time of a pair is the longer of what LogGP of its class (when the map has that) and its latency
 * with its narrowest link say. Predictions are absent where a pair's latency or bandwidth is, and
 * for records that do not say who took part. Hosts are found by name; call it after nt_map_loggp.
 */
int nt_map_stress(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

/* Fills map->machine, numbered as the map's hosts come, and map->machine_of: what the hosts are
 * inside. Equal hosts share a model, and the latencies between their cores are medians over all of
 * them. A record without models leaves the map as it is. Hosts are found by name. */
int nt_map_machines(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

#endif
