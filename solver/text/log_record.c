/* SPDX-License-Identifier: Apache-2.0 */
#include "log_record.h"

#include <string.h>

#include "decimal.h"

enum { VALUE_BYTES = 4096 };

/* ---- times ---- */

/* So many digits at *at, moved behind them. */
static bool read_digits(const char **at, const char *end, int digits, int *value)
{
    if (end - *at < digits)
        return false;
    for (*value = 0; digits > 0; digits--, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *value = *value * 10 + (**at - '0');
    }
    return true;
}

static bool skip(const char **at, const char *end, char c)
{
    if (*at == end || **at != c)
        return false;
    (*at)++;
    return true;
}

/* Since 1970 in the Gregorian calendar: years begin in March, so that a leap day is the last. */
static int64_t count_days(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

bool nt_log_time_parse(const char *text, size_t bytes, int64_t *time_s)
{
    const char *at = text, *end = text + bytes;
    int year, month, day, hour = 0, minute = 0, second = 0;
    if (!read_digits(&at, end, 4, &year) || !skip(&at, end, '-') ||
        !read_digits(&at, end, 2, &month) || !skip(&at, end, '-') ||
        !read_digits(&at, end, 2, &day))
        return false;
    if (at != end) {
        if (!skip(&at, end, 'T') || !read_digits(&at, end, 2, &hour) || !skip(&at, end, ':') ||
            !read_digits(&at, end, 2, &minute))
            return false;
        if (skip(&at, end, ':') && !read_digits(&at, end, 2, &second))
            return false;
        if (!skip(&at, end, 'Z') || at != end)
            return false;
    }
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
        second > 60)
        return false;
    *time_s = ((count_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    return true;
}

/* ---- pairs ---- */

struct scanner {
    const char *at, *end;
    bool json;
};

/* A word up to one of those characters, or a text in quotes; cut to room and terminated. */
static bool read_text(struct scanner *s, const char *ends, char *text, size_t room)
{
    size_t n = 0;
    bool quoted = skip(&s->at, s->end, '"');
    while (s->at < s->end && (quoted ? *s->at != '"' : strchr(ends, *s->at) == NULL)) {
        if (quoted && *s->at == '\\' && s->at + 1 < s->end)
            s->at++;
        if (*s->at == '\0')
            return false;
        if (n + 1 < room)
            text[n++] = *s->at;
        s->at++;
    }
    text[n] = '\0';
    return !quoted || skip(&s->at, s->end, '"');
}

static void skip_blanks(struct scanner *s)
{
    while (s->at < s->end && *s->at == ' ')
        s->at++;
}

static bool next_pair(struct scanner *s, char key[32], char value[VALUE_BYTES])
{
    skip_blanks(s);
    if (s->at == s->end || *s->at == '}' || !read_text(s, s->json ? "" : "= ", key, 32))
        return false;
    if (s->json)
        skip_blanks(s);
    if (!skip(&s->at, s->end, s->json ? ':' : '='))
        return false;
    if (s->json)
        skip_blanks(s);
    if (!read_text(s, s->json ? ",} " : " ", value, VALUE_BYTES))
        return false;
    if (s->json) {
        skip_blanks(s);
        skip(&s->at, s->end, ',');
    }
    return true;
}

/* ---- a record ---- */

static bool read_status(const char *value, enum nt_status *status)
{
    for (int k = NT_STATUS_OK; k <= NT_STATUS_FAILED; k++)
        if (strcmp(value, nt_status_name((enum nt_status)k)) == 0) {
            *status = (enum nt_status)k;
            return true;
        }
    return false;
}

static void copy(char *to, size_t room, const char *value)
{
    size_t n = strlen(value);
    n = n < room ? n : room - 1;
    memcpy(to, value, n);
    to[n] = '\0';
}

/* All pairs from there on. *message: of a line of journalctl -o json, what the program has logged.
 */
static bool read_pairs(struct scanner *s, struct nt_log_record *r, char message[VALUE_BYTES])
{
    enum { JOB = 1, TIME = 2, STATUS = 4, ALL = 7 };
    char key[32], value[VALUE_BYTES];
    unsigned have = 0;
    *r = (struct nt_log_record){0};
    while (next_pair(s, key, value)) {
        if (strcmp(key, "job") == 0)
            have |= nt_decimal_whole(value, strlen(value), UINT32_MAX, &r->job) == 0 ? JOB : 0;
        else if (strcmp(key, "time") == 0)
            have |= nt_log_time_parse(value, strlen(value), &r->time_s) ? TIME : 0;
        else if (strcmp(key, "status") == 0)
            have |= read_status(value, &r->status) ? STATUS : 0;
        else if (strcmp(key, "user") == 0)
            copy(r->user, sizeof r->user, value);
        else if (strcmp(key, "reason") == 0)
            copy(r->reason, sizeof r->reason, value);
        else if (strcmp(key, "missing") == 0)
            copy(r->missing, sizeof r->missing, value);
        else if (strcmp(key, "suspect") == 0)
            copy(r->suspect, sizeof r->suspect, value);
        else if (strcmp(key, "MESSAGE") == 0)
            copy(message, VALUE_BYTES, value);
    }
    return have == ALL;
}

static bool begins_with(const struct scanner *s, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(s->end - s->at) >= n && memcmp(s->at, word, n) == 0;
}

/* A record may begin after the name of a program, or at the line's beginning. */
static bool find_record(const char *line, size_t bytes, struct nt_log_record *r,
                        char message[VALUE_BYTES])
{
    for (size_t at = 0; at < bytes; at++) {
        struct scanner s = {line + at, line + bytes, line[at] == '{'};
        if (at > 0 && line[at - 1] != ' ')
            continue;
        s.at += s.json;
        skip_blanks(&s);
        if (begins_with(&s, s.json ? "\"" : "job=") && read_pairs(&s, r, message))
            return true;
    }
    return false;
}

bool nt_log_record_read(const char *line, size_t bytes, struct nt_log_record *record)
{
    struct nt_log_record r;
    char message[VALUE_BYTES] = "", none[VALUE_BYTES];
    if (!find_record(line, bytes, &r, message) && !find_record(message, strlen(message), &r, none))
        return false;
    *record = r;
    return true;
}
