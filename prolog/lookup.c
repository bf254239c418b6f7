/* SPDX-License-Identifier: Apache-2.0 */
#include "lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

/* Time to wait for the child's end. A process that is blocked in a file system cannot be killed;
 * the subreaper reaps it later. */
static const double REAP_S = 0.05;

/* The pipe holds the whole result, so that its one write never blocks. */
_Static_assert((int)NT_LOOKUP_BYTES_MAX <= 4096, "a result must fit into a page of a pipe");

int nt_lookup_start(struct nt_lookup *lookup, size_t want,
                    int (*find)(const void *query, void *bytes), const void *query,
                    struct nt_err *err)
{
    int pipe_fd[2];
    *lookup = (struct nt_lookup){.fd = -1, .want = want};
    if (want > NT_LOOKUP_BYTES_MAX || pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) {
        close(pipe_fd[0]);
        close(pipe_fd[1]);
        return nt_err_set(err, NT_ERR_SYSTEM, "fork: %s", strerror(errno));
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pipe_fd[0]);
        _exit(find(query, lookup->bytes) == 0 &&
                      write(pipe_fd[1], lookup->bytes, want) == (ssize_t)want
                  ? 0
                  : 1);
    }
    close(pipe_fd[1]);
    lookup->pid = pid;
    lookup->fd = pipe_fd[0];
    return 0;
}

int nt_lookup_poll(struct nt_lookup *lookup)
{
    if (lookup->got == lookup->want)
        return 1;
    while (lookup->fd >= 0 && lookup->got < lookup->want) {
        ssize_t n = read(lookup->fd, lookup->bytes + lookup->got, lookup->want - lookup->got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return -1;
        lookup->got += (size_t)n;
    }
    return lookup->fd >= 0 ? 1 : -1;
}

void nt_lookup_fini(struct nt_lookup *lookup)
{
    if (lookup->fd >= 0)
        close(lookup->fd);
    lookup->fd = -1;
    if (lookup->pid > 0) {
        kill(lookup->pid, SIGKILL); /* not reaped yet, so its process id has not been reused */
        double last = nt_clock_s() + REAP_S;
        pid_t got;
        while (((got = waitpid(lookup->pid, NULL, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) &&
               nt_clock_s() < last)
            poll(NULL, 0, 1);
    }
    lookup->pid = 0;
}
