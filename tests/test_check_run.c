/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "asserts.h"
#include "clock.h"
#include "run.h"

static int run_shell(const char *script, double seconds, char *output, size_t room,
                     struct nt_err *err)
{
    char *const argv[] = {"sh", "-c", (char *)script, NULL}, *const env[] = {"PATH=/usr/bin:/bin",
                                                                             NULL};
    struct nt_check_run run = {.path = "/bin/sh", .argv = argv, .env = env, .seconds = seconds};
    *err = (struct nt_err){0};
    return nt_check_run(&run, output, room, err);
}

TEST(what_it_prints_is_kept)
{
    char output[8];
    assert_int_equal(run_shell("echo a; echo b >&2", 60, output, sizeof output, &err), 0);
    assert_string_equal(output, "a\nb\n");
    assert_int_equal(
        run_shell("echo 0123456789; cat /etc/passwd /etc/passwd", 60, output, sizeof output, &err),
        0);
    assert_string_equal(output, "0123456");
}

TEST(how_it_failed_is_said)
{
    char output[64];
    assert_int_equal(run_shell("echo why; exit 3", 60, output, sizeof output, &err), -1);
    assert_string_equal(err.text, "/bin/sh: exit status 3");
    assert_string_equal(output, "why\n");
    assert_int_equal(run_shell("kill -9 $$", 60, output, sizeof output, &err), -1);
    assert_string_equal(err.text, "/bin/sh was killed by signal 9");
    char *const argv[] = {"x", NULL}, *const env[] = {NULL};
    struct nt_check_run none = {.path = "/nowhere/x", .argv = argv, .env = env, .seconds = 60};
    assert_int_equal(nt_check_run(&none, output, sizeof output, &err), -1);
    assert_string_equal(err.text, "/nowhere/x: exit status 127");
}

/* A program that blocks with its output open, one that closed it, one that prints without end. */
TEST(nothing_outlasts_its_time)
{
    static const char *const scripts[] = {"sleep 1000", "exec >&- 2>&-; sleep 1000",
                                          "cat /dev/zero", "sleep 1000 & exit 0"};
    char output[64];
    for (size_t k = 0; k < sizeof scripts / sizeof *scripts; k++) {
        double began = nt_clock_s();
        int rc = run_shell(scripts[k], 0.2, output, sizeof output, &err);
        assert_below(nt_clock_s() - began, 900); /* it came back */
        assert_int_equal(rc, k == 3 ? 0 : -1);
        if (k < 3)
            assert_string_equal(err.text, "/bin/sh did not end within 0.2 s");
    }
}

TEST(rights_are_dropped)
{
    char output[256];
    char *const argv[] = {"sh", "-c", "id -u; id -g; id -G; grep NoNewPrivs /proc/self/status",
                          NULL},
                *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct nt_check_run run = {
        .path = "/bin/sh", .argv = argv, .env = env, .uid = 65534, .gid = 65533, .seconds = 60};
    if (geteuid() != 0)
        skip();
    must(nt_check_run(&run, output, sizeof output, &err));
    assert_string_equal(output, "65534\n65533\n65533\nNoNewPrivs:\t1\n");
}

RUN_TESTS
