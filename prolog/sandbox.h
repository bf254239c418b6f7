/* SPDX-License-Identifier: Apache-2.0 */
/* Where the relay runs: as a user without rights, in a root directory that holds nothing, with the
 * descriptors that it was given, and with the system calls that it needs.
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
    uint64_t file_bytes;       /* the largest that it may write */
    size_t fds;
    int fd[NT_SANDBOX_FDS]; /* what stays open, beside 0 to 2 */
};

/* The user of that name, or nobody where there is none. May block for long (NSS). */
void nt_sandbox_find_user(const char *name, struct nt_sandbox *sandbox);

/* For good, in a process without threads. A process that is not root stays the user that it is, in
 * the root directory that it has. */
int nt_sandbox_enter(const struct nt_sandbox *sandbox, struct nt_err *err);

#endif
