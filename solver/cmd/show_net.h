/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the network of a map as a tree, or as a list of links if it has no switches.
 * Tests: bats/commands.bats. */
#ifndef NT_SHOW_NET_H
#define NT_SHOW_NET_H

#include <stdbool.h>

#include "err.h"
#include "map.h"
#include "strbuf.h"
#include "terminal.h"

/* all: every host and link on a line of its own; otherwise similar ones share a line if the map is
 * too large for the screen. */
int nt_show_net(const struct nt_map *map, bool all, const struct nt_terminal *terminal,
                struct nt_strbuf *buf, struct nt_err *err);

#endif
