/* SPDX-License-Identifier: Apache-2.0 */
#include "log_line.h"

#include <stdio.h>
#include <string.h>

#include "err.h"

static const char *const names[] = {
    [NT_LOG_ERROR] = "error",
    [NT_LOG_INFO] = "info",
    [NT_LOG_DEBUG] = "debug",
};

const char *nt_log_level_name(enum nt_log_level level)
{
    return level >= NT_LOG_ERROR && level <= NT_LOG_DEBUG ? names[level] : NULL;
}

int nt_log_level_parse(const char *name, enum nt_log_level *level)
{
    for (int k = NT_LOG_ERROR; k <= NT_LOG_DEBUG; k++)
        if (strcmp(name, names[k]) == 0) {
            *level = (enum nt_log_level)k;
            return 0;
        }
    return -1;
}

size_t nt_log_line_write(char line[NT_LOG_LINE_BYTES], enum nt_log_level level, double seconds,
                         const char *format, va_list args)
{
    const char *name = nt_log_level_name(level);
    int head =
        snprintf(line, NT_LOG_LINE_BYTES, "%.4f %s ", seconds, name != NULL ? name : "unknown");
    size_t used = head > 0 && head < NT_LOG_LINE_BYTES / 2 ? (size_t)head : 0;
    if (vsnprintf(line + used, NT_LOG_LINE_BYTES - used - 1, format, args) < 0)
        line[used] = '\0';
    nt_text_clean(line);
    size_t bytes = strlen(line);
    memcpy(line + bytes, "\n", 2);
    return bytes + 1;
}

static size_t line_bytes(const char *text, size_t bytes)
{
    size_t n = 0;
    while (n < bytes && text[n] != '\n' && text[n] != '\0')
        n++;
    return n;
}

size_t nt_log_line_next(const char *text, size_t bytes, size_t *at, char line[NT_LOG_LINE_BYTES])
{
    while (*at < bytes && line_bytes(text + *at, bytes - *at) == 0)
        ++*at;
    size_t whole = line_bytes(text + *at, bytes - *at);
    size_t kept = whole < NT_LOG_LINE_BYTES ? whole : NT_LOG_LINE_BYTES - 1;
    memcpy(line, text + *at, kept);
    line[kept] = '\0';
    nt_text_clean(line);
    *at += whole;
    return kept;
}
