/* SPDX-License-Identifier: Apache-2.0 */
#include "graphviz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SVG_MAX = 256 * 1024 * 1024, PIECE = 65536 };

struct child {
    pid_t pid;
    int to, from;
};

static int start_child(struct child *c, struct nt_err *err)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "pipe: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        int why = errno;
        close(in[0]);
        close(in[1]);
        return nt_err_set(err, NT_ERR_SYSTEM, "pipe: %s", strerror(why));
    }
    char *argv[] = {(char *)"neato", (char *)"-Tsvg", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    int rc = posix_spawnp(&c->pid, "neato", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    if (rc != 0) {
        close(in[1]);
        close(out[0]);
        return nt_err_set(err, NT_ERR_SYSTEM, "neato: %s; install Graphviz for svg", strerror(rc));
    }
    c->to = in[1];
    c->from = out[0];
    fcntl(c->to, F_SETFL, O_NONBLOCK);
    return 0;
}

struct gathered {
    char *text;
    size_t bytes, capacity;
};

/* Takes one piece; 1: there may be more, 0: the end, -1: error. */
static int take_output(int fd, struct gathered *g, struct nt_err *err)
{
    if (g->capacity - g->bytes < PIECE + 1) {
        size_t capacity = 2 * (g->capacity + PIECE);
        char *grown = capacity > SVG_MAX ? NULL : realloc(g->text, capacity);
        if (grown == NULL)
            return nt_err_memory(err);
        g->text = grown;
        g->capacity = capacity;
    }
    ssize_t n = read(fd, g->text + g->bytes, PIECE);
    if (n < 0)
        return errno == EINTR ? 1 : nt_err_set(err, NT_ERR_SYSTEM, "neato: %s", strerror(errno));
    g->bytes += (size_t)n;
    g->text[g->bytes] = '\0';
    return n > 0;
}

/* Feeds and reads at once, so that neither side waits for the other for ever. */
static int converse_child(struct child *c, const char *dot, size_t dot_bytes, struct gathered *g,
                          struct nt_err *err)
{
    size_t sent = 0;
    for (int more = 1; more > 0;) {
        struct pollfd fds[2] = {{.fd = c->from, .events = POLLIN},
                                {.fd = c->to, .events = POLLOUT}};
        if (poll(fds, c->to >= 0 ? 2 : 1, -1) < 0 && errno != EINTR)
            return nt_err_set(err, NT_ERR_SYSTEM, "poll: %s", strerror(errno));
        if (c->to >= 0 && fds[1].revents != 0) {
            ssize_t n = write(c->to, dot + sent, dot_bytes - sent);
            if (n > 0)
                sent += (size_t)n;
            if (sent == dot_bytes || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                close(c->to);
                c->to = -1;
            }
        }
        if (fds[0].revents != 0)
            more = take_output(c->from, g, err);
        if (more < 0)
            return -1;
    }
    return 0;
}

int nt_graphviz_svg(const char *dot, size_t dot_bytes, char **svg, size_t *bytes,
                    struct nt_err *err)
{
    struct child c;
    struct gathered g = {0};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    if (start_child(&c, err) != 0)
        return -1;
    sigaction(SIGPIPE, &ignore, &before);
    int rc = converse_child(&c, dot, dot_bytes, &g, err), status = 0;
    if (c.to >= 0)
        close(c.to);
    close(c.from);
    while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGPIPE, &before, NULL);
    if (rc == 0 && (status != 0 || g.bytes == 0))
        rc = nt_err_set(err, NT_ERR_SYSTEM, "neato failed");
    if (rc != 0) {
        free(g.text);
        return -1;
    }
    *svg = g.text;
    *bytes = g.bytes;
    return 0;
}
