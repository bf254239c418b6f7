/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a lookup that may block for long (resolver, slurmctld) in a child process, so that the
 * caller continues and can abandon it. The result is a fixed number of bytes, passed through a
 * pipe. The caller provides the function that looks up. */
#ifndef NT_LOOKUP_H
#define NT_LOOKUP_H

#include <stddef.h>
#include <sys/types.h>

#include "err.h"

enum { NT_LOOKUP_BYTES_MAX = 4096 };

struct nt_lookup {
    pid_t pid; /* 0: no child */
    int fd;    /* readable when there is a result; -1: none */
    size_t want, got;
    unsigned char bytes[NT_LOOKUP_BYTES_MAX];
};

/* Forks a child that calls find(query, bytes). find fills exactly want bytes (zeroed before, at
 * most NT_LOOKUP_BYTES_MAX) and returns 0, or -1 if there is no result. */
int nt_lookup_start(struct nt_lookup *lookup, size_t want,
                    int (*find)(const void *query, void *bytes), const void *query,
                    struct nt_err *err);

/* Returns 1 if the result is in bytes, 0 if there is none yet, -1 if the lookup failed. Never
 * blocks. */
int nt_lookup_poll(struct nt_lookup *lookup);

/* Kills and reaps the child. Does not wait for a child that cannot be killed. Does nothing if none
 * was started or it has ended. */
void nt_lookup_fini(struct nt_lookup *lookup);

#endif
