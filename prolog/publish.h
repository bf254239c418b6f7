/* The job's directory: run_dir/JOBID, written aside and put in place by one rename.
 *
 * run_dir and everything below belong to root; only the job's user may read, nobody may write.
 * Every name is opened relative to a directory that we hold open, without following links. The
 * total of all papers is bounded. Knows file names, not what stands in the files. */
#ifndef NT_PUBLISH_H
#define NT_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "frame.h"

struct nt_publish {
    int run_fd, dir_fd; /* -1: none */
    char name[16];      /* "42" */
    char tmp_name[40];  /* "42.tmp-0123456789abcdef" */
    uint64_t used_bytes, limit_bytes;
    uid_t uid;
    gid_t gid;
    int fd[NT_ARTIFACT_END];        /* papers that are being written; -1 */
    bool complete[NT_ARTIFACT_END]; /* their last part came */
    bool has_log;
};

/* Makes run_dir if need be, removes what an earlier run of the job left, and begins aside.
 * On error there is nothing to finish. */
int nt_publish_begin(struct nt_publish *publish, const char *run_dir, uint32_t job, uid_t uid,
                     gid_t gid, uint64_t limit_bytes, struct nt_err *err);

/* The next part of a paper; more: another follows. */
int nt_publish_artifact(struct nt_publish *publish, uint32_t artifact, bool more, const void *data,
                        size_t bytes, struct nt_err *err);

/* Puts the directory in place. -1 when a paper is not complete or hint.env is missing; the
 * caller may still call nt_publish_failed. */
int nt_publish_finish(struct nt_publish *publish, struct nt_err *err);

/* The log, beside the papers: the last one counts, and what has no room within the limit is cut.
 * Without it the rest is published all the same. */
void nt_publish_log(struct nt_publish *publish, const char *text, size_t bytes);

/* Drops every paper and puts in place a directory with nothing but a hint.env that says failed
 * and why, and the log when there is one. */
int nt_publish_failed(struct nt_publish *publish, const char *reason, struct nt_err *err);

/* Removes what stands aside, if anything, and closes. After begin failed: fine. */
void nt_publish_fini(struct nt_publish *publish);

/* The epilog: removes run_dir/JOB and what stands aside for it. 0 also when there was nothing. */
int nt_publish_remove(const char *run_dir, uint32_t job, struct nt_err *err);

#endif
