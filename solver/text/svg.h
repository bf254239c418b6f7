/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of a map as SVG, to put into a document: the page's tree (html.h) with nothing to
 * press.
 *
 * A switch is a bar as high as what hangs on it, a link a straight line of its own, as thick as it
 * is wide; a label stands beside what it names, so that nothing crosses and nothing overlaps. Only
 * findings and differences against the picture's reference are in the strong colour. Above
 * NT_SVG_HOSTS hosts those of a switch that have neither share a line. What is no tree of switches
 * stands as its latencies say (layout.h).
 *
 * Tests: test_picture.c, bats/exports.bats, bats/page.bats. */
#ifndef NT_SVG_H
#define NT_SVG_H

#include <stddef.h>

#include "err.h"
#include "picture.h"

enum { NT_SVG_HOSTS = 128 };

/* The text is the caller's (free). Same picture, same bytes. */
int nt_svg_write(const struct nt_picture *picture, char **text, size_t *bytes, struct nt_err *err);

#endif
