/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that Slurm has elsewhere, by scontrol update NodeName=... Topology=... (Slurm 25.05).
 * Tests: bats/fleet.bats, bats/fleet_jobs.bats. */
#ifndef NT_FLEET_SYNC_NODES_H
#define NT_FLEET_SYNC_NODES_H

#include <stdbool.h>

#include "err.h"
#include "json_write.h"
#include "map.h"

/* Prints a command for the nodes of each switch that are not there yet, and runs them when told to,
 * until one fails. A switch that Slurm has not is named with those above it, from one that it has
 * on: NT_ERR_INPUT when there is none, and nothing is run. What a node is in other topologies
 * stays. current NULL: Slurm has no switches. json not NULL: gets the commands, instead of standard
 * output. */
int nt_fleet_sync_nodes(const char *topology, const struct nt_map *current,
                        const struct nt_map *merged, bool tell, struct nt_json_writer *json,
                        struct nt_err *err);

#endif
