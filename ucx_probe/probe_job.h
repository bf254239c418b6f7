/* SPDX-License-Identifier: Apache-2.0 */
/* The job whose network is measured, as whoever started the probe describes it.
 * Tests: test_coordinator.c. */
#ifndef NT_PROBE_JOB_H
#define NT_PROBE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log_line.h"
#include "option.h"

struct nt_probe_job {
    uint64_t job_id; /* 0: none */
    uint32_t restart;
    char cluster[256];
    char host[256];            /* this rank's host name; the others' come with the greetings */
    uint32_t tasks, task_cpus; /* 0: not known */
    const char *cpus;          /* CPUs by host, "4(x2),3"; "" or NULL: not known; borrowed */
    const char *warning;       /* for the map; "" or NULL: none; borrowed */
    bool latency_only;         /* policy: shared hosts */
    bool use_unknown;          /* the agent has tried to learn tasks and limit_s in vain */
    bool archive;              /* the agent keeps an archive */
    double max_load;           /* share of a link that the sweep may use on average; 0: all */
    const char *prior;         /* file of what earlier jobs said; "" or NULL: none; borrowed */
    int prior_fd, traffic_fd;  /* pipes with it and with matrix:PATH; 0: the paths are opened */
    struct nt_option option;
    uint32_t limit_s;          /* seconds that the job may run; 0: not known, or none */
    enum nt_log_level log;     /* how much is logged */
    size_t inline_limit_bytes; /* of NETTOPO_JSON */
    /* by rank, when the starter told them, else NULL; borrowed */
    const char *const *host_names;
};

#endif
