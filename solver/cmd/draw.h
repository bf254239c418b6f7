/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a map (text/picture.h) with all that they show: the differences against a reference,
 * and what the pattern of the map's hint lays on each link.
 * Tests: bats/page.bats, bats/exports.bats. */
#ifndef NT_DRAW_H
#define NT_DRAW_H

#include <stddef.h>

#include "err.h"
#include "picture.h"

typedef int nt_picture_writer(const struct nt_picture *picture, char **text, size_t *bytes,
                              struct nt_err *err);

/* reference and its name may be NULL: none. */
int nt_draw(const struct nt_map *map, const char *name, const struct nt_map *reference,
            const char *reference_name, nt_picture_writer *write, char **text, size_t *bytes,
            struct nt_err *err);

#endif
