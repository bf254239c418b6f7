/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts with several network devices: for each class of paths that was measured over two or more of
 * them which rail for which sizes, in words and as a table.
 * Tests: bats/commands.bats. */
#ifndef NT_RAILS_TEXT_H
#define NT_RAILS_TEXT_H

#include "err.h"
#include "map.h"
#include "strbuf.h"

/* Which rail for which sizes, and the settings of UCX for it; nothing without such a class. */
int nt_rails_put_advice(struct nt_strbuf *d, const struct nt_map *map, struct nt_err *err);

/* The gain of rails by message size. *text is the caller's (free). NT_ERR_INPUT:
 * the map has no such class. */
int nt_rails_table(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);

#endif
