/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the parts of a sweep's record to its map that do not belong to the network: LogGP, stress
 * kernels, hardware models. Hosts are found by name.
 * Tests: test_map_record.c. */
#ifndef NT_MAP_RECORD_H
#define NT_MAP_RECORD_H

#include "err.h"
#include "map.h"
#include "samples.h"

/* Fills map->loggp, by class (nearest first), rail and size, from all PRTT samples between hosts
 * that the network connects. Samples of the phase NT_LOGGP_CHECK_PHASE are held out and compared
 * with predictions. A regime is left out if its line explains less than 0.9 of the variance, or if
 * its L or G is 0. Does nothing without PRTT samples. */
int nt_map_loggp(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

/* Fills map->stress from all kernels of the samples, in their order, with the measurement, the
 * prediction and the most congested link.
 *
 * Alone: every host runs its program (sim/kernels.h). A message leaves when earlier messages of its
 * host have left the host's link, and arrives as if the network were empty. The remaining time of
 * the kernel is due to messages that share links between switches, or the link of a host that
 * several send to. Shared: the same over the links of the map.
 *
 * The time of a pair is the longer one of LogGP for its class (if the map has it) and its latency
 * with its narrowest link. There is no prediction without the latency or bandwidth of a pair, or if
 * the record does not contain the participants. Call it after nt_map_loggp. */
int nt_map_stress(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

/* Fills map->machine, numbered by the map's hosts, and map->machine_of. Equal hosts share a model;
 * the latencies between their cores are medians over all of them. Does nothing if the record has no
 * hardware models. */
int nt_map_machines(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

#endif
