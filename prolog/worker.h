/* SPDX-License-Identifier: Apache-2.0 */
/* The worker, root's process of a sweep: it reads the job, starts the probe and the relay, serves
 * the relay, and publishes when the relay has ended. libmunge, a file system or a bug may block it:
 * the monitor bounds its time.
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
    struct nt_outcome outcome; /* not decided: the monitor publishes it */
};

/* In memory that worker and monitor share: what is known of a worker that gives no report. */
struct nt_worker_state {
    atomic_uint waits_on;     /* enum nt_service_wait: at the moment */
    atomic_ulong hosts, self; /* of the job; hosts 0: not read yet */
};

/* All borrowed. */
struct nt_worker {
    const struct nt_request *request;
    const struct nt_conf *conf;
    const struct nt_log *log;
    double deadline, give_up; /* when the probe must be done, and the relay gives up (nt_clock_s) */
    struct nt_worker_state *state;
    struct nt_service *service;
    struct nt_worker_report *report;
    int report_fd; /* where the report goes; -1: nobody reads it */
};

/* After the report, while the job goes on, the first host keeps the map in the archive. */
void nt_worker_run(const struct nt_worker *worker);

#endif
