/* SPDX-License-Identifier: Apache-2.0 */
#include "log_record.h"

#include <string.h>

#include "decimal.h"
#include "number.h"

enum { VALUE_BYTES = 4096 };

/* ---- times ---- */

/* Reads that many digits at *at and moves *at behind them. */
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

/* Returns the days since 1970 in the Gregorian calendar. Years start in March, so that a leap day
 * is the last day. */
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

static const char blanks[] = " \t\r\n";

/* Returns the character of four hexadecimal digits if it is ASCII. */
static char read_code(const char digit[4])
{
    unsigned code = 0;
    for (int k = 0; k < 4; k++) {
        int value = nt_hex_digit(digit[k]);
        if (value < 0)
            return '?';
        code = code << 4 | (unsigned)value;
    }
    if (code < ' ' || code > '~')
        return '?';
    return (char)code;
}

/* Returns the character after a backslash, as one byte. */
static char read_escaped(struct scanner *s)
{
    char c = *s->at;
    if (s->json && c == 'u' && s->end - s->at > 4) {
        c = read_code(s->at + 1);
        s->at += 4;
    } else if (s->json && c != '\0' && strchr("bfnrt", c) != NULL) {
        c = ' ';
    }
    return c;
}

/* Reads a word up to one of those characters, or a text in quotes; cut to room and terminated. */
static bool read_text(struct scanner *s, const char *ends, char *text, size_t room)
{
    size_t n = 0;
    bool quoted = skip(&s->at, s->end, '"');
    while (s->at < s->end && (quoted ? *s->at != '"' : strchr(ends, *s->at) == NULL)) {
        char c = *s->at;
        if (quoted && c == '\\' && s->at + 1 < s->end) {
            s->at++;
            c = read_escaped(s);
        }
        if (*s->at == '\0')
            return false;
        if (n + 1 < room)
            text[n++] = c;
        s->at++;
    }
    text[n] = '\0';
    return !quoted || skip(&s->at, s->end, '"');
}

static void skip_blanks(struct scanner *s)
{
    while (s->at < s->end && *s->at != '\0' && strchr(s->json ? blanks : " ", *s->at) != NULL)
        s->at++;
}

/* Skips an object or array. Objects in it are looked into, too, so that a byte is read once for
 * each that encloses it: hence the limit. */
static bool skip_nested(struct scanner *s)
{
    enum { DEEP_MAX = 32 };
    char text[2];
    size_t deep = 0;
    do {
        if (s->at == s->end)
            return false;
        char c = *s->at;
        if (c == '\0' || deep == DEEP_MAX || (c == '"' && !read_text(s, "", text, sizeof text)))
            return false;
        deep += c == '{' || c == '[';
        deep -= c == '}' || c == ']';
        s->at += c != '"';
    } while (deep > 0);
    return true;
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
    value[0] = '\0';
    bool nested = s->json && s->at < s->end && (*s->at == '{' || *s->at == '[');
    if (nested ? !skip_nested(s) : !read_text(s, s->json ? ",} \t\r\n" : " ", value, VALUE_BYTES))
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

/* Reads all pairs from the current position. */
static bool read_pairs(struct scanner *s, struct nt_log_record *r)
{
    enum { JOB = 1, TIME = 2, STATUS = 4, ALL = 7, PAIRS_MAX = 128 };
    char key[32], value[VALUE_BYTES];
    unsigned have = 0;
    *r = (struct nt_log_record){0};
    for (int k = 0; k < PAIRS_MAX && next_pair(s, key, value); k++) {
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
    }
    return have == ALL;
}

static bool begins_with(const struct scanner *s, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(s->end - s->at) >= n && memcmp(s->at, word, n) == 0;
}

/* Returns whether the line is JSON, not JSON after a prefix: its pairs are in strings. */
static bool is_json(const struct nt_log_line *line)
{
    struct scanner s = {line->begin, line->end, true};
    skip_blanks(&s);
    bool object = begins_with(&s, "{"), array = begins_with(&s, "[");
    s.at += object || array;
    skip_blanks(&s);
    return (object && begins_with(&s, "\"")) ||
           (array && (begins_with(&s, "{") || begins_with(&s, "[") || begins_with(&s, "\"")));
}

/* Finds the next record outside strings: an object, or pairs after the name of a program or at the
 * start. */
static bool find_record(struct nt_log_line *line, struct nt_log_record *r)
{
    bool json = is_json(line);
    for (; line->at < line->end; line->at++) {
        struct scanner s = {line->at, line->end, *line->at == '{'};
        if (!s.json && (json || (line->at > line->begin && line->at[-1] != ' ')))
            continue;
        s.at += s.json;
        skip_blanks(&s);
        if (begins_with(&s, s.json ? "\"" : "job=") && read_pairs(&s, r)) {
            line->at = s.at;
            return true;
        }
    }
    return false;
}

/* deep: maximum nesting of strings in strings. */
static bool find_string(struct nt_log_line *line, int deep, struct nt_log_record *r);

static bool find_any(struct nt_log_line *line, int deep, struct nt_log_record *r)
{
    line->begin = line->begin == NULL ? line->at : line->begin;
    if (!line->strings && find_record(line, r)) {
        line->found = true;
        return true;
    }
    if (line->found || deep == 0)
        return false;
    if (!line->strings)
        line->at = line->begin;
    line->strings = true;
    return find_string(line, deep, r);
}

static bool find_string(struct nt_log_line *line, int deep, struct nt_log_record *r)
{
    char text[VALUE_BYTES];
    while (line->at < line->end) {
        struct scanner s = {memchr(line->at, '"', (size_t)(line->end - line->at)), line->end, true};
        if (s.at == NULL || !read_text(&s, "", text, sizeof text))
            break;
        line->at = s.at;
        struct nt_log_line inner = {.at = text, .end = text + strlen(text)};
        if (find_any(&inner, deep - 1, r))
            return true;
    }
    line->at = line->end;
    return false;
}

bool nt_log_record_next(struct nt_log_line *line, struct nt_log_record *record)
{
    enum { DEEP = 3 };
    struct nt_log_record r;
    if (!find_any(line, DEEP, &r))
        return false;
    *record = r;
    return true;
}
