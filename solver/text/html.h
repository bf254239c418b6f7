/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of a map for people: one page, complete in itself, that loads nothing from a network.
 * page.html, page.css and page_*.js are compiled in. The page receives colours, thickness, opacity,
 * the measures of rows (picture.h) and where vertices stand by latency (layout.h). Its script lays
 * rows and labels only, since they depend on what is folded, the window and its fonts, the day,
 * and how the picture is turned.
 *
 * Tests: test_picture.c, bats/page.bats. */
#ifndef NT_HTML_H
#define NT_HTML_H

#include <stddef.h>

#include "err.h"
#include "picture.h"

/* A reference is drawn beside the map. The text is the caller's (free). Same picture, same bytes.
 */
int nt_html_write(const struct nt_picture *picture, char **text, size_t *bytes, struct nt_err *err);

#endif
