/* SPDX-License-Identifier: Apache-2.0 */
/* A reference coloured by how a map deviates from it, as Graphviz DOT.
 * Tests: bats/commands.bats. */
#ifndef NT_DEVIATION_DOT_H
#define NT_DEVIATION_DOT_H

#include <stddef.h>

#include "reference_match.h"

/* join/comparison_report.h's picture; message_bytes 0: 1 MiB, and 8 for a map without bandwidths.
 * The text is the caller's (free). */
int nt_deviation_dot_make(const struct nt_reference_match *match, double message_bytes, char **text,
                          size_t *bytes, struct nt_err *err);
int nt_deviation_dot_write(const struct nt_reference_match *match, double message_bytes,
                           const char *path, struct nt_err *err);

#endif
