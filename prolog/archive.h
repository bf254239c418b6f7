/* SPDX-License-Identifier: Apache-2.0 */
/* The archive: a directory of root in which the first host of each job stores the job's map and
 * samples. Does not interpret them.
 *
 * A file is gzip (RFC 1952). This module writes the 10 bytes of its header and a comment; the rest
 * comes from the probe and is copied unread. The comment states facts that root knows, so that
 * nobody can write in the name of another job: "nettopo-archive/1 cluster=c job=42 restart=0
 * uid=1001 time=... hosts=n[1-8]". Names are opened relative to the directory, without following
 * links. A file is synchronised to disk before it is renamed into place.
 * Tests: test_archive.c. */
#ifndef NT_ARCHIVE_H
#define NT_ARCHIVE_H

#include <stdint.h>

#include "conf.h"
#include "err.h"
#include "job.h"
#include "log.h"

/* Copies the contents of fd, at most publish_limit bytes, to JOB.RESTART.CLUSTER.gz and replaces an
 * existing file. time_s: seconds since 1970. -1 and no file if the directory is missing, does not
 * belong to root or is writable by other users, if the file system is full, or if fd contains more
 * bytes. */
int nt_archive_keep(const struct nt_conf *conf, const struct nt_job *job, int fd, int64_t time_s,
                    struct nt_err *err);

/* Calls nt_archive_keep with the current time and logs its error. Closes fd. */
void nt_archive_add(const struct nt_conf *conf, const struct nt_job *job, const struct nt_log *log,
                    int fd);

#endif
