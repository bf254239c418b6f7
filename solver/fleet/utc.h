/* SPDX-License-Identifier: Apache-2.0 */
/* Times in maps: 2026-01-01T00:00:00Z, years 1970 to 9999.
 * Tests: test_fleet_job.c. */
#ifndef NT_UTC_H
#define NT_UTC_H

#include <stdint.h>

enum { NT_UTC_BYTES = 24, NT_DAY_S = 86400 };

/* Returns seconds since 1970; -1: invalid. */
int64_t nt_utc_parse(const char *text);

/* Formats a time as "2026-01-01T00:00:00Z"; limits it to the range. */
void nt_utc_format(int64_t time_s, char text[NT_UTC_BYTES]);

/* Formats the day, "2026-01-01". */
void nt_utc_format_day(int64_t time_s, char text[NT_UTC_BYTES]);

#endif
