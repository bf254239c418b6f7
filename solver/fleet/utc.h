/* SPDX-License-Identifier: Apache-2.0 */
/* Times as maps write them: 2026-01-01T00:00:00Z, years 1970 to 9999.
 * Tests: test_fleet_job.c. */
#ifndef NT_UTC_H
#define NT_UTC_H

#include <stdint.h>

enum { NT_UTC_BYTES = 24, NT_DAY_S = 86400 };

/* Seconds since 1970; -1: no such time. */
int64_t nt_utc_parse(const char *text);

/* "2026-01-01T00:00:00Z"; what is out of range is brought into it. */
void nt_utc_format(int64_t time_s, char text[NT_UTC_BYTES]);

/* "2026-01-01" */
void nt_utc_format_day(int64_t time_s, char text[NT_UTC_BYTES]);

#endif
