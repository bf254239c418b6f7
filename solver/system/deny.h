/* SPDX-License-Identifier: Apache-2.0 */
/* What a process gives up for good, with all programs that it becomes: system calls (seccomp),
 * which then fail with EPERM, and writing to files (Landlock). After PR_SET_NO_NEW_PRIVS.
 * Tests: test_confine.c. */
#ifndef NT_DENY_H
#define NT_DENY_H

#include <stdbool.h>
#include <stddef.h>

enum nt_deny {
    NT_DENY_PROCESSES = 1, /* to make processes; threads may be made */
    NT_DENY_OTHERS = 2,  /* namespaces, other processes, keys, and calls that filters do not see */
    NT_DENY_SOCKETS = 4, /* sockets but TCP, UDP, and the netlink of routes and of RDMA */
    NT_DENY_MEMORY = 8,  /* memory that RLIMIT_DATA does not count */
    NT_DENY_EXEC = 16,   /* to become another program */
};

/* sets: of enum nt_deny. program: with NT_DENY_EXEC, the one path that execve may still be given,
 * which is known by its address; NULL: none. False only if the kernel has such filters and refuses
 * this one. */
bool nt_deny_calls(unsigned sets, const char *program);

/* To write to, make, remove or rename files, except below the n directories, or the files, that are
 * open (O_PATH) as except. Files that are open stay as they are. False only if the kernel has
 * Landlock and refuses. */
bool nt_deny_writes(const int *except, size_t n);

#endif
