/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a whole file by name.
 * Tests: bats/commands.bats, bats/ways.bats. */
#ifndef NT_FILE_WRITE_H
#define NT_FILE_WRITE_H

#include <stddef.h>

#include "err.h"

/* Writes a file ("-": standard output) atomically, by a temporary file beside it and a rename, so
 * that a reader gets the old or the new file. Writes directly to a path that is not a regular file
 * (a terminal, a pipe, /dev/null). */
int nt_file_write(const char *path, const char *text, size_t bytes, struct nt_err *err);

#endif
