/* A network that somebody believes in, from whichever file says it. */
#ifndef NT_REFERENCE_H
#define NT_REFERENCE_H

#include "err.h"
#include "map.h"

/* The format is told by the text: a map (JSON), DOT, ibnetdiscover, topology.yaml or topology.conf.
 */
int nt_reference_read(const char *path, struct nt_map **out, struct nt_err *err);

#endif
