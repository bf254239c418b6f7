/* SPDX-License-Identifier: Apache-2.0 */
/* What many jobs measured of one cluster: latencies of pairs of hosts, one entry a pair and job.
 *
 * Hosts, jobs and users are indices here; their names, and the files, are whose who fills it. An
 * entry is 32 bytes, a job 24; nothing else grows with the readings. Readings of one pair in one
 * job are folded into one entry: how many there were, the lowest, mean and standard deviation.
 * Jobs may be added in any order: what is inferred from the evidence depends on their times only.
 * Tests: test_fleet_job.c. */
#ifndef NT_EVIDENCE_H
#define NT_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

#include "class_fit.h"
#include "err.h"

enum {
    NT_EVIDENCE_JOBS_MAX = 16 * 1024 * 1024,
    NT_EVIDENCE_ENTRIES_MAX = 1024 * 1024 * 1024,
};

struct nt_evidence_job {
    int64_t time_s;  /* when it measured, seconds since 1970 UTC */
    uint64_t id;     /* tells apart jobs of one time: any number that does not change */
    uint32_t user;   /* whose it was */
    float offset_ln; /* its latencies are exp(that) times the usual; NaN: not known */
};

struct nt_evidence_entry {
    uint32_t a, b;                   /* hosts, a < b */
    uint32_t job;                    /* as numbered now: see nt_evidence_sort */
    uint32_t count;                  /* readings behind it */
    float lowest_us, mean_us, sd_us; /* one way, as measured; sd 0: one reading */
    float ln;                        /* of the lowest, less the job's offset; set by aligning */
};

struct nt_evidence {
    size_t hosts;
    size_t jobs, jobs_capacity;
    struct nt_evidence_job *job; /* owned, as is the next */
    size_t entries, entries_capacity;
    struct nt_evidence_entry *entry; /* by pair and time once sorted */
};

/* At most NT_HOSTS_MAX hosts, else NT_ERR_INPUT. */
int nt_evidence_init(struct nt_evidence *evidence, size_t hosts, struct nt_err *err);
void nt_evidence_fini(struct nt_evidence *evidence);

/* *index (may be NULL): of the new job. NT_ERR_INPUT beyond NT_EVIDENCE_JOBS_MAX. */
int nt_evidence_add_job(struct nt_evidence *evidence, int64_t time_s, uint64_t id, uint32_t user,
                        uint32_t *index, struct nt_err *err);

/* Readings of one pair in the last job or an earlier one: hosts in any order, count > 0,
 * 0 < lowest_us <= mean_us < 1e9, sd_us >= 0. Several of the same pair and job are folded by
 * nt_evidence_sort. NT_ERR_INPUT: no such host or job, one host with itself, no latency. */
int nt_evidence_add(struct nt_evidence *evidence, const struct nt_evidence_entry *folded,
                    struct nt_err *err);

/* Jobs by time and id, which numbers them anew; entries by pair, then job, those of one pair and
 * job folded into one. */
int nt_evidence_sort(struct nt_evidence *evidence, struct nt_err *err);

/* The first entry after those of the pair that entry[from] is of; after sorting. */
size_t nt_evidence_next_pair(const struct nt_evidence *evidence, size_t from);

/* Estimates the jobs' offsets from the pairs that they share, and sets ln. Jobs differ by a factor
 * (clocks of processors, load): the median over the pairs that a job shares with others of its own
 * latency over the median of all, in turns until nothing moves, so that few pairs that changed or
 * were disturbed move none. Jobs that share hardly a pair with the others are no measure of these:
 * both groups are aligned by themselves, about the same mean. The middle job has offset 0; one that
 * shares no pair has NaN, and its latencies count as they are. Sorts. */
int nt_evidence_align(struct nt_evidence *evidence, struct nt_err *err);

/* After nt_evidence_align: changes ln of entries and offsets of jobs. */
int nt_class_align(struct nt_evidence *evidence, const struct nt_classes *classes,
                   struct nt_err *err);

#endif
