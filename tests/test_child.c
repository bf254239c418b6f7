/* SPDX-License-Identifier: Apache-2.0 */
/* Killing a probe, also one that cannot be killed at the moment: this program is the probe, and a
 * tracer that stops it on exit simulates a blocked file system. And what outruns whoever ends
 * processes one after the other. */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "child.h"
#include "clock.h"
#include "confine.h"
#include "lingering.h"
#include "stopped_exit.h"

enum { POOL = 40 };

static const char POOL_NAME[] = "nettopo-pool";

/* Told a port, passes on a descriptor that takes long to close. */
static int be_probe(void)
{
    int fd;
    uint16_t port;
    char byte;
    /* no files were given */
    for (int file = 4; file < 4 + NT_CHILD_FILES; file++)
        if (read(file, &byte, 1) != 0)
            return 1;
    if (write(3, "", 1) != 1)
        return 1;
    if (read(3, &port, sizeof port) == sizeof port &&
        ((fd = open_lingering(port)) < 0 || pass_descriptor(3, fd) != 0 || close(fd) != 0 ||
         write(3, "", 1) != 1))
        return 1;
    for (;;)
        pause();
}

/* The probe runs when this returns. */
static struct nt_child begin(int *socket)
{
    struct nt_child child;
    struct nt_conf conf;
    const struct nt_child_task task = {.conf = &conf,
                                       .user = {.uid = geteuid(), .gid = getegid()},
                                       .files = {-1, -1},
                                       .seconds = 5};
    char byte;
    nt_conf_default(&conf);
    ssize_t n = readlink("/proc/self/exe", conf.probe, sizeof conf.probe - 1);
    assert_above(n, 0);
    conf.probe[n] = '\0';
    must(nt_child_start(&child, &task, socket, &err));
    assert_int_equal(read(*socket, &byte, 1), 1);
    return child;
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

TEST(a_probe_is_killed_and_reaped)
{
    int socket;
    struct nt_child child = begin(&socket);
    pid_t pid = child.pid;
    assert_false(has_ended(pid));
    nt_child_stop(&child);
    close(socket);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
    nt_child_stop(&child);
}

TEST(an_unkillable_probe_is_not_waited_for)
{
    int socket;
    struct nt_child child = begin(&socket);
    close(socket);
    pid_t pid = child.pid, tracer = stop_on_exit(pid);
    if (tracer == 0) {
        nt_child_stop(&child);
        skip();
    }
    nt_child_stop(&child);
    bool ended = has_ended(pid);
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    assert_false(ended);
    nt_child_kill_all(nt_clock_s() + 60); /* as the monitor does */
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
}

/* Closing the socket closed what was unread on it, and waited for as long as that lingers. */
TEST(what_a_probe_passes_along_does_not_block)
{
    int socket;
    uint16_t port = 0;
    int silent = open_silent(&port);
    struct nt_child child = begin(&socket);
    struct pollfd told = {.fd = socket, .events = POLLIN};
    assert_int_equal(write(socket, &port, sizeof port), sizeof port);
    assert_int_equal(poll(&told, 1, 60000), 1);
    poll(NULL, 0, 100); /* it closes its own reference */
    double began = nt_clock_s();
    nt_child_stop(&child);
    close(socket);
    assert_below(nt_clock_s() - began, LINGER_S / 2.);
    close(silent);
}

/* ---- a pool of processes that refills itself ---- */

/* Each in a session of its own; whoever misses one makes another. */
static void live_in_pool(volatile pid_t *pool)
{
    double until = nt_clock_s() + 60; /* whatever becomes of the test */
    while (nt_clock_s() < until) {
        for (int k = 0; k < POOL; k++) {
            pid_t was = pool[k];
            if (was != 0 && kill(was, 0) == 0)
                continue;
            if (!__sync_bool_compare_and_swap(&pool[k], was, -1))
                continue;
            pid_t pid = fork();
            if (pid == 0) {
                setsid();
                pool[k] = getpid();
            }
        }
    }
    _exit(0);
}

/* Those of the pool that are alive, wherever they are. */
static size_t pool_alive(void)
{
    size_t n = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *e; proc != NULL && (e = readdir(proc)) != NULL;) {
        char path[300], line[128], name[32], how;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *file = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (file == NULL)
            continue;
        n += fgets(line, sizeof line, file) != NULL &&
             sscanf(line, "%*d (%31[^)]) %c", name, &how) == 2 && strcmp(name, POOL_NAME) == 0 &&
             how != 'Z' && how != 'X';
        fclose(file);
    }
    if (proc != NULL)
        closedir(proc);
    return n;
}

/* A full pool, and its first process. */
static pid_t fill_pool(pid_t (*make)(void))
{
    volatile pid_t *pool =
        mmap(NULL, POOL * sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(pool != MAP_FAILED);
    pid_t first = make();
    if (first == 0) {
        prctl(PR_SET_NAME, POOL_NAME);
        signal(SIGCHLD, SIG_IGN);
        live_in_pool(pool);
    }
    assert_above(first, 0);
    for (double until = nt_clock_s() + 60; nt_clock_s() < until && pool_alive() < POOL;)
        poll(NULL, 0, 5);
    munmap((void *)pool, POOL * sizeof *pool);
    assert_at_least(pool_alive(), POOL);
    return first;
}

TEST(a_pool_that_refills_itself_ends_with_its_namespace)
{
    if (geteuid() != 0)
        skip();
    pid_t first = fill_pool(nt_confine_fork);
    kill(first, SIGKILL);
    waitpid(first, NULL, 0); /* the kernel lets it go when it is the last */
    assert_int_equal(pool_alive(), 0);
}

/* Where there is no such namespace. */
TEST(a_pool_that_refills_itself_is_ended)
{
    kill(fill_pool(fork), SIGKILL);
    double began = nt_clock_s();
    nt_child_kill_all(began + 20);
    double took = nt_clock_s() - began;
    size_t left = pool_alive();
    print_message("%.3f s, %zu left\n", took, left);
    nt_child_kill_all(nt_clock_s() + 20);
    assert_int_equal(left, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--agent-fd") == 0)
        return be_probe();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return run_group(NULL, NULL);
}
