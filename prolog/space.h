/* SPDX-License-Identifier: Apache-2.0 */
/* How much room the files of all jobs take in run_dir. /run is shared with the host's services and
 * its memory is charged to no job, so one job's limit alone does not bound it. */
#ifndef NT_SPACE_H
#define NT_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* -1 when the files in all directories of run_fd, one level deep, take more than limit_bytes. */
int nt_space_check_total(int run_fd, uint64_t limit_bytes, struct nt_err *err);

/* -1 when with more bytes the file system would have less free than a tenth or 64 MiB, whichever is
 * less; of its files, a tenth or 4096. */
int nt_space_check_free(int run_fd, size_t more, struct nt_err *err);

#endif
