/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidths of links from the flows in a record: infer/flow_links.h for a map.
 * Tests: test_flow_links.c. */
#ifndef NT_LINK_FLOWS_H
#define NT_LINK_FLOWS_H

#include <stdint.h>

#include "err.h"
#include "map.h"
#include "samples.h"

/* Flows of one round ran at the same time; those of the phase "warm-up" do not count, nor those of
 * a round in which one failed: a link that only they went through has no bandwidth then. order[k]
 * is the record's host that is host k of the map. Sets the figures of the map's links and switches
 * (infer/flow_links.h, infer/switch_throughput.h), suspect only where a link is narrower than its
 * class. 1; 0 without flows: then the map stays as it is. */
int nt_link_flows(struct nt_map *map, const struct nt_samples *samples, const uint32_t *order,
                  struct nt_err *err);

/* Then, from the same flows, the map's findings of links that share a path (infer/shared_paths.h):
 * added to map->fault, which has room for NT_FAULTS_MAX. */
int nt_link_flows_shared(struct nt_map *map, const struct nt_samples *samples,
                         const uint32_t *order, struct nt_err *err);

#endif
