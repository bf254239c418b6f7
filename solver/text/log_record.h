/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the agent's line about a job (prolog/job_line.h) in a log: key=value pairs or a JSON
 * object, with any spaces, any order of keys, and keys of other programs. It is at the end of a
 * line of syslog or the journal, or anywhere in the JSON of log collectors: as an object, or as the
 * text of a string (MESSAGE of journalctl -o json, line of logcli, log of Docker), which may
 * contain JSON again. Everything else in a log is ignored. No I/O, no allocation. */
#ifndef NT_LOG_RECORD_H
#define NT_LOG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"

enum { NT_LOG_HOSTS_BYTES = 256, NT_LOG_REASON_BYTES = 512 };

struct nt_log_record {
    uint64_t job;
    int64_t time_s; /* seconds since 1970, UTC */
    enum nt_status status;
    char user[64], reason[NT_LOG_REASON_BYTES];
    char missing[NT_LOG_HOSTS_BYTES], suspect[NT_LOG_HOSTS_BYTES]; /* names, separated by commas */
};

/* State of nt_log_record_next in a line; initialize with {at, end}. */
struct nt_log_line {
    const char *at, *end;
    bool found;   /* found records outside of strings */
    bool strings; /* only strings are left */
    const char *begin;
};

/* Finds the next record of the line; false: there is none. A record contains at least job, time and
 * status. */
bool nt_log_record_next(struct nt_log_line *line, struct nt_log_record *record);

/* Parses "2026-01-02T03:04:05Z", "2026-01-02T03:04Z" or "2026-01-02", all UTC, from 1970 to 9999;
 * false for any other text. */
bool nt_log_time_parse(const char *text, size_t bytes, int64_t *time_s);

#endif
