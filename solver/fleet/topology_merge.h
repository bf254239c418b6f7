/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the measured tree into Slurm's topology, with Slurm's names; parts of Slurm's topology
 * that were not measured remain. A measured switch gets the name of a Slurm switch if more than
 * half of the hosts of either are common. Hosts without enough support stay on their switch in
 * Slurm. No I/O.
 * Tests: test_topology_merge.c. */
#ifndef NT_TOPOLOGY_MERGE_H
#define NT_TOPOLOGY_MERGE_H

#include "err.h"
#include "json_write.h"
#include "map.h"
#include "strbuf.h"

/* Removes the links of hosts that may be alone on a switch. Call it before nt_topology_merge. In
 * the measured tree, the link of such a host and the link of its switch are one link. This link
 * leads to a switch above. If that switch has no other branch, it leads to the switch beside it. A
 * host stays on its switch of Slurm if no other host of that switch was measured, and if its link
 * is longer than those of other hosts by a link between switches. current may be NULL. */
int nt_topology_keep_alone(struct nt_map *measured, const struct nt_map *current,
                           struct nt_err *err);

/* Merges. measured: a tree of switches; hosts without a place have no link. current: Slurm's
 * topology; NULL: none. *out: a map with names and without values, for nt_export_topology_conf and
 * _yaml. changes (appended): one line for each host that is new or moves, and for each switch that
 * is new or removed; nothing without changes. json (may be NULL): gets them as items. NT_ERR_INPUT:
 * measured is not a tree of switches. */
int nt_topology_merge(const struct nt_map *measured, const struct nt_map *current,
                      struct nt_map **out, struct nt_strbuf *changes, struct nt_json_writer *json,
                      struct nt_err *err);

/* Converts a tree of switches to topology/block: each switch with hosts is a block, and all blocks
 * are below one switch. No I/O. */

/* The name of the switch above all blocks, as in an imported topology. */
#define NT_TOPOLOGY_BLOCKS_TOP "blocks"

/* Converts tree. Hosts without a link have none in *out. NT_ERR_INPUT: no switch has hosts. */
int nt_topology_blocks(const struct nt_map *tree, struct nt_map **out, struct nt_err *err);

#endif
