/* SPDX-License-Identifier: Apache-2.0 */
/* What all jobs left, in one SQLite file (database.h).
 *
 * A row a job holds its readings and figures; a host has a row, a finding too. Readings
 * that are older than some days are folded per pair, user and day, each job's offset taken out
 * first (evidence.h). The schema has a version; an older file is brought up to date when it is
 * opened for writing. One store is of one cluster. Hosts are numbered from 0 in the order in which
 * they came, and keep their number. Tests: test_store.c, bats/fleet.bats. */
#ifndef NT_STORE_H
#define NT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "evidence.h"
#include "fleet_job.h"
#include "names.h"
#include "switch_naming.h"

enum { NT_STORE_VERSION = 5 };

struct nt_store;

/* read_only: the file must be there and of this version. Else it is made. NT_ERR_INPUT: no store,
 * or of a newer version. */
int nt_store_open(const char *file, bool read_only, struct nt_store **out, struct nt_err *err);
void nt_store_close(struct nt_store *store); /* what was not committed is lost */

/* Whether that run of a job is there. */
int nt_store_has(struct nt_store *store, uint64_t job, uint32_t restart, bool *has,
                 struct nt_err *err);

/* Within a transaction that the first of them begins. What is there already changes nothing.
 * NT_ERR_INPUT, and nothing of it is kept: a job of another cluster, too many hosts. After any
 * other error all since the last commit is lost. */
int nt_store_put(struct nt_store *store, const struct nt_fleet_job *job, struct nt_err *err);
int nt_store_commit(struct nt_store *store, struct nt_err *err);

/* Folds the readings of jobs before that time per pair, user and day, a transaction a day, and
 * removes what is older than drop_before_s altogether. */
int nt_store_fold(struct nt_store *store, int64_t before_s, int64_t drop_before_s,
                  struct nt_err *err);

struct nt_store_sums {
    char cluster[NT_ORIGIN_CLUSTER_BYTES];
    uint64_t jobs, hosts, users, findings, ok, partial, failed, bytes;
    int64_t first_s, last_s;
};
int nt_store_count(struct nt_store *store, struct nt_store_sums *out, struct nt_err *err);

/* Names by number; out is empty before. seen_s (may be NULL): when each was last in a job,
 * count of them, the caller's (free). */
int nt_store_hosts(struct nt_store *store, struct nt_names *out, int64_t **seen_s,
                   struct nt_err *err);

/* The newest readings: until max_entries pairs, none before since_s. out: nt_evidence_fini. */
int nt_store_evidence(struct nt_store *store, int64_t since_s, size_t max_entries,
                      struct nt_evidence *out, struct nt_err *err);

struct nt_store_job {
    uint64_t id; /* rises with the time at which it was put */
    uint64_t job;
    uint32_t restart, user;
    int64_t time_s;
    const void *figures; /* packed; until the next */
    size_t figures_bytes;
};
typedef int nt_store_each_job(void *context, const struct nt_store_job *job, struct nt_err *err);

/* Jobs since then, by time. */
int nt_store_visit_jobs(struct nt_store *store, int64_t since_s, nt_store_each_job *each,
                        void *context, struct nt_err *err);

struct nt_store_finding {
    uint64_t job;
    uint32_t user;
    int64_t time_s;
    struct nt_fleet_finding finding; /* host: its number */
};
typedef int nt_store_each_finding(void *context, const struct nt_store_finding *finding,
                                  struct nt_err *err);
int nt_store_visit_findings(struct nt_store *store, int64_t since_s, nt_store_each_finding *each,
                            void *context, struct nt_err *err);

/* LogGP that a job measured, one entry. */
typedef int nt_store_each_loggp(void *context, uint64_t job, uint32_t user, int64_t time_s,
                                const struct nt_loggp *g, struct nt_err *err);

/* The newest jobs with any since then, at most so many, newest first; a job's entries in order. */
int nt_store_visit_loggp(struct nt_store *store, int64_t since_s, size_t jobs,
                         nt_store_each_loggp *each, void *context, struct nt_err *err);

/* The names of the cluster's switches, as they were last. */
int nt_store_naming(struct nt_store *store, struct nt_switch_naming *out, struct nt_err *err);
int nt_store_set_naming(struct nt_store *store, const struct nt_switch_naming *naming,
                        struct nt_err *err);

#endif
