/* SPDX-License-Identifier: Apache-2.0 */
/* A map as an SVG picture for documents: the tree of the page (html.h) without controls.
 *
 * A switch is a bar as high as everything below it. A link is a straight line of its own, as thick
 * as its bandwidth. A label is beside its object, so that nothing crosses or overlaps. Only
 * findings and differences from the picture's reference have the strong colour. Above NT_SVG_HOSTS
 * hosts, hosts of a switch without findings or differences share a line. A network other than a
 * tree of switches is placed by its latencies, or as a grid (layout.h).
 * Tests: test_picture.c, bats/exports.bats, bats/page.bats. */
#ifndef NT_SVG_H
#define NT_SVG_H

#include <stddef.h>

#include "err.h"
#include "picture.h"

enum { NT_SVG_HOSTS = 128 };

/* Writes the picture. The caller frees the text. The same picture gives the same bytes. */
int nt_svg_write(const struct nt_picture *picture, char **text, size_t *bytes, struct nt_err *err);

#endif
