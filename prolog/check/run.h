/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program for a check, within a time limit and optionally as an unprivileged user, waits for
 * it and keeps the beginning of its output.
 * Tests: test_check_run.c. */
#ifndef NT_CHECK_RUN_H
#define NT_CHECK_RUN_H

#include <stddef.h>
#include <sys/types.h>

#include "err.h"

struct nt_check_run {
    const char *path;
    char *const *argv, *const *env;
    uid_t uid; /* 0: the caller's user */
    gid_t gid;
    double seconds; /* time limit; then the program is killed */
};

/* Runs the program. output: standard output and error together, cut to room, terminated. -1 with
 * err: it could not be started, did not end in time, was killed, or its status is not 0. */
int nt_check_run(const struct nt_check_run *run, char *output, size_t room, struct nt_err *err);

#endif
