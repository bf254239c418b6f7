/* SPDX-License-Identifier: Apache-2.0 */
/* Why there is no result, when the worker is killed or stopped. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "clock.h"
#include "monitor.h"
#include "publish.h"

enum { JOB = 42 };

/* How many children it has, and the first of them. */
static int children_of(pid_t pid, pid_t *first)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    int children = 0;
    *first = n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
    for (; n > 0; n--)
        children += text[n - 1] == ' ';
    return children;
}

/* Else slurmd, which reads the output of a prolog script, waits for a worker that hangs. */
static void expect_no_output_held(pid_t worker)
{
    for (int fd = 0; fd < 3; fd++) {
        char path[64], target[64] = "";
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)worker, fd);
        assert_above(readlink(path, target, sizeof target - 1), 0);
        assert_string_equal(target, "/dev/null");
    }
}

/* A job of one host, whose worker gets the signal once it has begun. */
static void expect_reason(int number, double budget_s, const char *reason)
{
    char run_dir[] = "/tmp/nettopo-monitor-XXXXXX", path[128], text[512] = "", line[128];
    char probe[] = "/tmp/nettopo-waits-XXXXXX"; /* for any user */
    char script[128], never[64];
    struct nt_conf conf;
    struct nt_request request = {.verb = NT_VERB_RUN,
                                 .wanted = true,
                                 .job = JOB,
                                 .uid = geteuid() != 0 ? geteuid() : 65534,
                                 .gid = geteuid() != 0 ? getegid() : 65534};
    int to = mkstemp(probe);
    snprintf(never, sizeof never, "%s.never", probe);
    /* a probe cannot execute programs: the shell waits until somebody writes, and nobody does */
    int length = snprintf(script, sizeof script, "#!/bin/sh\nread line <%s\n", never);
    assert_int_equal(mkfifo(never, 0644), 0);
    assert_int_equal(chmod(never, 0644), 0);
    assert_int_equal(write(to, script, (size_t)length), length);
    assert_int_equal(fchmod(to, 0755), 0);
    close(to);
    assert_non_null(mkdtemp(run_dir));
    assert_int_equal(nt_option_parse("quick", &request.option, NULL), 0);
    nt_conf_default(&conf);
    snprintf(conf.run_dir, sizeof conf.run_dir, "%s", run_dir);
    snprintf(conf.probe, sizeof conf.probe, "%s", probe);
    pid_t monitor = fork(), worker = 0, first;
    if (monitor == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int k = 0, some = open(run_dir, O_RDONLY); k < 3; k++)
            dup2(some, k);
        setenv("SLURM_JOB_NODELIST", "n1", 1);
        setenv("SLURMD_NODENAME", "n1", 1);
        _exit(nt_monitor_run(&request, &conf, budget_s, nt_clock_s(), &err) == 0 ? 0 : 1);
    }
    /* until it has its probe and its relay: it waits for them */
    for (int k = 0;
         k < 12000 && (children_of(monitor, &worker) == 0 || children_of(worker, &first) < 2); k++)
        poll(NULL, 0, 5);
    snprintf(path, sizeof path, "%s/%d/hint.env", run_dir, JOB);
    if (worker <= 0) {
        int early = open(path, O_RDONLY);
        ssize_t n = early >= 0 ? read(early, text, sizeof text - 1) : 0;
        fail_msg("expected a worker with two children, found that it had ended: %s",
                 n > 0 ? text : "nothing is published");
    }
    expect_no_output_held(worker);
    kill(worker, number);
    assert_int_equal(waitpid(monitor, NULL, 0), monitor);
    int fd = open(path, O_RDONLY);
    assert_at_least(fd, 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    nt_publish_remove(run_dir, JOB, NULL);
    rmdir(run_dir);
    unlink(probe);
    unlink(never);
    snprintf(line, sizeof line, "NETTOPO_REASON=%s\n", reason);
    if (strstr(text, line) == NULL)
        fail_msg("expected %s, found %s", line, text);
}

TEST(a_worker_that_is_killed_is_named_with_its_signal)
{
    expect_reason(SIGTERM, 60, "the agent's worker was killed by signal 15");
}

TEST(a_worker_that_is_stopped_did_not_end)
{
    expect_reason(SIGSTOP, 5, "the agent's worker did not end within the budget");
}

RUN_TESTS
