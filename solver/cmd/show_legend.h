/* SPDX-License-Identifier: Apache-2.0 */
/* What the words and signs of nettopo show mean: those that a map has.
 * Tests: bats/show.bats. */
#ifndef NT_SHOW_LEGEND_H
#define NT_SHOW_LEGEND_H

#include "map.h"
#include "strbuf.h"
#include "terminal.h"

void nt_show_legend(struct nt_strbuf *buf, const struct nt_map *map,
                    const struct nt_terminal *terminal);

#endif
