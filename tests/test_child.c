/* SPDX-License-Identifier: Apache-2.0 */
/* Killing a probe, also one that cannot be killed at the moment: this program is the probe, and a
 * tracer that stops it on exit stands for a hanging file system. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "clock.h"
#include "lingering.h"
#include "stopped_exit.h"

/* Told a port, passes on a descriptor that takes long to close. */
static int be_probe(void)
{
    int fd;
    uint16_t port;
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
    struct nt_err err = {0};
    char byte;
    nt_conf_default(&conf);
    ssize_t n = readlink("/proc/self/exe", conf.probe, sizeof conf.probe - 1);
    assert_true(n > 0);
    conf.probe[n] = '\0';
    if (nt_child_start(&child, &conf, NULL, geteuid(), getegid(), 5, socket, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(read(*socket, &byte, 1), 1);
    return child;
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

static void a_probe_is_killed_and_reaped(void **state)
{
    (void)state;
    int socket;
    struct nt_child child = begin(&socket);
    pid_t pid = child.pid;
    assert_false(has_ended(pid));
    nt_child_stop(&child);
    close(socket);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
    nt_child_stop(&child);
}

static void an_unkillable_probe_is_not_waited_for(void **state)
{
    (void)state;
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
static void what_a_probe_passes_along_does_not_block(void **state)
{
    (void)state;
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
    assert_true(nt_clock_s() - began < LINGER_S / 2.);
    close(silent);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--agent-fd") == 0)
        return be_probe();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_probe_is_killed_and_reaped),
        cmocka_unit_test(an_unkillable_probe_is_not_waited_for),
        cmocka_unit_test(what_a_probe_passes_along_does_not_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
