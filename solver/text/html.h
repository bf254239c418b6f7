/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of a map for people: one page, complete in itself, that loads nothing from a network.
 * page.html, page.css and page_*.js are compiled in; they lay out trees. Where a network is no
 * tree, layout.h says where its vertices stand.
 *
 * Tests: test_layout.c, bats/page.bats. */
#ifndef NT_HTML_H
#define NT_HTML_H

#include <stddef.h>

#include "err.h"
#include "picture.h"

/* A reference is drawn beside the map. The text is the caller's (free). Same picture, same bytes.
 */
int nt_html_write(const struct nt_picture *picture, char **text, size_t *bytes, struct nt_err *err);

#endif
