/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program and keeps the beginning of what it prints, within a time, as a user without
 * rights where that is asked. For checks: waits for it.
 * Tests: test_check_run.c. */
#ifndef NT_CHECK_RUN_H
#define NT_CHECK_RUN_H

#include <stddef.h>
#include <sys/types.h>

#include "err.h"

struct nt_check_run {
    const char *path;
    char *const *argv, *const *env;
    uid_t uid; /* 0: the caller's */
    gid_t gid;
    double seconds; /* then it is killed */
};

/* Standard output and error together, cut to room, terminated. -1: it could not be started, did not
 * end in time, was killed, or its status is not 0; err says which. */
int nt_check_run(const struct nt_check_run *run, char *output, size_t room, struct nt_err *err);

#endif
