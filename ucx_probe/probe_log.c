/* SPDX-License-Identifier: Apache-2.0 */
#include "probe_log.h"

#include <unistd.h>

#include "clock.h"

static int max_level; /* 0: log nothing yet */
static double log_began_s;

void nt_probe_log_set(enum nt_log_level level, double began_s)
{
    max_level = (int)level;
    log_began_s = began_s;
}

void nt_probe_log(enum nt_log_level level, const char *format, ...)
{
    char line[NT_LOG_LINE_BYTES];
    if ((int)level > max_level)
        return;
    va_list args;
    va_start(args, format);
    size_t bytes = nt_log_line_write(line, level, nt_clock_s() - log_began_s, format, args);
    va_end(args);
    if (write(STDERR_FILENO, line, bytes) < 0)
        return; /* full or closed, which does not stop the sweep */
}
