/* SPDX-License-Identifier: Apache-2.0 */
/* The probe's log: lines on the standard error, which under the agent is a memory file that it
 * reads when the sweep is over, and by hand the terminal. UCX's own log goes there too. One a
 * process, as the stream is.
 * Tests: bats/tells.bats. */
#ifndef NT_PROBE_LOG_H
#define NT_PROBE_LOG_H

#include "log_line.h"

/* The level from now on, with seconds since began_s; before the first call nothing is logged. */
void nt_probe_log_set(enum nt_log_level level, double began_s);

void nt_probe_log(enum nt_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
