/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor, the agent's outer process: it starts the worker for the job, waits for it, and when
 * the worker dies or does not end in time kills all of the job's and publishes failed in its place.
 *
 * libmunge, a file system or a bug may block the worker; the monitor calls neither MUNGE nor
 * Slurm, and uses no file system but that of run_dir.
 * Tests: test_monitor.c, test_agent.c. */
#ifndef NT_MONITOR_H
#define NT_MONITOR_H

#include "conf.h"
#include "request.h"
#include "session.h"

/* Runs a job's sweep on this host; returns within budget_s and less than a second more.
 * began: when the agent was started (nt_clock_s). -1 when nothing could be published. */
int nt_monitor_run(const struct nt_request *request, const struct nt_conf *conf, double budget_s,
                   double began, struct nt_err *err);

/* For a job whose configuration is wrong: its line in the log, on its first host, or what was wrong
 * here. */
void nt_monitor_refuse(const struct nt_request *request, const struct nt_conf *conf, double began,
                       const char *reason);

#endif
