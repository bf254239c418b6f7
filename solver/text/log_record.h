/* SPDX-License-Identifier: Apache-2.0 */
/* A job's line in the log of the agent (prolog/job_line.h): key=value pairs or a JSON object with
 * any spaces, any order of keys and others' keys beside its own; at the end of a line of syslog or
 * the journal, or anywhere in the JSON of programs that collect logs: as an object, or as the text
 * of a string (MESSAGE of journalctl -o json, line of logcli, log of Docker), which may be JSON
 * again. Everything else in a log is no record. Pure, no allocation. */
#ifndef NT_LOG_RECORD_H
#define NT_LOG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"

enum { NT_LOG_HOSTS_BYTES = 256, NT_LOG_REASON_BYTES = 512 };

struct nt_log_record {
    uint64_t job;
    int64_t time_s; /* since 1970, UTC */
    enum nt_status status;
    char user[64], reason[NT_LOG_REASON_BYTES];
    char missing[NT_LOG_HOSTS_BYTES], suspect[NT_LOG_HOSTS_BYTES]; /* names, commas between */
};

/* A line on its way through nt_log_record_next; {at, end} begins. */
struct nt_log_line {
    const char *at, *end;
    bool found;   /* records outside of strings */
    bool strings; /* only those are left */
    const char *begin;
};

/* The next record of the line; false: there is none left. One has at least job, time and status. */
bool nt_log_record_next(struct nt_log_line *line, struct nt_log_record *record);

/* "2026-01-02T03:04:05Z", "2026-01-02T03:04Z" or "2026-01-02", all UTC, from 1970 to 9999; false
 * for anything else. */
bool nt_log_time_parse(const char *text, size_t bytes, int64_t *time_s);

#endif
