/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of switches as topology/block has it: each switch that has hosts of its own is a block,
 * and all of them are below one. Pure.
 *
 * Tests: test_topology_merge.c. */
#ifndef NT_TOPOLOGY_BLOCKS_H
#define NT_TOPOLOGY_BLOCKS_H

#include "err.h"
#include "map.h"

/* The name of what all blocks are below, as importing a topology has it. */
#define NT_TOPOLOGY_BLOCKS_TOP "blocks"

/* Hosts on no link stay on none. NT_ERR_INPUT: no switch has hosts. */
int nt_topology_blocks(const struct nt_map *tree, struct nt_map **out, struct nt_err *err);

#endif
