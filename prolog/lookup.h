/* A question whose answer may take long (a resolver, slurmctld), asked by a child so that the
 * asker can go on and give up. The answer is a fixed number of bytes over a pipe. */
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

/* In a child: find(query, bytes) fills exactly want bytes (at most NT_LOOKUP_BYTES_MAX; they begin
 * as zeros) and returns 0, or -1 for no answer. */
int nt_lookup_start(struct nt_lookup *lookup, size_t want,
                    int (*find)(const void *query, void *bytes), const void *query,
                    struct nt_err *err);

/* 1: the answer is in bytes; 0: not yet; -1: there will be none. Never blocks. */
int nt_lookup_poll(struct nt_lookup *lookup);

/* Ends the child and forgets. Fine when nothing was asked or all is over. */
void nt_lookup_fini(struct nt_lookup *lookup);

#endif
