/* Starting nettopo-prolog and waiting for it, never for longer than told.
 *
 * It inherits /dev/null on 0 and 1, a pipe on 2, no other descriptor, and of the environment only
 * what it reads. The first line that it says on 2 becomes part of the error. */
#ifndef NT_SPAWN_H
#define NT_SPAWN_H

#include "err.h"

/* argv ends with NULL, argv[0] is the path. 0 when it ended by itself with status 0; else one
 * sentence. When seconds are over it is killed with its whole process group. */
int nt_spawn_wait(char *const argv[], double seconds, struct nt_err *err);

#endif
