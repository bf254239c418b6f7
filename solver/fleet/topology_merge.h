/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm's topology would become: the tree that jobs measured, in the names that Slurm has,
 * with everything of Slurm's that was not measured as it is.
 *
 * A measured switch takes the name of the one that has most of its hosts, more than half of either.
 * Hosts that are not placed with enough support stay on the switch that Slurm has them on. Pure.
 * Tests: test_topology_merge.c. */
#ifndef NT_TOPOLOGY_MERGE_H
#define NT_TOPOLOGY_MERGE_H

#include "err.h"
#include "json_write.h"
#include "map.h"
#include "strbuf.h"

/* measured: a tree of switches, hosts that are not placed on no link. current: what Slurm has,
 * NULL: nothing. *out: a map with names and no figures, for nt_export_topology_conf and _yaml.
 * changes (appended to): a line for each host that comes, moves, and each switch that is new or
 * gone; none when nothing changes. json (may be NULL): gets them as items. NT_ERR_INPUT: measured
 * is no tree of switches. */
int nt_topology_merge(const struct nt_map *measured, const struct nt_map *current,
                      struct nt_map **out, struct nt_strbuf *changes, struct nt_json_writer *json,
                      struct nt_err *err);

/* A tree of switches as topology/block has it: each switch that has hosts of its own is a block,
 * and all of them are below one. Pure.
 * */

/* The name of what all blocks are below, as importing a topology has it. */
#define NT_TOPOLOGY_BLOCKS_TOP "blocks"

/* Hosts on no link stay on none. NT_ERR_INPUT: no switch has hosts. */
int nt_topology_blocks(const struct nt_map *tree, struct nt_map **out, struct nt_err *err);

#endif
