/* SPDX-License-Identifier: Apache-2.0 */
/* What the hosts of a map are inside, a line a model.
 * Tests: bats/commands.bats. */
#ifndef NT_SHOW_MACHINES_H
#define NT_SHOW_MACHINES_H

#include "map.h"
#include "strbuf.h"

/* Nothing when it is not known. */
void nt_show_machines(struct nt_strbuf *buf, const struct nt_map *map);

#endif
