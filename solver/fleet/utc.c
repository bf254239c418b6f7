/* SPDX-License-Identifier: Apache-2.0 */
#include "utc.h"

#include <string.h>
#include <time.h>

static const int64_t LAST_S = INT64_C(253402300799); /* 9999-12-31T23:59:59Z */

void nt_utc_format(int64_t time_s, char text[NT_UTC_BYTES])
{
    time_t t = (time_t)(time_s < 0 ? 0 : time_s > LAST_S ? LAST_S : time_s);
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(text, NT_UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void nt_utc_format_day(int64_t time_s, char text[NT_UTC_BYTES])
{
    nt_utc_format(time_s, text);
    text[strlen("2026-01-01")] = '\0';
}

int64_t nt_utc_parse(const char *text)
{
    char back[NT_UTC_BYTES];
    struct tm tm = {0};
    if (strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL)
        return -1;
    int64_t time_s = timegm(&tm);
    nt_utc_format(time_s, back); /* 30 February comes back as another day */
    return strcmp(back, text) == 0 ? time_s : -1;
}
