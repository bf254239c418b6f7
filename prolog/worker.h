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
    uint64_t hosts, self;
    bool probe_failed;
    struct nt_outcome outcome; /* not decided: the monitor publishes it */
};

/* deadline: when the probe must be done; give_up: when the relay gives up (nt_clock_s). *waits_on:
 * enum nt_service_wait, what the worker waits on at the moment. The report goes to report_fd; then,
 * while the job goes on, the first host keeps the map in the archive. */
void nt_worker_run(const struct nt_request *request, const struct nt_conf *conf,
                   const struct nt_log *log, double deadline, double give_up, atomic_uint *waits_on,
                   struct nt_service *service, struct nt_worker_report *report, int report_fd);

#endif
