/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's log of one job on one host, and the output of the probe. Does not interpret the
 * lines.
 *
 * During the sweep both are kept in memfds of a fixed size, so that nothing waits for syslogd, and
 * so that they outlive the process that writes them. At the end they are sent to syslog and, with
 * --nettopo=debug, written to a file beside the map. The output of the probe is not trusted: it is
 * read within its limits, as lines of printable ASCII.
 * Tests: test_agent.c. */
#ifndef NT_LOG_H
#define NT_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "log_line.h"

enum { NT_LOG_KEPT_BYTES = 65536, NT_LOG_TEXT_BYTES = 2 * NT_LOG_KEPT_BYTES + 4096 };

struct nt_log {
    char prefix[320];        /* before each line in syslog: "job 42 on n3" */
    enum nt_log_level level; /* log level of agent and probe */
    double began;            /* origin of the times in the log (nt_clock_s) */
    int agent_fd, probe_fd;  /* memfds; -1: none, lines are discarded */
};

/* Creates the memfds; without them lines are discarded. Call it before the processes that write are
 * forked. */
void nt_log_init(struct nt_log *log, const char *prefix, enum nt_log_level level, double began);
void nt_log_fini(struct nt_log *log);

/* Appends a line if its level is logged. log may be NULL. */
void nt_log(const struct nt_log *log, enum nt_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes the outcome, the advice ("": none) and all lines of agent and probe to text, terminated
 * and cut to fit. Returns its number of bytes. */
size_t nt_log_text(const struct nt_log *log, const char *outcome, const char *advice, char *text,
                   size_t room);

/* Writes a bounded number of lines to syslog: the last lines of the agent up to that level and, if
 * probe is true, the last lines of the probe. */
void nt_log_syslog(const struct nt_log *log, enum nt_log_level level, bool probe);

#endif
