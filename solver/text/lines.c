/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "number.h"

/* Far above any value, and still a float after a change of unit. */
static const double VALUE_MAX = 1e30;

/* ---- words ---- */

static bool is_blank(const struct nt_text_line *line, char c)
{
    return c == ' ' || c == '\t' || c == '\r' || (!line->own && (c == '\f' || c == '\v'));
}

bool nt_word_is(struct nt_word word, const char *text)
{
    return word.bytes == strlen(text) && memcmp(word.at, text, word.bytes) == 0;
}

bool nt_word_fits(struct nt_word word, struct nt_word pattern)
{
    const char *star = memchr(pattern.at, '*', pattern.bytes);
    size_t before = star == NULL ? pattern.bytes : (size_t)(star - pattern.at);
    size_t behind = star == NULL ? 0 : pattern.bytes - before - 1;
    return (star == NULL ? word.bytes == before : word.bytes >= before + behind) &&
           memcmp(word.at, pattern.at, before) == 0 &&
           memcmp(word.at + word.bytes - behind, pattern.at + pattern.bytes - behind, behind) == 0;
}

struct nt_word nt_word_cut(struct nt_word *rest, char separator)
{
    const char *end = memchr(rest->at, separator, rest->bytes);
    struct nt_word first = {rest->at, end != NULL ? (size_t)(end - rest->at) : rest->bytes};
    size_t used = first.bytes + (end != NULL);
    *rest = (struct nt_word){rest->at + used, rest->bytes - used};
    return first;
}

bool nt_line_next_word(struct nt_text_line *line, struct nt_word *word)
{
    while (line->at < line->end && is_blank(line, *line->at))
        line->at++;
    word->at = line->at;
    if (line->own && line->at < line->end && *line->at == '#')
        line->end = line->at;
    while (line->at < line->end && !is_blank(line, *line->at))
        line->at++;
    word->bytes = (size_t)(line->at - word->at);
    return word->bytes > 0;
}

bool nt_line_take_word(struct nt_text_line *line, const char *text)
{
    struct nt_text_line was = *line;
    struct nt_word word;
    if (nt_line_next_word(line, &word) && nt_word_is(word, text))
        return true;
    *line = was;
    return false;
}

bool nt_line_take_words(struct nt_text_line *line, const char *patterns)
{
    struct nt_text_line rest = *line;
    struct nt_word left = {patterns, strlen(patterns)}, word;
    while (left.bytes > 0) {
        struct nt_word pattern = nt_word_cut(&left, ' ');
        bool more = nt_line_next_word(&rest, &word), last = nt_word_is(pattern, "$");
        if (more == last || (more && !nt_word_fits(word, pattern)))
            return false;
    }
    *line = rest;
    return true;
}

bool nt_line_begins(const struct nt_text_line *line, const char *text)
{
    size_t bytes = strlen(text);
    return (size_t)(line->end - line->at) >= bytes && memcmp(line->at, text, bytes) == 0;
}

