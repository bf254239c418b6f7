/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for hosts with several network devices: for each class of paths that was measured over two
 * or more of them, which device for which sizes, as text and as a table.
 * Tests: bats/commands.bats. */
#ifndef NT_RAILS_TEXT_H
#define NT_RAILS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "map.h"
#include "strbuf.h"

/* Appends which rail to use for which sizes, and the settings of UCX for it; nothing without such a
 * class. */
int nt_rails_put_advice(struct nt_strbuf *d, const struct nt_map *map, struct nt_err *err);

/* Writes tables of the gain of rails by message size, or the same as JSON. The caller frees *text.
 * NT_ERR_INPUT: the map has no such class. */
int nt_rails_table(const struct nt_map *map, bool json, char **text, size_t *bytes,
                   struct nt_err *err);

#endif
