/* SPDX-License-Identifier: Apache-2.0 */
/* The worker: the process of a sweep that runs as root. It reads the job, starts the probe and the
 * relay, serves the relay, and publishes after the relay has ended. libmunge, a file system or a
 * bug may block it; the monitor limits its time.
 * Tests: test_agent.c. */
#ifndef NT_WORKER_H
#define NT_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "log.h"
#include "outcome.h"
#include "request.h"
#include "service.h"

struct nt_worker_report {
    bool probe_failed;
    struct nt_outcome outcome; /* if it is not decided, the monitor publishes it */
};

/* Memory shared by worker and monitor: facts about a worker that sends no report. */
struct nt_worker_state {
    atomic_uint waits_on; /* enum nt_service_wait: the call in progress */
    atomic_ulong hosts,
        self; /* number of hosts and index of this host; hosts 0: the job has not been read yet */
};

/* All pointers are borrowed. */
struct nt_worker {
    const struct nt_request *request;
    const struct nt_conf *conf;
    const struct nt_log *log;
    double deadline,
        give_up; /* when the probe must have finished, and when the relay gives up (nt_clock_s) */
    struct nt_worker_state *state;
    struct nt_service *service;
    struct nt_worker_report *report;
    int report_fd; /* pipe for the report; -1: none */
};

/* Runs the worker. After the report, while the job continues, the first host stores the map in the
 * archive. */
void nt_worker_run(const struct nt_worker *worker);

#endif
