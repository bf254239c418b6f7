/* SPDX-License-Identifier: Apache-2.0 */
/* Two ends of a connection over UCX: this process, and one of its own. For tests. */
#ifndef NT_PAIR_ENDS_H
#define NT_PAIR_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "pair.h"

struct pair_address {
    size_t bytes;
    unsigned char data[4096];
};

static inline bool send_address(int fd, const struct nt_pair *pair)
{
    struct pair_address mine = {0};
    const void *address = nt_pair_address(pair, &mine.bytes);
    if (mine.bytes > sizeof mine.data)
        return false;
    memcpy(mine.data, address, mine.bytes);
    return send(fd, &mine, sizeof mine, 0) == sizeof mine;
}

static inline bool receive_address(int fd, struct pair_address *theirs)
{
    return recv(fd, theirs, sizeof *theirs, MSG_WAITALL) == sizeof *theirs;
}

/* The other end in a process, which exits with its return value. The pid; *fd: to it; -1: neither.
 */
static inline pid_t fork_end(int (*end)(int fd), int *fd)
{
    int ends[2];
    *fd = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(end(ends[1]));
    }
    close(ends[1]);
    *fd = ends[0];
    return pid;
}

#endif
