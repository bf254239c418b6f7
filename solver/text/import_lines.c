/* SPDX-License-Identifier: Apache-2.0 */
#include "import_lines.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "map.h"
#include "memory.h"
#include "number.h"

/* Far above any figure, and still a float when its unit has been changed. */
static const double VALUE_MAX = 1e30;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

int import_text_begin(struct import_text *text, const char *file, const char *at, size_t bytes,
                      struct nt_err *err)
{
    const char *zero = bytes == 0 ? NULL : memchr(at, '\0', bytes);
    *text = (struct import_text){.file = file, .at = at, .end = at + bytes};
    if (zero == NULL)
        return 0;
    size_t line = 1;
    for (const char *c = at; c < zero; c++)
        line += *c == '\n' ? 1 : 0;
    return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: a zero byte, so this is no text", file, line);
}

bool import_next_line(struct import_text *text, struct import_line *line)
{
    while (text->at < text->end) {
        const char *feed = memchr(text->at, '\n', (size_t)(text->end - text->at));
        const char *end = feed == NULL ? text->end : feed;
        *line = (struct import_line){text->file, ++text->line, text->at, end};
        text->at = feed == NULL ? end : feed + 1;
        while (line->end > line->at && is_blank(line->end[-1]))
            line->end--;
        if (line->at < line->end)
            return true;
    }
    *line = (struct import_line){text->file, text->line + 1, text->end, text->end};
    return false;
}

bool import_next_word(struct import_line *line, const char **word, size_t *bytes)
{
    while (line->at < line->end && is_blank(*line->at))
        line->at++;
    *word = line->at;
    while (line->at < line->end && !is_blank(*line->at))
        line->at++;
    *bytes = (size_t)(line->at - *word);
    return *bytes > 0;
}

bool import_take_word(struct import_line *line, const char *word)
{
    struct import_line was = *line;
    const char *found;
    size_t bytes;
    if (import_next_word(line, &found, &bytes) && bytes == strlen(word) &&
        memcmp(found, word, bytes) == 0)
        return true;
    *line = was;
    return false;
}

bool import_begins(const struct import_line *line, const char *text)
{
    size_t bytes = strlen(text);
    return (size_t)(line->end - line->at) >= bytes && memcmp(line->at, text, bytes) == 0;
}

int import_fail(const struct import_line *line, struct nt_err *err, const char *format, ...)
{
    char text[NT_ERR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s", line->file, line->number, text);
}

static int fail_word(const struct import_line *line, const char *what, const char *word,
                     size_t bytes, struct nt_err *err)
{
    if (bytes == 0)
        return import_fail(line, err, "expected %s, found nothing", what);
    return import_fail(line, err, "expected %s, found \"%.*s\"", what, import_shown(bytes), word);
}

int import_take_value(struct import_line *line, const char *what, double *value, struct nt_err *err)
{
    const char *word;
    char copy[64] = "";
    size_t bytes;
    if (!import_next_word(line, &word, &bytes) || bytes >= sizeof copy)
        return fail_word(line, what, word, bytes, err);
    for (size_t k = 0; k < bytes; k++)
        copy[k] = (char)(word[k] == ',' ? '.' : word[k]);
    double read;
    if (nt_number_read(copy, copy + bytes, &read) != copy + bytes || read < 0 || read > VALUE_MAX)
        return fail_word(line, what, word, bytes, err);
    *value = read;
    return 0;
}

int import_take_whole(struct import_line *line, const char *what, uint64_t most, uint64_t *value,
                      struct nt_err *err)
{
    const char *word;
    size_t bytes;
    bool any = import_next_word(line, &word, &bytes);
    return any && nt_decimal_whole(word, bytes, most, value) == 0
               ? 0
               : fail_word(line, what, word, bytes, err);
}

static int count_labels(char *const *label, size_t labels, struct nt_names *distinct,
                        uint32_t *times, uint32_t *which, struct nt_err *err)
{
    for (size_t k = 0; k < labels; k++) {
        if (nt_names_add_copy(distinct, label[k], strlen(label[k]), &which[k], err) < 0)
            return -1;
        times[which[k]]++;
    }
    return 0;
}

static int name_each(char *const *label, size_t labels, const uint32_t *times,
                     const uint32_t *which, uint32_t *next, const struct import_line *line,
                     struct nt_names *names, struct nt_err *err)
{
    for (size_t k = 0; k < labels; k++) {
        char name[320];
        uint32_t index;
        int used = times[which[k]] == 1
                       ? snprintf(name, sizeof name, "%.300s", label[k])
                       : snprintf(name, sizeof name, "%.300s-%u", label[k], next[which[k]]++);
        struct nt_err why = {0};
        if (used < 0 || nt_host_name_check(name, &why) != 0)
            return import_fail(line, err, "%s", why.text);
        int rc = nt_names_add_copy(names, name, strlen(name), &index, err);
        if (rc != 0)
            return rc < 0 ? rc : import_fail(line, err, "host %s is named twice", name);
    }
    return 0;
}

int import_names_unique(char *const *label, size_t labels, const struct import_line *line,
                        struct nt_names *names, struct nt_err *err)
{
    struct nt_names distinct = {0};
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *times = nt_arena_array(&memory, labels, sizeof *times);
    uint32_t *which = nt_arena_array(&memory, labels, sizeof *which);
    uint32_t *next = nt_arena_array(&memory, labels, sizeof *next);
    int rc = -1;
    if (nt_arena_check(&memory, err) == 0 &&
        count_labels(label, labels, &distinct, times, which, err) == 0)
        rc = name_each(label, labels, times, which, next, line, names, err);
    nt_names_fini(&distinct);
    return rc;
}

int import_table_create(const struct nt_names *names, enum nt_matrix_kind kind,
                        struct nt_named_matrix **out, struct nt_err *err)
{
    struct nt_named_matrix *t = calloc(1, sizeof *t);
    if (t == NULL)
        return nt_err_memory(err);
    if (nt_matrix_create(names->count, kind, &t->matrix, err) != 0) {
        nt_named_matrix_destroy(t);
        return -1;
    }
    t->host_name = calloc(names->count + 1, sizeof *t->host_name);
    bool ok = t->host_name != NULL;
    for (size_t k = 0; ok && k < names->count; k++) {
        t->host_name[k] = strdup(names->name[k]);
        ok = t->host_name[k] != NULL;
    }
    if (!ok) {
        nt_named_matrix_destroy(t);
        return nt_err_memory(err);
    }
    t->message_bytes = NAN;
    *out = t;
    return 0;
}
