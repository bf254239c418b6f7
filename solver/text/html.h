/* SPDX-License-Identifier: Apache-2.0 */
/* A map as a web page: one self-contained file that loads nothing from a network. page.html,
 * page.css and page_*.js are compiled in.
 *
 * The page contains values as texts, colours, thickness, opacity, the sizes of rows (picture.h) and
 * the positions of vertices (layout.h). Its script only places rows and labels, because they depend
 * on folded parts, the window and its fonts, the day, and the rotation of the picture.
 * Tests: test_picture.c, bats/page.bats. */
#ifndef NT_HTML_H
#define NT_HTML_H

#include <stddef.h>

#include "err.h"
#include "picture.h"

/* Writes the page, with the reference beside the map if there is one. The caller frees the text.
 * The same picture gives the same bytes. */
int nt_html_write(const struct nt_picture *picture, char **text, size_t *bytes, struct nt_err *err);

#endif
