/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that the kernel enforces on the probe, in addition to its resource limits and the system
 * calls that it gives up (deny.h). Everything that the probe starts ends with it. The functions are
 * for the child between fork and exec, except nt_confine_fork. */
#ifndef NT_CONFINE_H
#define NT_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

/* Forks. The child is the first process of a new PID namespace: when it ends, the kernel ends all
 * its descendants, however fast they multiply. Without the namespace, as for a caller other than
 * root, this is a plain fork. */
pid_t nt_confine_fork(void);

/* Closes the descriptors from first to last; last -1: all from first on. Returns whether it
 * succeeded. */
bool nt_confine_close(int first, int last);

/* Redirects descriptors 0 to 2 to /dev/null. Until then they are files of root, such as slurmd's
 * log, or a pipe that slurmd reads until its last user has ended. Returns whether it succeeded. */
bool nt_confine_standard(void);

/* Call before the change of user. The kernel then kills this process first if memory runs out
 * (children of slurmd inherit the opposite setting). Until its exec, another process of the user
 * can neither trace it nor read its memory. */
void nt_confine_memory(void);

/* Call after the change of user. Joins a new session keyring, because slurmd's belongs to root.
 * Returns false only if the kernel has keyrings but provides none. */
bool nt_confine_keyring(void);

#endif
