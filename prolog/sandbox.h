/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox of the relay: an unprivileged user, an empty root directory, only the listed
 * descriptors, and only the system calls that the relay needs.
 * Tests: test_sandbox.c. */
#ifndef NT_SANDBOX_H
#define NT_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

enum { NT_SANDBOX_FDS = 16 };

struct nt_sandbox {
    uid_t uid;
    gid_t gid;
    bool binds_reserved_ports; /* keeps CAP_NET_BIND_SERVICE, and no other capability */
    uint64_t file_bytes;       /* maximum size of a file that it writes */
    size_t fds;
    int fd[NT_SANDBOX_FDS]; /* descriptors that stay open in addition to 0 to 2 */
};

/* Looks up the user of that name, or nobody if that user does not exist. May block for long
 * (NSS). */
void nt_sandbox_find_user(const char *name, struct nt_sandbox *sandbox);

/* Enters the sandbox for good. The process must have no threads. If it does not run as root, it
 * keeps its user and its root directory. */
int nt_sandbox_enter(const struct nt_sandbox *sandbox, struct nt_err *err);

#endif