int nt_line_fail(const struct nt_text_line *line, struct nt_err *err, const char *format, ...)
{
    char text[NT_ERR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    return line->file == NULL
               ? nt_err_set(err, NT_ERR_INPUT, "%s", text)
               : nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s", line->file, line->number, text);
}

int nt_line_fail_word(const struct nt_text_line *line, const char *what, struct nt_word word,
                      struct nt_err *err)
{
    if (word.bytes == 0)
        return nt_line_fail(line, err, "expected %s, found nothing", what);
    return nt_line_fail(line, err, "expected %s, found \"%.*s\"", what, nt_line_shown(word.bytes),
                        word.at);
}

int nt_line_take_value(struct nt_text_line *line, const char *what, double *value,
                       struct nt_err *err)
{
    struct nt_word word;
    char copy[64] = "";
    if (!nt_line_next_word(line, &word) || word.bytes >= sizeof copy)
        return nt_line_fail_word(line, what, word, err);
    for (size_t k = 0; k < word.bytes; k++)
        copy[k] = (char)(word.at[k] == ',' ? '.' : word.at[k]);
    double read;
    if (nt_number_read(copy, copy + word.bytes, &read) != copy + word.bytes || read < 0 ||
        read > VALUE_MAX)
        return nt_line_fail_word(line, what, word, err);
    *value = read;
    return 0;
}

int nt_line_take_whole(struct nt_text_line *line, const char *what, uint64_t most, uint64_t *value,
                       struct nt_err *err)
{
    struct nt_word word;
    bool any = nt_line_next_word(line, &word);
    return any && nt_decimal_whole(word.at, word.bytes, most, value) == 0
               ? 0
               : nt_line_fail_word(line, what, word, err);
}

/* ---- a text in memory ---- */

int nt_text_begin(struct nt_text *text, const char *file, const char *at, size_t bytes,
                  struct nt_err *err)
{
    const char *zero = bytes == 0 ? NULL : memchr(at, '\0', bytes);
    *text = (struct nt_text){.file = file, .at = at, .end = at + bytes};
    if (zero == NULL)
        return 0;
    size_t line = 1;
    for (const char *c = at; c < zero; c++)
        line += *c == '\n' ? 1 : 0;
    return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: expected text, found a zero byte", file, line);
}

bool nt_text_next_line(struct nt_text *text, struct nt_text_line *line)
{
    while (text->at < text->end) {
        const char *feed = memchr(text->at, '\n', (size_t)(text->end - text->at));
        const char *end = feed == NULL ? text->end : feed;
        *line = (struct nt_text_line){text->file, ++text->line, text->at, end, false};
        text->at = feed == NULL ? end : feed + 1;
        while (line->end > line->at && is_blank(line, line->end[-1]))
            line->end--;
        if (line->at < line->end)
            return true;
    }
    *line = (struct nt_text_line){text->file, text->line + 1, text->end, text->end, false};
    return false;
}

/* ---- a text in pieces ---- */

void nt_lines_init(struct nt_lines *lines, const char *file, size_t most)
{
    *lines = (struct nt_lines){.number = 1, .most = most};
    (void)snprintf(lines->file, sizeof lines->file, "%s", file);
}

void nt_lines_fini(struct nt_lines *lines)
{
    free(lines->held);
    lines->held = NULL;
}

static int line_error(struct nt_lines *l, struct nt_err *err)
{
    l->broken = true;
    return nt_err_prefix(err, "%s:%zu", l->file, l->number);
}

static int too_long(struct nt_lines *l, struct nt_err *err)
{
    nt_err_set(err, NT_ERR_INPUT, "expected lines of at most %zu bytes, found a longer one",
               l->most);
    return line_error(l, err);
}

static int hold_text(struct nt_lines *l, const char *text, size_t bytes, struct nt_err *err)
{
    if (bytes > l->most - l->used)
        return too_long(l, err);
    if (l->used + bytes > l->capacity) {
        size_t capacity = (l->used + bytes) * 2;
        char *held = realloc(l->held, capacity);
        if (held == NULL) {
            nt_err_memory(err);
            return line_error(l, err);
        }
        l->held = held;
        l->capacity = capacity;
    }
    if (bytes > 0)
        memcpy(l->held + l->used, text, bytes);
    l->used += bytes;
    return 0;
}

static int give_line(struct nt_lines *l, const char *line, size_t bytes, nt_line_take *take,
                     void *to, struct nt_err *err)
{
    if (bytes > l->most)
        return too_long(l, err);
    if (memchr(line, '\0', bytes) != NULL) {
        nt_err_set(err, NT_ERR_INPUT, "expected text, found a zero byte");
        return line_error(l, err);
    }
    struct nt_text_line words = {.number = l->number, .at = line, .end = line + bytes, .own = true};
    if (take(to, &words, err) != 0)
        return line_error(l, err);
    l->number++;
    return 0;
}

int nt_lines_feed(struct nt_lines *l, const char *text, size_t bytes, nt_line_take *take, void *to,
                  struct nt_err *err)
{
    const char *at = text, *end = text + bytes, *newline;
    if (l->broken)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: reading had failed", l->file, l->number);
    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        int rc;
        if (l->used > 0) { /* the line began in an earlier piece */
            if (hold_text(l, at, (size_t)(newline - at), err) != 0)
                return -1;
            rc = give_line(l, l->held, l->used, take, to, err);
            l->used = 0;
        } else {
            rc = give_line(l, at, (size_t)(newline - at), take, to, err);
        }
        if (rc != 0)
            return -1;
        at = newline + 1;
    }
    return at < end ? hold_text(l, at, (size_t)(end - at), err) : 0;
}

int nt_lines_finish(struct nt_lines *l, nt_line_take *take, void *to, struct nt_err *err)
{
    if (l->broken)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: reading had failed", l->file, l->number);
    if (l->used == 0)
        return 0;
    int rc = give_line(l, l->held, l->used, take, to, err);
    l->used = 0;
    return rc;
}

struct reading {
    struct nt_lines lines;
    nt_line_take *take;
    void *to;
};

static int feed_lines(void *to, const char *text, size_t bytes, struct nt_err *err)
{
    struct reading *r = to;
    return nt_lines_feed(&r->lines, text, bytes, r->take, r->to, err);
}

int nt_lines_read(const struct nt_text_source *source, nt_line_take *take, void *to, size_t *end,
                  struct nt_err *err)
{
    struct reading r = {.take = take, .to = to};
    nt_lines_init(&r.lines, source->file, NT_LINE_MAX);
    int rc = source->give(source->from, feed_lines, &r, err);
    if (rc == 0)
        rc = nt_lines_finish(&r.lines, take, to, err);
    nt_lines_fini(&r.lines);
    *end = r.lines.number;
    return rc;
}
