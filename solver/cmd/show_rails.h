/* SPDX-License-Identifier: Apache-2.0 */
/* The advice for several rails, as `nettopo show` prints it.
 * Tests: bats/commands.bats. */
#ifndef NT_SHOW_RAILS_H
#define NT_SHOW_RAILS_H

#include "err.h"
#include "map.h"
#include "strbuf.h"

/* For each class of paths which rail for which sizes, and the settings of UCX for it. Nothing when
 * the map has no two rails of any class. */
int nt_show_rails(struct nt_strbuf *d, const struct nt_map *map, struct nt_err *err);

#endif
