#include "ask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The pipe holds the whole answer, so one write never blocks. */
_Static_assert((int)NT_ANSWER_MAX <= 4096, "an answer must fit into a pipe's page");

int nt_ask_start(struct nt_ask *ask, size_t want, int (*answer)(const void *question, void *bytes),
                 const void *question, struct nt_err *err)
{
    int pipe_fd[2];
    *ask = (struct nt_ask){.fd = -1, .want = want};
    if (want > NT_ANSWER_MAX || pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) != 0)
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
        _exit(answer(question, ask->bytes) == 0 &&
                      write(pipe_fd[1], ask->bytes, want) == (ssize_t)want
                  ? 0
                  : 1);
    }
    close(pipe_fd[1]);
    ask->pid = pid;
    ask->fd = pipe_fd[0];
    return 0;
}

int nt_ask_poll(struct nt_ask *ask)
{
    if (ask->got == ask->want)
        return 1;
    while (ask->fd >= 0 && ask->got < ask->want) {
        ssize_t n = read(ask->fd, ask->bytes + ask->got, ask->want - ask->got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return -1;
        ask->got += (size_t)n;
    }
    return ask->fd >= 0 ? 1 : -1;
}

void nt_ask_fini(struct nt_ask *ask)
{
    if (ask->fd >= 0)
        close(ask->fd);
    ask->fd = -1;
    if (ask->pid > 0) {
        kill(ask->pid, SIGKILL); /* not reaped yet: the number is still ours */
        while (waitpid(ask->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    ask->pid = 0;
}
