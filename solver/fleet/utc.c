/* SPDX-License-Identifier: Apache-2.0 */
#include "utc.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const int64_t LAST_S = INT64_C(253402300799); /* 9999-12-31T23:59:59Z */

static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = y / 400, year = y - era * 400;
    int64_t day = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    return era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
}

static void date_of(int64_t days, int *y, int *m, int *d)
{
    days += 719468;
    int64_t era = days / 146097, e = days - era * 146097;
    int64_t year = (e - e / 1460 + e / 36524 - e / 146096) / 365;
    int64_t day = e - (365 * year + year / 4 - year / 100), part = (5 * day + 2) / 153;
    *d = (int)(day - (153 * part + 2) / 5 + 1);
    *m = (int)(part < 10 ? part + 3 : part - 9);
    *y = (int)(year + era * 400 + (*m <= 2));
}

/* Digits where the form has 0; the rest as it stands there. */
static bool has_form(const char *text, const char *form)
{
    size_t n = strlen(form);
    if (strlen(text) != n)
        return false;
    for (size_t k = 0; k < n; k++)
        if (form[k] == '0' ? text[k] < '0' || text[k] > '9' : text[k] != form[k])
            return false;
    return true;
}

static int number_at(const char *text, size_t from, size_t digits)
{
    int value = 0;
    for (size_t k = from; k < from + digits; k++)
        value = value * 10 + (text[k] - '0');
    return value;
}

int64_t nt_utc_parse(const char *text)
{
    if (!has_form(text, "0000-00-00T00:00:00Z"))
        return -1;
    int y = number_at(text, 0, 4), m = number_at(text, 5, 2), d = number_at(text, 8, 2);
    int hour = number_at(text, 11, 2), minute = number_at(text, 14, 2),
        second = number_at(text, 17, 2), back_y, back_m, back_d;
    if (y < 1970 || m < 1 || m > 12 || d < 1 || hour > 23 || minute > 59 || second > 59)
        return -1;
    int64_t days = days_of(y, m, d);
    date_of(days, &back_y, &back_m, &back_d); /* 30 February would come back as another day */
    if (back_d != d || back_m != m)
        return -1;
    return days * NT_DAY_S + ((int64_t)hour * 60 + minute) * 60 + second;
}

void nt_utc_format(int64_t time_s, char text[NT_UTC_BYTES])
{
    int y, m, d;
    time_s = time_s < 0 ? 0 : time_s > LAST_S ? LAST_S : time_s;
    int second = (int)(time_s % NT_DAY_S);
    date_of(time_s / NT_DAY_S, &y, &m, &d);
    snprintf(text, NT_UTC_BYTES, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)y % 10000u,
             (unsigned)m % 100u, (unsigned)d % 100u, (unsigned)second / 3600u % 100u,
             (unsigned)second / 60u % 60u, (unsigned)second % 60u);
}

void nt_utc_format_day(int64_t time_s, char text[NT_UTC_BYTES])
{
    nt_utc_format(time_s, text);
    text[strlen("2026-01-01")] = '\0';
}
