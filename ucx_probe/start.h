/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the START frame, in which the agent describes the job to its probe. Lines of "WORD
 * VALUE", in any order except the lines of hosts:
 *
 *   rank R                  rank of this probe; 0 is the coordinator
 *   size N                  number of hosts of the job
 *   deadline_us US          end of the sweep by CLOCK_MONOTONIC, the clock of agent and probe
 *   job ID
 *   restart K               optional, 0
 *   cluster NAME            optional
 *   policy full|latency     optional, full
 *   option TEXT             optional: the --nettopo option, see nt_option_parse
 *   level auto              optional: rank 0 decides on the level, up to the option's
 *   limit S                 optional: time limit of the job in seconds
 *   use unknown             optional: slurmctld did not report the job's tasks and limit
 *   archive yes             optional: rank 0 also sends the text for the archive
 *   inline_limit BYTES      optional, 32768
 *   max_load SHARE          optional, 1: mean share of a link that the sweep may use
 *   prior PATH              optional: file with results of earlier jobs (text/prior.h)
 *   log LEVEL               optional, info: level of the probe's log (base/log_line.h)
 *   warning TEXT            optional: how limits changed the option, for the map
 *   tasks N                 optional: number of tasks requested
 *   task_cpus K             optional: CPUs per task
 *   cpus LIST               optional: the job's CPUs per host in Slurm's format, 4(x2),3
 *   host NAME               N lines, in the order of ranks
 *   end                     the last line
 *
 * No I/O.
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

/* Default size limit of the variable NETTOPO_JSON. */
enum { NT_INLINE_LIMIT_BYTES = 32768 };

/* The job whose network is measured, as described by the starter of the probe. */
struct nt_probe_job {
    uint64_t job_id; /* 0: none */
    uint32_t restart;
    const char *cluster;       /* NULL: not known; borrowed, as all texts here */
    char host[256];            /* host name of this rank; the greetings contain the others */
    uint32_t tasks, task_cpus; /* 0: not known */
    const char *cpus;          /* CPUs per host, "4(x2),3"; NULL: not known */
    const char *warning;       /* warning for the map; NULL: none */
    bool latency_only;         /* policy latency, for shared hosts */
    bool use_unknown;          /* the agent could not find out tasks and limit_s */
    bool archive;              /* the agent keeps an archive */
    double max_load;           /* mean share of a link that the sweep may use; 0: all */
    const char *prior;         /* file with results of earlier jobs; NULL: none */
    const struct nt_workload
        *stress; /* without an agent: stresses kernels that replace those of the level */
    size_t stresses;
    const char *plan;         /* without an agent: file with the pairs to measure; NULL: a sweep */
    bool plan_flows;          /* their bandwidths, not their latencies */
    int prior_fd, traffic_fd; /* pipes with prior and the file of matrix:PATH; 0: open the paths */
    struct nt_option option;
    uint32_t limit_s;            /* time limit of the job; 0: not known, or none */
    enum nt_log_level log;       /* level of the log */
    uint32_t inline_limit_bytes; /* size limit of NETTOPO_JSON */
    /* by rank; NULL: the starter did not provide them; borrowed */
    const char *const *host_names;
};

struct nt_start {
    uint32_t rank, size;
    uint64_t deadline_us; /* CLOCK_MONOTONIC, above 0 */
    struct nt_probe_job job;
    const char **host;      /* by rank; also job.host_names */
    struct nt_arena memory; /* all texts */
};

int nt_start_parse(const char *text, size_t bytes, struct nt_start *out, struct nt_err *err);
void nt_start_fini(struct nt_start *start);

#endif
