/* SPDX-License-Identifier: Apache-2.0 */
/* Who of the job's ranks talks with whom, from the user's own file, into the record.
 *
 * Read on rank 0, by a process of the job's user, who alone may be able to. The file system behind
 * it may hang or the file may be anything: it is read within a time and a size, only when it is a
 * regular file, and whatever is wrong with it costs a warning in the record and never the sweep. */
#ifndef NT_PATTERN_FILE_H
#define NT_PATTERN_FILE_H

#include "err.h"
#include "samples.h"

enum { NT_PATTERN_FILE_MAX = 4194304 }; /* bytes */

/* pattern matrix:PATH (fd: of the pipe with it; 0: PATH is opened): the record gets what PATH says,
 * at most NT_SAMPLES_TRAFFIC_MAX pairs, or a warning that names the file and the line and
 * "neighbour" for its pattern. Others: nothing. -1 only when the record itself cannot be kept. */
int nt_pattern_file_record(const char *pattern, int fd, double wait_s, struct nt_samples *samples,
                           struct nt_err *err);

#endif
