/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is read within a time and a size, only when it is a regular one: the file system
 * behind it may hang, and a sweep may not. Under the agent a process of the file's user reads it
 * (prolog/child.h), and this process has the end of a pipe.
 * Tests: test_pattern_file.c, test_prior_file.c. */
#ifndef NT_FILE_WITHIN_H
#define NT_FILE_WITHIN_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct nt_file_within {
    const char *path; /* begins with / : the probe stands elsewhere than the user did */
    int fd;           /* the pipe; 0: path is opened */
    size_t bytes_max;
    double wait_s;
    bool trusted; /* only a file of root or of our own that nobody else can write */
};

/* *text: *bytes of it, the caller's (free). -1 with the reason, which names the file. */
int nt_file_within_read(const struct nt_file_within *file, char **text, size_t *bytes,
                        struct nt_err *why);

/* The end of a path, as errors name it: what stands behind it must be read, too. */
const char *nt_file_within_name(const char *path);

#endif
