/* SPDX-License-Identifier: Apache-2.0 */
/* The job's directory run_dir/JOBID: written under a temporary name and published by one rename.
 * Does not interpret the files.
 *
 * run_dir and everything in it belong to root. Only the job's user may read, and nobody else may
 * write. Every name is opened relative to an open directory, without following links. This module
 * creates the files. The relay gets them as open descriptors and writes what rank 0 sends, but does
 * not see the directory. Before the rename this module checks their total size. /run is shared with
 * the host's services and its memory is charged to no job, so the files of all jobs together are
 * limited too.
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
    bool complete[NT_ARTIFACT_END]; /* by enum nt_artifact: the last part has been written */
    uint64_t used_bytes, limit_bytes;
    bool keeps_room; /* keep some space of the file system free for others */
    bool dropped[NT_ARTIFACT_END];
};

/* Prepares an empty set of files. */
void nt_artifact_files_init(struct nt_artifact_files *artifacts, uint64_t limit_bytes);
/* Closes the files. */
void nt_artifact_files_fini(struct nt_artifact_files *artifacts);

/* Appends a part of an artifact (enum nt_artifact); more: another part follows. -1 if a limit is
 * exceeded. Samples or an archive text over the limit are dropped without an error, because the map
 * is more important. */
int nt_artifact_files_write(struct nt_artifact_files *artifacts, uint32_t artifact, bool more,
                            const void *data, size_t bytes, struct nt_err *err);

struct nt_publish {
    int run_fd, dir_fd;         /* -1: none */
    int reason_fd;              /* file with space reserved for a failure's reason; -1: none */
    char name[16];              /* "42" */
    char tmp_name[40];          /* "42.tmp-0123456789abcdef" */
    uint64_t limit_bytes;       /* limit of all files of this job */
    uint64_t total_limit_bytes; /* limit of the files of all jobs; 0: not checked */
    uid_t uid;
    gid_t gid;
    struct nt_artifact_files artifacts;
    bool has_log;
};

/* Creates run_dir if it is missing, removes the files of an earlier run of the job, and creates the
 * temporary directory with an empty file for each artifact and space for the reason of a failure.
 * After an error, only nt_publish_fini may be called. */
int nt_publish_begin(struct nt_publish *publish, const struct nt_conf *conf, uint32_t job,
                     uid_t uid, gid_t gid, struct nt_err *err);

/* From now on limits the files of all jobs together and keeps space of the file system free for
 * others. -1 if a limit is exceeded already. A failure can still be published. */
int nt_publish_limit_total(struct nt_publish *publish, uint64_t limit_bytes, struct nt_err *err);

/* Returns the descriptor of the complete text for the archive, which publish owns; -1: none. */
int nt_publish_archive_fd(const struct nt_publish *publish);

/* Removes files without data and renames the directory to its final name. -1 if an artifact is
 * incomplete, hint.env is missing, or a limit is exceeded; nt_publish_failed may still be
 * called. */
int nt_publish_finish(struct nt_publish *publish, struct nt_err *err);

/* Writes the log beside the artifacts, replacing an earlier one, cut at the size limit. Ignores
 * errors: the other files are published without the log. */
void nt_publish_log(struct nt_publish *publish, const char *text, size_t bytes);

/* Removes all artifacts and publishes a directory with a hint.env that contains the status failed
 * and the reason, and with the log if there is one. */
int nt_publish_failed(struct nt_publish *publish, const char *reason, struct nt_err *err);

/* Removes the temporary directory if it still exists, and closes all descriptors. May be called
 * after nt_publish_begin failed. */
void nt_publish_fini(struct nt_publish *publish);

/* Removes run_dir/JOB and the job's temporary directories (epilog). 0 also if there are none. */
int nt_publish_remove(const char *run_dir, uint32_t job, struct nt_err *err);

/* Looks for directories older than two hours, which no running sweep uses: those that killed agents
 * and missed epilogs left. Removes the temporary ones. Lists in jobs up to max jobs that have a
 * directory, and returns their number. */
size_t nt_publish_find_orphans(const char *run_dir, uint32_t *jobs, size_t max);

/* -1 if the files in all directories of run_fd, one level deep, occupy more than limit_bytes. */
int nt_space_check_total(int run_fd, uint64_t limit_bytes, struct nt_err *err);

/* -1 if, after more bytes are written, less than a tenth of the file system or 64 MiB, whichever is
 * less, would be free; or if fewer than a tenth of its files or 4096 are free. */
int nt_space_check_free(int run_fd, size_t more, struct nt_err *err);

#endif
