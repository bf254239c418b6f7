/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a map as a drawn tree, or as a list of links without switches.
 * Tests: bats/commands.bats. */
#ifndef NT_SHOW_NET_H
#define NT_SHOW_NET_H

#include <stdbool.h>

#include "err.h"
#include "map.h"
#include "strbuf.h"
#include "terminal.h"

/* all: every host and link on a line of its own; otherwise those alike share one when the map is
 * too large for a screen. */
int nt_show_net(const struct nt_map *map, bool all, const struct nt_terminal *terminal,
                struct nt_strbuf *buf, struct nt_err *err);

#endif
