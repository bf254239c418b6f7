/* A reference coloured by how a map deviates from it, as Graphviz DOT. */
#ifndef NT_COLOURED_H
#define NT_COLOURED_H

#include <stddef.h>

#include "against.h"

/* join/report.h's picture; message_bytes 0: 1 MiB, and 8 for a map without bandwidths. The text is
 * the caller's (free). */
int nt_coloured_make(const struct nt_against *against, double message_bytes, char **text,
                     size_t *bytes, struct nt_err *err);
int nt_coloured_write(const struct nt_against *against, double message_bytes, const char *path,
                      struct nt_err *err);

#endif
