/* SPDX-License-Identifier: Apache-2.0 */
/* The levels and the line format of the logs. No I/O: agent and probe write in their own files
 * (prolog/log.c, ucx_probe/probe_log.c). Libc only, no allocation. */
#ifndef NT_LOG_LINE_H
#define NT_LOG_LINE_H

#include <stdarg.h>
#include <stddef.h>

/* Each level includes the levels before it. */
enum nt_log_level {
    NT_LOG_ERROR = 1, /* failures and advice */
    NT_LOG_INFO,      /* also the main events */
    NT_LOG_DEBUG,     /* also each step */
};

enum { NT_LOG_LINE_BYTES = 640 };

/* Name of the log file in the job's directory. */
#define NT_LOG_FILE "sweep.log"

/* Returns "error", "info" or "debug"; NULL for any other value. */
const char *nt_log_level_name(enum nt_log_level level);

/* -1 for an unknown name. */
int nt_log_level_parse(const char *name, enum nt_log_level *level);

/* Formats "SECONDS LEVEL TEXT" and a newline, terminated: one printable line (nt_text_clean),
 * whatever the arguments contain, cut to fit. Returns its number of bytes. */
size_t nt_log_line_write(char line[NT_LOG_LINE_BYTES], enum nt_log_level level, double seconds,
                         const char *format, va_list args) __attribute__((format(printf, 4, 0)));

/* Copies the next line of an untrusted text from *at on: cleaned with nt_text_clean, terminated,
 * not empty, without newline. A NUL byte also ends a line, and a long line is cut. Moves *at behind
 * the line. Returns its number of bytes; 0: there is none. */
size_t nt_log_line_next(const char *text, size_t bytes, size_t *at, char line[NT_LOG_LINE_BYTES]);

#endif
