/* SPDX-License-Identifier: Apache-2.0 */
/* The origin of a job's map, from a source other than the job's user: root, in the header of an
 * archive file, or Slurm's accounting. The header is one line: nettopo-archive/1 cluster=c job=42
 * restart=0 uid=1001 time=1764009370 hosts=n[1-8]
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
    char cluster[NT_ORIGIN_CLUSTER_BYTES]; /* "": not known */
    bool has_job, has_restart;
    uint64_t job;
    uint32_t restart;
    uint32_t user;         /* NT_NO_USER: not known */
    int64_t time_s;        /* 0: not known */
    struct nt_names hosts; /* none: not known; owned */
};

/* An origin without facts ({0} would name user 0). */
#define NT_ORIGIN_NONE ((struct nt_origin){.user = NT_NO_USER})

void nt_origin_fini(struct nt_origin *origin);

/* Parses the header of an archive file; text need not be terminated. */
int nt_origin_parse(const char *text, size_t bytes, struct nt_origin *out, struct nt_err *err);

/* Slurm's accounting of jobs: the output of `sacct -P` (a first line with JobIDRaw or JobID, User
 * or UID, and NodeList among its columns; maps have the number of JobIDRaw and scontrol), or of
 * `scontrol show job`. */
struct nt_slurm_jobs;

int nt_slurm_jobs_parse(const char *file, const char *text, size_t bytes,
                        struct nt_slurm_jobs **out, struct nt_err *err);
void nt_slurm_jobs_destroy(struct nt_slurm_jobs *jobs);

/* Adds the job's hosts to origin, and its user if that is a number. NT_ERR_INPUT: there is no such
 * job, or its hosts are invalid. */
int nt_slurm_jobs_add_facts(const struct nt_slurm_jobs *jobs, uint64_t job,
                            struct nt_origin *origin, struct nt_err *err);

/* A file of the archive: gzip (RFC 1952) with root's line about its origin as the comment in the
 * header. It contains the map, then the samples of the sweep, from the probe of the job. Only
 * origin.c uses zlib. */

enum { NT_ARCHIVE_COMMENT_MAX = 65536 };

struct nt_archive_text {
    char *comment; /* "": none; owned, as text */
    char *text;
    size_t bytes;
    size_t map_bytes; /* index of the samples in text; bytes: there are none */
};

bool nt_archive_text_is(const void *file, size_t bytes);

/* Reads an archive file. NT_ERR_INPUT: more than most bytes of text, or an invalid file. Ignores
 * data after the first gzip member, because only its header comes from root. */
int nt_archive_text_read(const void *file, size_t bytes, size_t most, struct nt_archive_text *out,
                         struct nt_err *err);
void nt_archive_text_fini(struct nt_archive_text *text);

/* Returns the index of the samples in a text with a map and samples; bytes: there are none. */
size_t nt_archive_text_split(const char *text, size_t bytes);

#endif
