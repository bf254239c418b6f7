/* SPDX-License-Identifier: Apache-2.0 */
/* The stress kernels of a map as a table.
 * Tests: bats/commands.bats. */
#ifndef NT_SHOW_STRESS_H
#define NT_SHOW_STRESS_H

#include "map.h"
#include "strbuf.h"

/* Nothing when there are none; sentences where width columns are too few for a table. */
void nt_show_stress(struct nt_strbuf *buf, const struct nt_map *map, size_t width);

#endif
