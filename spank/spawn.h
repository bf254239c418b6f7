/* SPDX-License-Identifier: Apache-2.0 */
/* Runs nettopo-prolog with a time limit.
 *
 * It inherits /dev/null on 0 and 1, a pipe on 2, no other descriptor, and only the environment
 * variables that it reads. The first line that it writes to 2 becomes part of the error. */
#ifndef NT_SPAWN_H
#define NT_SPAWN_H

#include "err.h"

/* argv ends with NULL, argv[0] is the path. option (NULL: none) becomes NETTOPO_OPTION: it may name
 * a file of the user, and others see argv. 0 when it exited with status 0 in time; else an error.
 * After that many seconds it is killed with its process group. */
int nt_spawn_wait(char *const argv[], const char *option, double seconds, struct nt_err *err);

#endif
