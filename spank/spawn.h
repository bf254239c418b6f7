/* SPDX-License-Identifier: Apache-2.0 */
/* Runs nettopo-prolog with a time limit. Independent of what the program does.
 *
 * The program inherits /dev/null as descriptors 0 and 1, a pipe as 2, and no other descriptor. Its
 * environment contains only the variables that it reads. The first line that it writes to
 * descriptor 2 becomes part of the error. */
#ifndef NT_SPAWN_H
#define NT_SPAWN_H

#include "err.h"

/* Runs argv[0], an absolute path; argv ends with NULL. option is passed in the variable
 * NETTOPO_OPTION (NULL: not set): it may name a file of the user, and other users can read argv. 0
 * if the program exits with status 0 within the given seconds. Otherwise -1 with NT_ERR_SYSTEM;
 * after the time limit the program is killed with its process group. */
int nt_spawn_wait(char *const argv[], const char *option, double seconds, struct nt_err *err);

#endif
