/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet store: the results of all jobs of a cluster in one SQLite file (database.h).
 *
 * A row per job contains its readings and values; hosts and findings have rows too. Readings older
 * than some days are combined per pair, user and day, after each job's offset is removed
 * (evidence.h). The schema has a version; an older file is upgraded when it is opened for writing.
 * Hosts are numbered from 0 in the order of their first job, and keep their number.
 * Tests: test_store.c, bats/fleet.bats. */
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

/* Opens a store. read_only: the file must exist and have this version. Otherwise it is created.
 * NT_ERR_INPUT: not a store, or a newer version. */
int nt_store_open(const char *file, bool read_only, struct nt_store **out, struct nt_err *err);
void nt_store_close(struct nt_store *store); /* uncommitted data is lost */

/* Sets *has to whether the store contains that run of a job. */
int nt_store_has(struct nt_store *store, uint64_t job, uint32_t restart, bool *has,
                 struct nt_err *err);

/* Adds a job, in a transaction that the first call starts. Does nothing if the store contains the
 * job. NT_ERR_INPUT, and nothing is added: a job of another cluster, or too many hosts. After any
 * other error all data since the last commit is lost. */
int nt_store_put(struct nt_store *store, const struct nt_fleet_job *job, struct nt_err *err);
int nt_store_commit(struct nt_store *store, struct nt_err *err);

/* Combines the readings of jobs before before_s per pair, user and day, in one transaction per day,
 * and removes data older than drop_before_s. */
int nt_store_fold(struct nt_store *store, int64_t before_s, int64_t drop_before_s,
                  struct nt_err *err);

struct nt_store_sums {
    char cluster[NT_ORIGIN_CLUSTER_BYTES];
    uint64_t jobs, hosts, users, findings, ok, partial, failed, bytes;
    int64_t first_s, last_s;
};
int nt_store_count(struct nt_store *store, struct nt_store_sums *out, struct nt_err *err);

/* Reads the host names by number; out must be empty. seen_s (may be NULL): time of each host's last
 * job, count entries, which the caller frees. */
int nt_store_hosts(struct nt_store *store, struct nt_names *out, int64_t **seen_s,
                   struct nt_err *err);

/* Reads the newest readings since since_s, up to max_entries pairs. The caller calls
 * nt_evidence_fini. */
int nt_store_evidence(struct nt_store *store, int64_t since_s, size_t max_entries,
                      struct nt_evidence *out, struct nt_err *err);

struct nt_store_job {
    uint64_t id; /* increases with the time of adding */
    uint64_t job;
    uint32_t restart, user;
    int64_t time_s;
    const void *figures; /* packed; valid until the next job */
    size_t figures_bytes;
};
typedef int nt_store_each_job(void *context, const struct nt_store_job *job, struct nt_err *err);

/* Visits the jobs since since_s in order of time. */
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

/* Called with one entry of LogGP that a job measured. */
typedef int nt_store_each_loggp(void *context, uint64_t job, uint32_t user, int64_t time_s,
                                const struct nt_loggp *g, struct nt_err *err);

/* Visits the newest jobs with LogGP since since_s, at most that many, newest first, and the entries
 * of a job in order. */
int nt_store_visit_loggp(struct nt_store *store, int64_t since_s, size_t jobs,
                         nt_store_each_loggp *each, void *context, struct nt_err *err);

/* Reads the last names of the cluster's switches. */
int nt_store_naming(struct nt_store *store, struct nt_switch_naming *out, struct nt_err *err);
int nt_store_set_naming(struct nt_store *store, const struct nt_switch_naming *naming,
                        struct nt_err *err);

#endif
