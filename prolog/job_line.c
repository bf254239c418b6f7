/* SPDX-License-Identifier: Apache-2.0 */
#include "job_line.h"

#include <stdio.h>
#include <string.h>

#include "decimal.h"

/* ---- figures of the sweep, from the probe ---- */

static bool is_list(const char *list)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-,+";
    const char *end = memchr(list, '\0', NT_JOB_FIGURES_HOSTS_BYTES);
    return end != NULL && list + strspn(list, allowed) == end;
}

bool nt_job_figures_are_valid(const struct nt_job_figures *figures)
{
    return is_list(figures->missing) && is_list(figures->suspect);
}

static bool read_number(const char *text, size_t bytes, uint32_t *number)
{
    uint64_t value;
    if (nt_decimal_whole(text, bytes, UINT32_MAX, &value) != 0)
        return false;
    *number = (uint32_t)value;
    return true;
}

static bool read_list(const char *text, size_t bytes, char list[NT_JOB_FIGURES_HOSTS_BYTES])
{
    if (bytes >= NT_JOB_FIGURES_HOSTS_BYTES)
        return false;
    memcpy(list, text, bytes);
    list[bytes] = '\0';
    return is_list(list);
}

static bool read_word(const char *word, size_t bytes, struct nt_job_figures *f)
{
    const char *value = memchr(word, '=', bytes);
    if (value == NULL)
        return false;
    size_t key = (size_t)(value++ - word), rest = bytes - key - 1;
    if (key == 6 && memcmp(word, "rounds", key) == 0)
        return read_number(value, rest, &f->rounds);
    if (key == 8 && memcmp(word, "findings", key) == 0)
        return read_number(value, rest, &f->findings);
    if (key == 7 && memcmp(word, "missing", key) == 0)
        return read_list(value, rest, f->missing);
    return key == 7 && memcmp(word, "suspect", key) == 0 && read_list(value, rest, f->suspect);
}

void nt_job_figures_parse(const char *text, size_t bytes, struct nt_job_figures *figures)
{
    struct nt_job_figures read = {.known = bytes > 0};
    for (size_t at = 0; at < bytes && read.known;) {
        const char *blank = memchr(text + at, ' ', bytes - at);
        size_t word = blank != NULL ? (size_t)(blank - text) - at : bytes - at;
        read.known = read_word(text + at, word, &read);
        at += word + 1;
    }
    *figures = read.known ? read : (struct nt_job_figures){0};
}

/* ---- the line ---- */

struct writer {
    char *text;
    size_t used;
    bool json;
};

static void put_character(struct writer *w, char c)
{
    w->text[w->used++] = c;
}

static void put_text(struct writer *w, const char *text)
{
    while (*text != '\0')
        put_character(w, *text++);
}

/* Omits a pair that might not fit; 16 bytes stay free for the end. */
static void put_pair(struct writer *w, const char *key, const char *value, bool is_number)
{
    if (w->used + strlen(key) + 2 * strlen(value) + 16 > NT_JOB_LINE_BYTES)
        return;
    bool quoted = w->json ? !is_number : value[0] == '\0' || strpbrk(value, " =\"\\") != NULL;
    put_text(w, w->used == 0 ? (w->json ? "{" : "") : w->json ? ", " : " ");
    put_text(w, w->json ? "\"" : "");
    put_text(w, key);
    put_text(w, w->json ? "\": " : "=");
    put_text(w, quoted ? "\"" : "");
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            put_character(w, '\\');
        put_character(w, (char)(*value < ' ' || *value > '~' ? '?' : *value));
    }
    put_text(w, quoted ? "\"" : "");
}

static void put_number(struct writer *w, const char *key, const char *format, double value)
    __attribute__((format(printf, 3, 0)));
static void put_number(struct writer *w, const char *key, const char *format, double value)
{
    char text[32];
    snprintf(text, sizeof text, format, value);
    put_pair(w, key, text, true);
}

size_t nt_job_line_write(const struct nt_job_line *line, bool json, char text[NT_JOB_LINE_BYTES])
{
    struct writer w = {.text = text, .json = json};
    const struct nt_job_figures *figures = line->figures;
    const char *reason = strchr(line->outcome, ' ');
    char status[16];
    snprintf(status, sizeof status, "%.*s", (int)strcspn(line->outcome, " "), line->outcome);
    put_number(&w, "job", "%.0f", line->job);
    put_pair(&w, "time", line->time, false);
    put_pair(&w, "user", line->user, false);
    put_pair(&w, "level", line->level_auto ? "auto" : nt_level_name(line->level), false);
    put_number(&w, "budget", "%g", line->budget_s);
    put_pair(&w, "status", status, false);
    put_number(&w, "hosts", "%.0f", (double)line->hosts);
    put_number(&w, "seconds", "%.3f", line->seconds);
    if (figures->known) {
        put_number(&w, "rounds", "%.0f", figures->rounds);
        put_number(&w, "findings", "%.0f", figures->findings);
        if (figures->missing[0] != '\0')
            put_pair(&w, "missing", figures->missing, false);
        if (figures->suspect[0] != '\0')
            put_pair(&w, "suspect", figures->suspect, false);
    }
    if (line->limited[0] != '\0')
        put_pair(&w, "limited", line->limited, false);
    if (reason != NULL)
        put_pair(&w, "reason", reason + 1, false);
    if (line->to_do[0] != '\0')
        put_pair(&w, "to_do", line->to_do, false);
    if (json)
        put_character(&w, '}');
    text[w.used] = '\0';
    return w.used;
}
