/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the START frame: a probe's place in its job, as the agent tells it. Lines of
 * "WORD VALUE", in any order but the hosts':
 *
 *   rank R                  this probe's; 0 leads
 *   size N                  hosts of the job
 *   deadline_us US          of CLOCK_MONOTONIC, which both have: everything must be over by then,
 *                           however late the probe comes to read this
 *   job ID
 *   restart K               optional, 0
 *   cluster NAME            optional
 *   policy full|latency     optional, full
 *   option TEXT             optional: the --nettopo option, as nt_option_parse reads it
 *   level auto              optional: rank 0 decides on the level, up to the option's
 *   limit S                 optional: seconds that the job may run
 *   use unknown             optional: slurmctld did not say what the job asked for
 *   archive yes             optional: rank 0 also sends what is for the archive
 *   inline_limit BYTES      optional, 32768
 *   max_load SHARE          optional, 1: of a link that the sweep may use on average
 *   prior PATH              optional: file of what earlier jobs said (text/prior.h)
 *   log LEVEL               optional, info: how much the probe says (base/log_line.h)
 *   warning TEXT            optional: what limits have changed of the option, for the map
 *   tasks N                 optional: how many the job asked for
 *   task_cpus K             optional: CPUs a task
 *   cpus LIST               optional: the job's CPUs by host, as Slurm writes it: 4(x2),3
 *   host NAME               N of them, in rank order
 *   end                     the last line
 *
 * Pure.
 * Tests: test_start.c, test_coordinator.c. */
#ifndef NT_START_H
#define NT_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "log_line.h"
#include "memory.h"
#include "option.h"
#include "workload.h"

enum { NT_START_TASKS_MAX = 1048576 };

/* The default limit of NETTOPO_JSON. */
enum { NT_INLINE_LIMIT_BYTES = 32768 };

/* The job whose network is measured, as whoever started the probe describes it. */
struct nt_probe_job {
    uint64_t job_id; /* 0: none */
    uint32_t restart;
    const char *cluster;       /* NULL: not known; borrowed, as the other texts */
    char host[256];            /* this rank's host name; the others' come with the greetings */
    uint32_t tasks, task_cpus; /* 0: not known */
    const char *cpus;          /* CPUs by host, "4(x2),3"; NULL: not known */
    const char *warning;       /* for the map; NULL: none */
    bool latency_only;         /* policy: shared hosts */
    bool use_unknown;          /* the agent has tried to learn tasks and limit_s in vain */
    bool archive;              /* the agent keeps an archive */
    double max_load;           /* share of a link that the sweep may use on average; 0: all */
    const char *prior;         /* file of what earlier jobs said; NULL: none */
    const struct nt_workload *stress; /* by hand: stresses kernels in place of the level's */
    size_t stresses;
    const char *plan;         /* by hand: file with the pairs to measure; NULL: a sweep */
    int prior_fd, traffic_fd; /* pipes with it and with matrix:PATH; 0: the paths are opened */
    struct nt_option option;
    uint32_t limit_s;            /* seconds that the job may run; 0: not known, or none */
    enum nt_log_level log;       /* how much is logged */
    uint32_t inline_limit_bytes; /* of NETTOPO_JSON */
    /* by rank, when the starter told them, else NULL; borrowed */
    const char *const *host_names;
};

struct nt_start {
    uint32_t rank, size;
    uint64_t deadline_us; /* over 0 */
    struct nt_probe_job job;
    const char **host;      /* size of them; job.host_names */
    struct nt_arena memory; /* of all texts */
};

int nt_start_parse(const char *text, size_t bytes, struct nt_start *out, struct nt_err *err);
void nt_start_fini(struct nt_start *start);

#endif
