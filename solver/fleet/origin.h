/* SPDX-License-Identifier: Apache-2.0 */
/* Where a job's map comes from, as somebody says who is not the job's user: root, at the head of a
 * file of the archive, or Slurm's own records.
 *
 * The head is one line:
 *   nettopo-archive/1 cluster=c job=42 restart=0 uid=1001 time=1764009370 hosts=n[1-8]
 * Tests: test_origin.c. */
#ifndef NT_ORIGIN_H
#define NT_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "names.h"

#define NT_NO_USER UINT32_MAX

enum { NT_ORIGIN_CLUSTER_BYTES = 256 };

struct nt_origin {
    char cluster[NT_ORIGIN_CLUSTER_BYTES]; /* "": not said */
    bool has_job, has_restart;
    uint64_t job;
    uint32_t restart;
    uint32_t user;         /* NT_NO_USER: not said */
    int64_t time_s;        /* 0: not said */
    struct nt_names hosts; /* none: not said; owned */
};

/* {0} says nothing, but for the user: use this. */
#define NT_ORIGIN_NONE ((struct nt_origin){.user = NT_NO_USER})

void nt_origin_fini(struct nt_origin *origin);

/* The head of a file of the archive; text need not be terminated. */
int nt_origin_parse(const char *text, size_t bytes, struct nt_origin *out, struct nt_err *err);

/* Slurm's own records of jobs: what `sacct -P` prints (a first line with JobIDRaw or JobID, User
 * or UID, and NodeList among its columns; maps have the number that JobIDRaw and scontrol have), or
 * `scontrol show job`. */
struct nt_slurm_jobs;

int nt_slurm_jobs_parse(const char *file, const char *text, size_t bytes,
                        struct nt_slurm_jobs **out, struct nt_err *err);
void nt_slurm_jobs_destroy(struct nt_slurm_jobs *jobs);

/* Adds to origin what the records say of the job: its hosts, and its user where that is a number.
 * NT_ERR_INPUT: they have no such job, or hosts that cannot be read. */
int nt_slurm_jobs_say(const struct nt_slurm_jobs *jobs, uint64_t job, struct nt_origin *origin,
                      struct nt_err *err);

/* A file of the archive: gzip (RFC 1952) with root's line about its origin as the comment of the
 * head, and inside the map, then the record of the sweep, as the job's user's probe made them.
 * zlib is seen in origin.c only. */

enum { NT_ARCHIVE_COMMENT_MAX = 65536 };

struct nt_archive_text {
    char *comment; /* "" when there is none; owned, as is the next */
    char *text;
    size_t bytes;
    size_t map_bytes; /* the record of the sweep begins there; bytes: there is none */
};

bool nt_archive_text_is(const void *file, size_t bytes);

/* At most most bytes of text, else NT_ERR_INPUT, as for what is no such file. What follows the
 * first member is passed over: its head alone is root's. */
int nt_archive_text_read(const void *file, size_t bytes, size_t most, struct nt_archive_text *out,
                         struct nt_err *err);
void nt_archive_text_fini(struct nt_archive_text *text);

/* Where in a text of a map and a record the record begins; bytes: there is none. */
size_t nt_archive_text_split(const char *text, size_t bytes);

#endif
