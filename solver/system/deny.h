/* SPDX-License-Identifier: Apache-2.0 */
/* Rights that a process, and each program that it executes, gives up for good: system calls
 * (seccomp), which then fail with EPERM, and writing to files (Landlock). Call it after
 * PR_SET_NO_NEW_PRIVS.
 * Tests: test_confine.c. */
#ifndef NT_DENY_H
#define NT_DENY_H

#include <stdbool.h>
#include <stddef.h>

enum nt_deny {
    NT_DENY_PROCESSES = 1, /* create processes; threads are allowed */
    NT_DENY_OTHERS =
        2, /* use namespaces, other processes, keys, and calls that filters do not see */
    NT_DENY_SOCKETS = 4, /* create sockets other than TCP, UDP, and netlink for routes and RDMA */
    NT_DENY_MEMORY = 8,  /* use memory that RLIMIT_DATA does not count */
    NT_DENY_EXEC = 16,   /* execute another program */
};

/* Denies sets of calls (enum nt_deny). program: with NT_DENY_EXEC, the only path that execve may
 * still get, identified by its address; NULL: none. Returns false only if the kernel supports such
 * filters and rejects this one. */
bool nt_deny_calls(unsigned sets, const char *program);

/* Denies writing to, creating, removing and renaming files, except the n files and directories
 * (with their contents) that are open with O_PATH in except. Files that are open already stay
 * usable. Returns false only if the kernel supports Landlock and it fails. */
bool nt_deny_writes(const int *except, size_t n);

#endif
