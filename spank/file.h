/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files that only root can write: the whole file, without following a link. Parses
 * no file except the configuration.
 * Tests: test_spawn.c. */
#ifndef NT_SPANK_FILE_H
#define NT_SPANK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "err.h"

/* Reads a file of at most max_bytes. The caller frees *text, which is not terminated. If missing is
 * not NULL, *missing is set to whether the file does not exist, which is an error too.
 * NT_ERR_SYSTEM: the file cannot be read; NT_ERR_INPUT: it is too large, not a regular file, or not
 * writable by root alone. */
int nt_file_load(const char *path, size_t max_bytes, char **text, size_t *bytes, bool *missing,
                 struct nt_err *err);

/* Returns whether an agent created that job's directory in run_dir but never completed it: the
 * agent was killed, or was stopped until its time limit ended it. */
bool nt_file_job_is_unfinished(const char *run_dir, uint32_t job);

/* Reads the configuration file, or the default file if path is NULL. Without the default file, conf
 * has the default values; a file that is named must exist. */
int nt_file_read_conf(const char *path, struct nt_conf *conf, struct nt_err *err);

#endif
