/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "confine.h"

enum { EXIT_SETUP = 125, EXIT_EXEC = 127 };

static _Noreturn void become(const struct nt_check_run *run, int out)
{
    struct rlimit none = {0}, cpu = {(rlim_t)run->seconds + 1, (rlim_t)run->seconds + 1};
    int null = open("/dev/null", O_RDWR);
    bool ready = setsid() >= 0 && null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 &&
                 dup2(out, 2) == 2 && nt_confine_close(3, -1) && chdir("/") == 0 &&
                 setrlimit(RLIMIT_CORE, &none) == 0 && setrlimit(RLIMIT_CPU, &cpu) == 0 &&
                 prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    if (ready && run->uid != 0)
        ready = setgroups(1, &run->gid) == 0 && setresgid(run->gid, run->gid, run->gid) == 0 &&
                setresuid(run->uid, run->uid, run->uid) == 0 && setuid(0) != 0;
    if (!ready)
        _exit(EXIT_SETUP);
    execve(run->path, run->argv, run->env);
    _exit(EXIT_EXEC);
}

/* Reads to the end of the output, or until that time. Discards output that does not fit. */
static void read_output(int fd, double until, char *output, size_t room)
{
    size_t have = 0;
    char rest[512] = {0};
    output[0] = '\0';
    while (nt_clock_s() < until) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, nt_clock_left_ms(until)) <= 0)
            continue;
        bool fits = have + 1 < room;
        ssize_t n = read(fd, fits ? output + have : rest, fits ? room - 1 - have : sizeof rest);
        if (n == 0 || (n < 0 && errno != EINTR))
            return;
        have += fits && n > 0 ? (size_t)n : 0;
        output[have] = '\0';
    }
}

static int describe(const struct nt_check_run *run, bool ended, int status, struct nt_err *err)
{
    if (!ended)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s did not end within %g s", run->path,
                          run->seconds);
    if (WIFSIGNALED(status))
        return nt_err_set(err, NT_ERR_SYSTEM, "%s was killed by signal %d", run->path,
                          WTERMSIG(status));
    if (WEXITSTATUS(status) == EXIT_SETUP)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: cannot change to its user", run->path);
    if (WEXITSTATUS(status) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: exit status %d", run->path, WEXITSTATUS(status));
    return 0;
}

/* Waits for the process until that time, then kills it. Kills the remaining processes of its group
 * in any case. Returns false if the process had to be killed. */
static bool reap(pid_t pid, double until, int *status)
{
    const double killed_s = 1; /* a process that is blocked in a file system cannot be killed */
    bool in_time = true;
    while (nt_clock_s() < until + killed_s) {
        siginfo_t info = {0};
        /* kill the group before waitpid frees its number for reuse */
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == pid) {
            kill(-pid, SIGKILL);
            waitpid(pid, status, 0);
            return in_time;
        }
        if (in_time && nt_clock_s() >= until) {
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
            in_time = false;
        }
        poll(NULL, 0, 2);
    }
    return false;
}

int nt_check_run(const struct nt_check_run *run, char *output, size_t room, struct nt_err *err)
{
    int pipe_fd[2], status = 0;
    double until = nt_clock_s() + run->seconds;
    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become(run, pipe_fd[1]);
    close(pipe_fd[1]);
    if (pid < 0) {
        close(pipe_fd[0]);
        return nt_err_set(err, NT_ERR_SYSTEM, "fork: %s", strerror(errno));
    }
    read_output(pipe_fd[0], until, output, room);
    bool ended = reap(pid, until, &status);
    /* Not before, because a program that still writes would be killed by SIGPIPE */
    close(pipe_fd[0]);
    return describe(run, ended, status, err);
}
