/* SPDX-License-Identifier: Apache-2.0 */
/* A process that SIGKILL does not end: a tracer stops it on exit, as a hanging file system does. */
#ifndef NT_TEST_STOPPED_EXIT_H
#define NT_TEST_STOPPED_EXIT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stops pid on exit for as long as the tracer lives, at most a minute. 0: not permitted. */
static pid_t stop_on_exit(pid_t pid)
{
    int told[2];
    char byte;
    assert_int_equal(pipe(told), 0);
    pid_t tracer = fork();
    if (tracer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(60);
        close(told[0]);
        if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_TRACEEXIT) != 0 ||
            write(told[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(told[1]);
    bool good = read(told[0], &byte, 1) == 1;
    close(told[0]);
    if (!good)
        waitpid(tracer, NULL, 0);
    return good ? tracer : 0;
}

#endif
