/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements of many jobs in one cluster: latencies of pairs of hosts, one entry per pair and
 * job. Hosts, jobs and users are indices; the caller knows their names and the files. An entry
 * takes 32 bytes, a job 24; no other memory depends on the number of readings.
 *
 * The readings of one pair in one job are combined in one entry: their number, lowest value, mean
 * and standard deviation. Jobs may be added in any order; inference from the evidence depends on
 * their times only.
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
    int64_t time_s; /* time of the measurement, seconds since 1970 UTC */
    uint64_t id;    /* distinguishes jobs with the same time; any number that does not change */
    uint32_t user;  /* index of the user */
    /* Its latencies are exp(offset_ln) times the latencies of the median job; NaN: not known */
    float offset_ln;
};

struct nt_evidence_entry {
    uint32_t a, b;                   /* hosts, a < b */
    uint32_t job;                    /* current index: see nt_evidence_sort */
    uint32_t count;                  /* number of readings */
    float lowest_us, mean_us, sd_us; /* one-way latency as measured; sd 0: one reading */
    float ln; /* logarithm of the lowest minus the job's offset; set by nt_evidence_align */
};

struct nt_evidence {
    size_t hosts;
    size_t jobs, jobs_capacity;
    struct nt_evidence_job *job; /* owned, as entry */
    size_t entries, entries_capacity;
    struct nt_evidence_entry *entry; /* by pair and time after sorting */
};

/* NT_ERR_INPUT: more than NT_HOSTS_MAX hosts. */
int nt_evidence_init(struct nt_evidence *evidence, size_t hosts, struct nt_err *err);
void nt_evidence_fini(struct nt_evidence *evidence);

/* Adds a job. *index (may be NULL): of the new job. NT_ERR_INPUT: more than
 * NT_EVIDENCE_JOBS_MAX. */
int nt_evidence_add_job(struct nt_evidence *evidence, int64_t time_s, uint64_t id, uint32_t user,
                        uint32_t *index, struct nt_err *err);

/* Adds readings of one pair in the last job or an earlier one: hosts in any order, count > 0, 0 <
 * lowest_us <= mean_us < 1e9, sd_us >= 0. nt_evidence_sort combines several entries of the same
 * pair and job. NT_ERR_INPUT: no such host or job, twice the same host, or an invalid latency. */
int nt_evidence_add(struct nt_evidence *evidence, const struct nt_evidence_entry *folded,
                    struct nt_err *err);

/* Sorts jobs by time and id, which changes their indices, and entries by pair, then job; combines
 * entries of one pair and job. */
int nt_evidence_sort(struct nt_evidence *evidence, struct nt_err *err);

struct nt_user_value {
    uint32_t user;
    float value;
};

/* Writes the median of each user's values to median[], which has room for n, and returns the number
 * of users. The median of these medians is one that no single user decides, however many jobs it
 * runs. Reorders values. */
size_t nt_user_medians(struct nt_user_value *values, size_t n, float *median);

/* Returns the first entry after those of the pair of entry[from]; call it after sorting. */
size_t nt_evidence_next_pair(const struct nt_evidence *evidence, size_t from);

/* Estimates the jobs' offsets from the pairs that they share, sets ln, and sorts. Jobs differ by a
 * factor (clock rates of processors, load): the median, over the pairs that a job shares with
 * others, of its own latency divided by the median of all. Repeated until the offsets do not
 * change, so that a few changed or disturbed pairs have no effect. Jobs that share almost no pair
 * with the others are aligned as a group of their own, around the same mean. The median job has
 * offset 0. A job that shares no pair has NaN, and its latencies are used unchanged. */
int nt_evidence_align(struct nt_evidence *evidence, struct nt_err *err);

/* Call it after nt_evidence_align. Changes ln of entries and offsets of jobs. */
int nt_class_align(struct nt_evidence *evidence, const struct nt_classes *classes,
                   struct nt_err *err);

#endif
