/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup's child that cannot be killed is not waited for: a tracer that stops it on exit
 * simulates a blocked file system. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "clock.h"
#include "lookup.h"
#include "stopped_exit.h"

static int answer(const void *query, void *bytes)
{
    memcpy(bytes, query, 4);
    return 0;
}

static int hang(const void *query, void *bytes)
{
    (void)query;
    (void)bytes;
    while (pause() == -1) {
    }
    return 0;
}

TEST(an_answer_is_read_and_the_child_reaped)
{
    static struct nt_lookup lookup;
    int got;
    assert_int_equal(nt_lookup_start(&lookup, 4, answer, "1234", NULL), 0);
    for (double until = nt_clock_s() + 60; (got = nt_lookup_poll(&lookup)) == 0;)
        assert_below(nt_clock_s(), until);
    assert_int_equal(got, 1);
    assert_memory_equal(lookup.bytes, "1234", 4);
    pid_t pid = lookup.pid;
    nt_lookup_fini(&lookup);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
}

TEST(an_unkillable_child_is_not_waited_for)
{
    static struct nt_lookup lookup;
    assert_int_equal(nt_lookup_start(&lookup, 4, hang, "", NULL), 0);
    pid_t pid = lookup.pid, tracer = stop_on_exit(pid);
    nt_lookup_fini(&lookup);
    if (tracer == 0)
        skip();
    pid_t ended = waitpid(pid, NULL, WNOHANG);
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    waitpid(pid, NULL, 0);
    assert_int_equal(ended, 0); /* it was not waited for */
}

RUN_TESTS
