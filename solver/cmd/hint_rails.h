/* SPDX-License-Identifier: Apache-2.0 */
/* What rails are worth, message size by message size, as `nettopo hint --rails` prints it.
 * Tests: bats/commands.bats. */
#ifndef NT_HINT_RAILS_H
#define NT_HINT_RAILS_H

#include <stddef.h>

#include "err.h"
#include "map.h"

/* For each class of paths with a LogGP of two rails or more. *text is the caller's (free).
 * NT_ERR_INPUT: the map has no such class. */
int nt_hint_rails(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err);

#endif
