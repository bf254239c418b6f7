/* SPDX-License-Identifier: Apache-2.0 */
/* A munged for one test, with its own key, socket and directory. */
#ifndef NT_OWN_MUNGE_H
#define NT_OWN_MUNGE_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct own_munge {
    char dir[64], socket[96];
    pid_t pid; /* 0: none */
};

static inline void own_munge_stop(struct own_munge *m)
{
    static const char *const files[] = {"socket", "socket.lock", "key", "pid", "log", "seed"};
    char path[128];
    if (m->pid > 0) {
        kill(m->pid, SIGTERM);
        waitpid(m->pid, NULL, 0);
    }
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        snprintf(path, sizeof path, "%s/%s", m->dir, files[k]);
        unlink(path);
    }
    rmdir(m->dir);
    m->pid = 0;
}

static inline bool own_munge_key(const struct own_munge *m)
{
    unsigned char key[128];
    char path[128];
    snprintf(path, sizeof path, "%s/key", m->dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0400);
    bool good = fd >= 0 && getrandom(key, sizeof key, 0) == sizeof key &&
                write(fd, key, sizeof key) == sizeof key;
    if (fd >= 0)
        close(fd);
    return good;
}

/* false, with the reason on standard output, when munged cannot run: the test is then skipped. */
static inline bool own_munge_start(struct own_munge *m)
{
    char argument[5][128];
    static const char *const names[] = {"socket", "key-file", "pid-file", "log-file", "seed-file"};
    static const char *const files[] = {"socket", "key", "pid", "log", "seed"};
    *m = (struct own_munge){0};
    snprintf(m->dir, sizeof m->dir, "/tmp/nettopo-munge-XXXXXX");
    if (access("/usr/sbin/munged", X_OK) != 0 || mkdtemp(m->dir) == NULL) {
        puts("skipped: no munged here");
        return false;
    }
    chmod(m->dir, 0755);
    snprintf(m->socket, sizeof m->socket, "%s/socket", m->dir);
    for (size_t k = 0; k < 5; k++)
        snprintf(argument[k], sizeof argument[k], "--%s=%s/%s", names[k], m->dir, files[k]);
    if (!own_munge_key(m)) {
        own_munge_stop(m);
        return false;
    }
    m->pid = fork();
    if (m->pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 1);
        dup2(null, 2);
        execl("/usr/sbin/munged", "munged", "--force", "--foreground", "--num-threads=2",
              argument[0], argument[1], argument[2], argument[3], argument[4], (char *)NULL);
        _exit(127);
    }
    for (int k = 0; k < 2000; k++) {
        if (access(m->socket, F_OK) == 0)
            return true;
        if (waitpid(m->pid, NULL, WNOHANG) == m->pid)
            break;
        poll(NULL, 0, 5);
    }
    puts("skipped: munged does not start here");
    own_munge_stop(m);
    return false;
}

#endif
