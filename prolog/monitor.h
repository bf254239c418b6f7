/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor, the agent's outer process: starts the worker for the job and waits for it. If the
 * worker dies or is late, the monitor kills all of the job's processes and publishes failed in its
 * place.
 *
 * libmunge, a file system or a bug may block the worker. The monitor therefore must call neither
 * MUNGE nor Slurm, and use no file system except that of run_dir.
 * Tests: test_monitor.c, test_agent.c. */
#ifndef NT_MONITOR_H
#define NT_MONITOR_H

#include "conf.h"
#include "request.h"
#include "session.h"

/* Runs a job's sweep on this host and returns within budget_s plus less than a second. began: when
 * the agent was started (nt_clock_s). -1 if nothing could be published. */
int nt_monitor_run(const struct nt_request *request, const struct nt_conf *conf, double budget_s,
                   double began, struct nt_err *err);

/* Logs a job whose configuration is invalid: its line on the job's first host, the error on the
 * others. */
void nt_monitor_refuse(const struct nt_request *request, const struct nt_conf *conf, double began,
                       const char *reason);

#endif
