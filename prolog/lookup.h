/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup that may block for long (resolver, slurmctld), made in a child process, so that the
 * caller goes on and can abandon it. The result is a fixed number of bytes over a pipe. */
#ifndef NT_LOOKUP_H
#define NT_LOOKUP_H

#include <stddef.h>
#include <sys/types.h>

#include "err.h"

enum { NT_LOOKUP_BYTES_MAX = 4096 };

struct nt_lookup {
    pid_t pid; /* 0: none */
    int fd;    /* poll it for reading; -1: none */
    size_t want, got;
    unsigned char bytes[NT_LOOKUP_BYTES_MAX];
};

/* Forks a child that calls find(query, bytes), which fills exactly want bytes (zeroed before, at
 * most NT_LOOKUP_BYTES_MAX) and returns 0, or -1 when there is no result. */
int nt_lookup_start(struct nt_lookup *lookup, size_t want,
                    int (*find)(const void *query, void *bytes), const void *query,
                    struct nt_err *err);

/* 1: the result is in bytes; 0: not yet; -1: the lookup failed. Never blocks. */
int nt_lookup_poll(struct nt_lookup *lookup);

/* Kills and reaps the child; does not wait for one that cannot be killed. Fine when none was
 * started or it has ended. */
void nt_lookup_fini(struct nt_lookup *lookup);

#endif
