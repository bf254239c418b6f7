/* Lines of a log: how much is said, and how a line reads. Writes nowhere: the agent and the probe
 * each have a file that does (prolog/log.c, ucx_probe/probe_log.c). Libc only, no allocation. */
#ifndef NT_LOG_LINE_H
#define NT_LOG_LINE_H

#include <stdarg.h>
#include <stddef.h>

/* Each holds those before it. */
enum nt_log_level {
    NT_LOG_ERROR = 1, /* what failed, and what to do */
    NT_LOG_INFO,      /* and what was done, in few lines */
    NT_LOG_DEBUG,     /* and each step */
};

enum { NT_LOG_LINE_BYTES = 640 };

/* The log beside a job's map. */
#define NT_LOG_FILE "sweep.log"

/* "error", "info", "debug"; NULL for anything else. */
const char *nt_log_level_name(enum nt_log_level level);

/* -1 when the name is none. */
int nt_log_level_parse(const char *name, enum nt_log_level *level);

/* "SECONDS LEVEL TEXT" and a newline, terminated; one line of printable ASCII whatever the
 * arguments hold, cut to fit. Returns its bytes. */
size_t nt_log_line_write(char line[NT_LOG_LINE_BYTES], enum nt_log_level level, double seconds,
                         const char *format, va_list args) __attribute__((format(printf, 4, 0)));

/* The next line of a text that nobody vouches for, from *at on: printable ASCII, terminated, not
 * empty, without newline; zero bytes end lines too, and a long line is cut. Moves *at behind it.
 * Returns its bytes; 0: there is none. */
size_t nt_log_line_next(const char *text, size_t bytes, size_t *at, char line[NT_LOG_LINE_BYTES]);

#endif
