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
 * Pure. */
#ifndef NT_START_H
#define NT_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "log_line.h"
#include "option.h"

enum { NT_START_TASKS_MAX = 1048576, NT_START_WARNING_BYTES = 256 };

struct nt_start {
    uint32_t rank, size, restart, inline_limit_bytes;
    uint64_t job_id, deadline_us; /* deadline_us: over 0 */
    bool latency_only, archive, use_unknown;
    uint32_t limit_s; /* 0: not known, or none */
    double max_load;  /* over 0, at most 1 */
    char cluster[256];
    struct nt_option option;
    enum nt_log_level log;
    char warning[NT_START_WARNING_BYTES]; /* "": none */
    uint32_t tasks, task_cpus;            /* 0: not known */
    char cpus[256];                       /* "": not known */
    char prior[256];                      /* "": none */
    char **host;                          /* size of them; owned */
};

int nt_start_parse(const char *text, size_t bytes, struct nt_start *out, struct nt_err *err);
void nt_start_fini(struct nt_start *start);

#endif
