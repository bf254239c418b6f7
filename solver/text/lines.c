/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        nt_err_set(err, NT_ERR_INPUT, "expected a text, found a zero byte");
        return line_error(l, err);
    }
    if (take(to, line, bytes, err) != 0)
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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

size_t nt_line_word(const char **at, const char *end)
{
    const char *word = *at;
    while (word < end && is_blank(*word))
        word++;
    *at = word;
    if (word < end && *word == '#')
        return 0;
    const char *behind = word;
    while (behind < end && !is_blank(*behind))
        behind++;
    return (size_t)(behind - word);
}
