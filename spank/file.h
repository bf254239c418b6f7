/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files that only root can write, completely and without following a link.
 * Tests: test_spawn.c. */
#ifndef NT_SPANK_FILE_H
#define NT_SPANK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "err.h"

/* *text is new memory, freed by the caller. *missing, when not NULL, becomes true for a file that
 * does not exist (NT_ERR_SYSTEM as for any other failure). */
int nt_file_load(const char *path, size_t max_bytes, char **text, size_t *bytes, bool *missing,
                 struct nt_err *err);

/* Whether an agent began that job's directory in run_dir and did not come to finish it: it was
 * killed, or stopped and then ended by its time limit. */
bool nt_file_job_is_unfinished(const char *run_dir, uint32_t job);

/* Reads the configuration. path NULL: the default file, which may be missing. */
int nt_file_conf(const char *path, struct nt_conf *conf, struct nt_err *err);

#endif
