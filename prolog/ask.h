/* A question whose answer may take long (a resolver, slurmctld), asked by a child so that the
 * asker can go on and give up. The answer is a fixed number of bytes over a pipe. */
#ifndef NT_ASK_H
#define NT_ASK_H

#include <stddef.h>
#include <sys/types.h>

#include "err.h"

enum { NT_ANSWER_MAX = 4096 };

struct nt_ask {
    pid_t pid; /* 0: none */
    int fd;    /* poll it for reading; -1: none */
    size_t want, got;
    unsigned char bytes[NT_ANSWER_MAX];
};

/* In a child: answer(question, bytes) fills exactly want bytes (at most NT_ANSWER_MAX; they begin
 * as zeros) and returns 0, or -1 for no answer. */
int nt_ask_start(struct nt_ask *ask, size_t want, int (*answer)(const void *question, void *bytes),
                 const void *question, struct nt_err *err);

/* 1: the answer is in bytes; 0: not yet; -1: there will be none. Never blocks. */
int nt_ask_poll(struct nt_ask *ask);

/* Ends the child and forgets. Fine when nothing was asked or all is over. */
void nt_ask_fini(struct nt_ask *ask);

#endif
