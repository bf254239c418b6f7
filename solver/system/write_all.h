/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to descriptors and files without short writes.
 * Tests: test_publish.c, test_artifacts.c, bats/commands.bats, bats/ways.bats. */
#ifndef NT_WRITE_ALL_H
#define NT_WRITE_ALL_H

#include <stddef.h>

#include "err.h"

/* Writes all bytes, also after signals. Returns -1 with errno set. */
int nt_write_all(int fd, const void *from, size_t bytes);

/* Writes a file ("-": standard output) atomically, by a temporary file beside it and a rename, so
 * that a reader gets the old or the new file. Writes directly to a path that is not a regular file
 * (a terminal, a pipe, /dev/null). */
int nt_file_write(const char *path, const char *text, size_t bytes, struct nt_err *err);

#endif
