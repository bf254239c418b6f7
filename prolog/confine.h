/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel holds a probe by, beside its limits and the calls that it gives up (deny.h): what
 * it would make all the same ends with it. For the child between fork and exec, but for
 * nt_confine_fork. */
#ifndef NT_CONFINE_H
#define NT_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

/* fork, with the child as the first process of a PID namespace: when it ends the kernel ends all
 * that descend from it, however fast they multiply. A plain fork where the kernel refuses the
 * namespace, as to a caller who is not root. */
pid_t nt_confine_fork(void);

/* Closes the descriptors from first to last; last -1: all from first on. */
bool nt_confine_close(int first, int last);

/* Redirects 0 to 2 to /dev/null. Before, they are files of root, such as slurmd's log, or a pipe
 * that slurmd reads until its last holder has ended. */
bool nt_confine_standard(void);

/* Before the change of user. The kernel takes the process first when memory runs out (slurmd's own
 * children inherit that they are taken last), and another process of the user can neither trace
 * nor read it until its exec. */
void nt_confine_memory(void);

/* After the change of user: a new session keyring, since slurmd's is root's. False only where
 * there are keyrings and the kernel gives none. */
bool nt_confine_keyring(void);

#endif
