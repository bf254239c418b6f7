/* SPDX-License-Identifier: Apache-2.0 */
/* The probe's log: lines on standard error. Under the agent this is a memory file that the agent
 * reads after the sweep, otherwise the terminal. UCX's own log is written there too. One per
 * process, as standard error is.
 * Tests: bats/tells.bats. */
#ifndef NT_PROBE_LOG_H
#define NT_PROBE_LOG_H

#include "log_line.h"

/* Sets the level; lines show the seconds since began_s. Before the first call nothing is logged. */
void nt_probe_log_set(enum nt_log_level level, double began_s);

void nt_probe_log(enum nt_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
