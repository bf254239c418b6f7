/* SPDX-License-Identifier: Apache-2.0 */
/* What earlier jobs said of this job's hosts (text/prior.h), from the file that the administrator
 * named.
 *
 * Read on rank 0, as the probe's user, within a time and a size, and only a file of root's (or of
 * the user's own, by hand) that nobody else can write. Whatever is wrong with it costs a warning in
 * the record, and the sweep is as without it. */
#ifndef NT_PRIOR_FILE_H
#define NT_PRIOR_FILE_H

#include "belief.h"
#include "err.h"
#include "prior.h"
#include "samples.h"

/* *facts: of the hosts; none is known without a prior. path NULL or "": nothing. fd: of the pipe
 * with it; 0: path is opened. Of the record's hosts; the record gets it, too. *out NULL where
 * nothing is known of most of them, else the caller's. -1 only when the record cannot be kept. */
int nt_prior_file_record(const char *path, int fd, double wait_s, struct nt_samples *samples,
                         struct nt_belief **out, struct nt_prior_facts *facts, struct nt_err *err);

#endif
