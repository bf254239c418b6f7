/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of a map for people: one page, complete in itself, that loads nothing from a network.
 * The layout is layout.h's, in two and three dimensions; page.html draws it.
 * Tests: test_layout.c. */
#ifndef NT_HTML_H
#define NT_HTML_H

#include <stddef.h>

#include "err.h"
#include "map.h"

/* reference (may be NULL): another map of these hosts, drawn beside the first with what differs
 * marked. titles: what the panes are called; titles[1] is not read without a reference. The text is
 * the caller's (free). Same maps, same bytes. */
int nt_html_write(const struct nt_map *map, const struct nt_map *reference,
                  const char *const titles[2], char **text, size_t *bytes, struct nt_err *err);

#endif
