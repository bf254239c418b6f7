/* SPDX-License-Identifier: Apache-2.0 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

/* The variables that the agent and libslurm need; slurmd's other variables are not passed. */
static const char *const passed_variables[] = {
    "SLURM_JOB_NODELIST",  "SLURM_NODELIST",     "SLURMD_NODENAME", "SLURM_JOB_RESTART_COUNT",
    "SLURM_RESTART_COUNT", "SLURM_CLUSTER_NAME", "SLURM_CONF",      "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_JOB_USER",
};
enum { PASSED = sizeof passed_variables / sizeof *passed_variables };

struct environment {
    char *text[PASSED + 4]; /* PATH, LANG, the option and NULL */
    char *owned[PASSED + 1];
};

static int make_environment(struct environment *env, const char *option, struct nt_err *err)
{
    size_t n = 0;
    *env = (struct environment){0};
    env->text[n++] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    env->text[n++] = "LANG=C";
    for (size_t k = 0; k <= PASSED; k++) {
        const char *name = k < PASSED ? passed_variables[k] : "NETTOPO_OPTION",
                   *value = k < PASSED ? getenv(name) : option;
        if (value == NULL)
            continue;
        size_t room = strlen(name) + strlen(value) + 2;
        env->owned[k] = malloc(room);
        if (env->owned[k] == NULL)
            return nt_err_set(err, NT_ERR_SYSTEM, "out of memory");
        snprintf(env->owned[k], room, "%s=%s", name, value);
        env->text[n++] = env->owned[k];
    }
    return 0;
}

static void free_environment(struct environment *env)
{
    for (size_t k = 0; k <= PASSED; k++)
        free(env->owned[k]);
}

/* Runs between fork and exec, so it makes async-signal-safe calls only. */
static void exec_agent(char *const argv[], char *const env[], int stderr_fd)
{
    sigset_t none;
    setpgid(0, 0);
    /* above 2, so that no dup2 overwrites the source of another */
    int null = fcntl(open("/dev/null", O_RDWR), F_DUPFD, 3), output = fcntl(stderr_fd, F_DUPFD, 3);
    if (null < 0 || output < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(output, 2) < 0 ||
        chdir("/") != 0)
        _exit(126);
    if (syscall(SYS_close_range, 3U, ~0U, 0U) != 0)
        for (int fd = 3; fd < 65536; fd++)
            close(fd);
    for (int k = 1; k < NSIG; k++)
        signal(k, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(argv[0], argv, env);
    _exit(127);
}

/* Returns true and sets *status if the process ends before that time (nt_clock_s). */
static bool wait_until(pid_t pid, double until, int *status)
{
    for (;;) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid)
            return true;
        if (got < 0 && errno != EINTR) {
            *status = 0; /* reaped elsewhere in this process: it has ended */
            return true;
        }
        if (nt_clock_s() >= until)
            return false;
        poll(NULL, 0, 2);
    }
}

/* Reads the first line of the program's output. Does not wait for the end of the output: another
 * process may keep the pipe open. */
static void read_first_line(int fd, char *line, size_t room)
{
    ssize_t n = read(fd, line, room - 1);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

static int check_status(const char *path, int status, const char *output, struct nt_err *err)
{
    const char *colon = output[0] != '\0' ? ": " : "";
    if (WIFSIGNALED(status))
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: killed by signal %d%s%s", path, WTERMSIG(status),
                          colon, output);
    if (WEXITSTATUS(status) >= 126)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s could not be started", path);
    if (WEXITSTATUS(status) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: exit status %d%s%s", path, WEXITSTATUS(status),
                          colon, output);
    return 0;
}

int nt_spawn_wait(char *const argv[], const char *option, double seconds, struct nt_err *err)
{
    struct environment env;
    double until = nt_clock_s() + seconds;
    int status = 0, output[2];
    char line[256];
    if (pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "pipe: %s", strerror(errno));
    if (make_environment(&env, option, err) != 0)
        goto close_pipe;
    pid_t pid = fork();
    if (pid == 0)
        exec_agent(argv, env.text, output[1]);
    if (pid < 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "fork: %s", strerror(errno));
        goto close_pipe;
    }
    free_environment(&env);
    close(output[1]);
    /* The child does the same, whichever runs first: the group must exist before the kill */
    setpgid(pid, pid);
    bool ended = wait_until(pid, until, &status);
    if (!ended) {
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        wait_until(pid, nt_clock_s() + 1, &status);
    }
    read_first_line(output[0], line, sizeof line);
    close(output[0]);
    if (!ended)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: killed after %.1f s", argv[0], seconds);
    return check_status(argv[0], status, line, err);
close_pipe:
    free_environment(&env);
    close(output[0]);
    close(output[1]);
    return -1;
}
