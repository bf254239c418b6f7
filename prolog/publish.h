/* SPDX-License-Identifier: Apache-2.0 */
/* The job's directory run_dir/JOBID: written under a temporary name and published by one rename.
 *
 * run_dir and everything below belong to root; only the job's user may read, nobody else may write.
 * Every name is opened relative to an open directory, without following links. The files are
 * created here; while they are written they are open descriptors without names, which the relay
 * fills with what rank 0 sends, and it does not see the directory. Their total size is checked here
 * before the rename. Their contents are not known here. /run is shared with the host's services and
 * its memory is charged to no job, so one job's limit alone does not bound it.
 * Tests: test_publish.c, test_space.c. */
#ifndef NT_PUBLISH_H
#define NT_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf.h"
#include "err.h"
#include "frame.h"

struct nt_artifact_files {
    int fd[NT_ARTIFACT_END];        /* by enum nt_artifact; -1: none; owned */
    bool complete[NT_ARTIFACT_END]; /* the last part is written */
    uint64_t used_bytes, limit_bytes;
    bool keeps_room; /* the file system keeps room for others */
    bool dropped[NT_ARTIFACT_END];
};

/* No files. */
void nt_artifact_files_init(struct nt_artifact_files *artifacts, uint64_t limit_bytes);
/* Closes them. */
void nt_artifact_files_fini(struct nt_artifact_files *artifacts);

/* Appends a part of an artifact (enum nt_artifact); more: another one follows. A record or an
 * archive text over the limit is dropped without an error, since the map is more important. */
int nt_artifact_files_write(struct nt_artifact_files *artifacts, uint32_t artifact, bool more,
                            const void *data, size_t bytes, struct nt_err *err);

/* Writes all bytes; -1 with errno set. */
int nt_write_all(int fd, const void *from, size_t bytes);

struct nt_publish {
    int run_fd, dir_fd;       /* -1: none */
    int reason_fd;            /* of the room for a failure's reason; -1: none */
    char name[16];            /* "42" */
    char tmp_name[40];        /* "42.tmp-0123456789abcdef" */
    uint64_t limit_bytes;     /* of the files of this job */
    uint64_t all_limit_bytes; /* of the files of all jobs; 0: not checked */
    uid_t uid;
    gid_t gid;
    struct nt_artifact_files artifacts;
    bool has_log;
};

/* Creates run_dir if it is missing, removes what an earlier run of the job left, and creates the
 * temporary directory with an empty file for each artifact, and room for the reason of a failure.
 * On error there is nothing to finish. */
int nt_publish_begin(struct nt_publish *publish, const struct nt_conf *conf, uint32_t job,
                     uid_t uid, gid_t gid, struct nt_err *err);

/* From now on the files of all jobs together are bounded, and the file system keeps room for
 * others; -1 when that is so far not the case. A failure can always be published. */
int nt_publish_bound_all(struct nt_publish *publish, uint64_t limit_bytes, struct nt_err *err);

/* What is for the archive, complete, once published; the descriptor is publish's. -1: nothing. */
int nt_publish_archived(const struct nt_publish *publish);

/* Removes the files without a part and renames the directory to its final name. -1 when an artifact
 * is not complete, hint.env is missing, or the files are over the limit; nt_publish_failed may
 * still be called. */
int nt_publish_finish(struct nt_publish *publish, struct nt_err *err);

/* Writes the log beside the artifacts, replacing an earlier one, cut at the size limit. An error is
 * ignored: the rest is published without it. */
void nt_publish_log(struct nt_publish *publish, const char *text, size_t bytes);

/* Removes all artifacts and publishes a directory with a hint.env that says failed and the reason,
 * and the log when there is one. */
int nt_publish_failed(struct nt_publish *publish, const char *reason, struct nt_err *err);

/* Removes the temporary directory if it is still there, and closes. Fine after begin failed. */
void nt_publish_fini(struct nt_publish *publish);

/* Removes run_dir/JOB and the job's temporary directories (epilog). 0 also when there are none. */
int nt_publish_remove(const char *run_dir, uint32_t job, struct nt_err *err);

/* What ended agents and missed epilogs left, in directories older than two hours and so of no sweep
 * that runs: removes the temporary ones, and lists up to max jobs that have a directory. */
size_t nt_publish_sweep(const char *run_dir, uint32_t *jobs, size_t max);

/* -1 when the files in all directories of run_fd, one level deep, take more than limit_bytes. */
int nt_space_check_total(int run_fd, uint64_t limit_bytes, struct nt_err *err);

/* -1 when with more bytes the file system would have less free than a tenth or 64 MiB, whichever is
 * less; of its files, a tenth or 4096. */
int nt_space_check_free(int run_fd, size_t more, struct nt_err *err);

#endif
