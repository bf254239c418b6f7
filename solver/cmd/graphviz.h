/* SPDX-License-Identifier: Apache-2.0 */
/* Graphviz as a program at run time: started without a shell, fed and read through pipes.
 * Tests: bats/commands.bats. */
#ifndef NT_GRAPHVIZ_H
#define NT_GRAPHVIZ_H

#include <stddef.h>

#include "err.h"

/* The SVG that neato draws of a DOT text; the caller's (free). NT_ERR_SYSTEM when Graphviz is not
 * installed, fails, or gives more than 256 MB. */
int nt_graphviz_svg(const char *dot, size_t dot_bytes, char **svg, size_t *bytes,
                    struct nt_err *err);

#endif
