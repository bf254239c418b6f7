/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that crash and hang, each in a process of its own. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "rescue.h"

static const double LONG_S = 60;
enum { WELL = 42 };

static void returns(void *context)
{
    *(int *)context = WELL;
}

static void writes_nowhere(void *context)
{
    (void)context;
    volatile char *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 1;
}

static void aborts(void *context)
{
    (void)context;
    abort();
}

static void hangs(void *context)
{
    (void)context;
    for (;;)
        pause();
}

static void *crash(void *context)
{
    writes_nowhere(context);
    return NULL;
}

/* Of UCX's own thread: the caller waits for it. */
static void another_thread_crashes(void *context)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, crash, context) == 0)
        pthread_join(thread, NULL);
}

/* The exit status, or 128 and the signal. */
static int in_a_process(int (*run)(const void *), const void *argument)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(run(argument));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

struct fault {
    void (*call)(void *);
    double most_s;
    const char *why;
};

static int meet(const void *argument)
{
    const struct fault *fault = argument;
    char why[NT_RESCUE_WHY_BYTES] = "";
    int value = 0;
    nt_rescue_install();
    if (!nt_rescue_run(returns, &value, LONG_S, why) || value != WELL || nt_rescue_was_needed())
        return 1;
    if (nt_rescue_run(fault->call, NULL, fault->most_s, why) || !nt_rescue_was_needed())
        return 2;
    if (strcmp(why, fault->why) != 0)
        return 3;
    value = 0; /* nothing is called any more */
    return nt_rescue_run(returns, &value, LONG_S, why) || value != 0 ? 4 : 0;
}

TEST(faults_end_the_call_alone)
{
    static const struct fault faults[] = {
        {writes_nowhere, LONG_S, "crashed (signal 11)"},
        {aborts, LONG_S, "crashed (signal 6)"},
        {hangs, 0.01, "hung"},
        {another_thread_crashes, 2, "hung"},
    };
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
        assert_int_equal(in_a_process(meet, &faults[k]), 0);
}

static int crash_outside(const void *argument)
{
    int value;
    char why[NT_RESCUE_WHY_BYTES];
    (void)argument;
    nt_rescue_install();
    nt_rescue_run(returns, &value, LONG_S, why);
    writes_nowhere(NULL);
    return 0;
}

TEST(a_crash_outside_ends_the_process)
{
    assert_int_equal(in_a_process(crash_outside, NULL), 128 + SIGSEGV);
}

static int crash_without(const void *argument)
{
    char why[NT_RESCUE_WHY_BYTES];
    (void)argument;
    nt_rescue_run(aborts, NULL, LONG_S, why);
    return 0;
}

TEST(without_it_a_call_is_a_call)
{
    char why[NT_RESCUE_WHY_BYTES];
    int value = 0;
    assert_true(nt_rescue_run(returns, &value, LONG_S, why));
    assert_int_equal(value, WELL);
    assert_int_equal(in_a_process(crash_without, NULL), 128 + SIGABRT);
}

RUN_TESTS
