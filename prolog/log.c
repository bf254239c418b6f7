/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "clock.h"

enum { SYSLOG_LINES = 32, SYSLOG_LINE_CHARS = 400 };

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

/* Creates a memfd. Its size is sealed: writers cannot extend it, and readers always find the whole
 * size. Mode 0600 and the exec seal keep the job's user from reopening or executing it. */
static int create_memfd(const char *name)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, flags);
    if (fd < 0)
        return -1;
    if (fchmod(fd, 0600) == 0 && ftruncate(fd, NT_LOG_KEPT_BYTES) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return -1;
}

void nt_log_init(struct nt_log *log, const char *prefix, enum nt_log_level level, double began)
{
    *log = (struct nt_log){.level = level,
                           .began = began,
                           .agent_fd = create_memfd("nettopo-agent-log"),
                           .probe_fd = create_memfd("nettopo-probe-log")};
    snprintf(log->prefix, sizeof log->prefix, "%s", prefix);
}

void nt_log_fini(struct nt_log *log)
{
    if (log->agent_fd >= 0)
        close(log->agent_fd);
    if (log->probe_fd >= 0)
        close(log->probe_fd);
    log->agent_fd = log->probe_fd = -1;
}

void nt_log(const struct nt_log *log, enum nt_log_level level, const char *format, ...)
{
    char line[NT_LOG_LINE_BYTES];
    if (log == NULL || log->agent_fd < 0 || level > log->level)
        return;
    va_list args;
    va_start(args, format);
    size_t bytes = nt_log_line_write(line, level, nt_clock_s() - log->began, format, args);
    va_end(args);
    if (write(log->agent_fd, line, bytes) < 0)
        return; /* full: the first lines remain */
}

/* Reads at most the fixed size, whatever the writer did to the file. */
static size_t read_log(int fd, char text[NT_LOG_KEPT_BYTES])
{
    size_t have = 0;
    while (fd >= 0 && have < NT_LOG_KEPT_BYTES) {
        ssize_t n = pread(fd, text + have, NT_LOG_KEPT_BYTES - have, (off_t)have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    return have;
}

/* ---- to the job ---- */

struct page {
    char *text;
    size_t used, room;
};

static void page_printf(struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void page_printf(struct page *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(page->text + page->used, page->room - page->used, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < page->room - page->used)
        page->used += (size_t)n;
    page->text[page->used] = '\0';
}

static void page_add_log(struct page *page, const char *title, int fd)
{
    static char kept[NT_LOG_KEPT_BYTES]; /* too large for the stack */
    char line[NT_LOG_LINE_BYTES];
    size_t bytes = read_log(fd, kept);
    page_printf(page, "-- %s\n", title);
    for (size_t at = 0; nt_log_line_next(kept, bytes, &at, line) > 0;)
        page_printf(page, "%s\n", line);
}

size_t nt_log_text(const struct nt_log *log, const char *outcome, const char *advice, char *text,
                   size_t room)
{
    struct page page = {.text = text, .room = room};
    page_printf(&page, "%s: %s\n", log->prefix, outcome);
    if (advice[0] != '\0')
        page_printf(&page, "to do: %s\n", advice);
    page_add_log(&page, "agent on this host: seconds, level, message", log->agent_fd);
    page_add_log(&page, "probe and UCX on this host", log->probe_fd);
    return page.used;
}

/* ---- to syslog ---- */

/* Returns the level of a line of the agent, "SECONDS LEVEL TEXT". */
static enum nt_log_level line_level(const char *line)
{
    const char *word = strchr(line, ' ');
    for (int k = NT_LOG_ERROR; word != NULL && k < NT_LOG_DEBUG; k++) {
        const char *name = nt_log_level_name((enum nt_log_level)k);
        if (strncmp(word + 1, name, strlen(name)) == 0 && word[1 + strlen(name)] == ' ')
            return (enum nt_log_level)k;
    }
    return NT_LOG_DEBUG;
}

static int syslog_priority(enum nt_log_level level)
{
    /* only a warning, because a failed sweep does not affect the job */
    return level == NT_LOG_ERROR ? LOG_WARNING : level == NT_LOG_INFO ? LOG_INFO : LOG_DEBUG;
}

/* Writes the last lines up to that level, because a failure is near the end. */
static void syslog_lines(const char *prefix, int fd, const char *who, enum nt_log_level level)
{
    static char kept[NT_LOG_KEPT_BYTES];
    char line[NT_LOG_LINE_BYTES];
    bool own = who[0] == '\0';
    size_t bytes = read_log(fd, kept), lines = 0, line_number = 0;
    for (size_t at = 0; nt_log_line_next(kept, bytes, &at, line) > 0;)
        lines += !own || line_level(line) <= level;
    if (lines > SYSLOG_LINES)
        syslog(LOG_INFO, "%s: %s%zu earlier lines omitted", prefix, who, lines - SYSLOG_LINES);
    for (size_t at = 0; nt_log_line_next(kept, bytes, &at, line) > 0;) {
        if ((!own || line_level(line) <= level) && ++line_number + SYSLOG_LINES > lines)
            syslog(own ? syslog_priority(line_level(line)) : LOG_INFO, "%s: %s%.*s", prefix, who,
                   (int)SYSLOG_LINE_CHARS, line);
    }
}

void nt_log_syslog(const struct nt_log *log, enum nt_log_level level, bool probe)
{
    syslog_lines(log->prefix, log->agent_fd, "", level);
    if (probe)
        syslog_lines(log->prefix, log->probe_fd, "probe: ", NT_LOG_DEBUG);
}
