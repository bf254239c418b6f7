/* SPDX-License-Identifier: Apache-2.0 */
/* The archive: a folder of root's in which each job's first host leaves the job's map and record.
 *
 * A file is gzip (RFC 1952): the 10 bytes of its head and a comment are written here, what follows
 * is the probe's and is copied unread. The comment says what root knows, so that nobody can speak
 * for another job: "nettopo-archive/1 cluster=c job=42 restart=0 uid=1001 time=... hosts=n[1-8]".
 * Names are opened relative to the folder, without following links; a file appears by rename, and
 * is on the disk then.
 * Tests: test_archive.c. */
#ifndef NT_ARCHIVE_H
#define NT_ARCHIVE_H

#include <stdint.h>

#include "conf.h"
#include "err.h"
#include "job.h"
#include "log.h"

/* Copies what fd holds, at most publish_limit, as JOB.RESTART.CLUSTER.gz; what was there under that
 * name is replaced. -1, and no file: the folder is missing, not root's or writable by others, the
 * file system is full, the rest too large. */
int nt_archive_keep(const struct nt_conf *conf, const struct nt_job *job, int fd, int64_t time_s,
                    struct nt_err *err);

/* nt_archive_keep at the present time; closes fd, and logs why it could not. */
void nt_archive_add(const struct nt_conf *conf, const struct nt_job *job, const struct nt_log *log,
                    int fd);

#endif
