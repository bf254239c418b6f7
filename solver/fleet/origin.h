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

/* Slurm's own records of jobs: what `sacct -P` prints (a first line with JobID, User or UID, and
 * NodeList among its columns), or `scontrol show job`. */
struct nt_slurm_jobs;

int nt_slurm_jobs_parse(const char *file, const char *text, size_t bytes,
                        struct nt_slurm_jobs **out, struct nt_err *err);
void nt_slurm_jobs_destroy(struct nt_slurm_jobs *jobs);

/* Adds to origin what the records say of the job: its hosts, and its user where that is a number.
 * NT_ERR_INPUT: they have no such job, or hosts that cannot be read. */
int nt_slurm_jobs_say(const struct nt_slurm_jobs *jobs, uint64_t job, struct nt_origin *origin,
                      struct nt_err *err);

#endif
