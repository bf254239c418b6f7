/* The agent's log of one job on one host, and beside it what the probe says.
 *
 * Both are kept in memory files of a fixed size while the sweep runs, so that nothing waits for a
 * syslogd meanwhile and they outlive the process that writes them. At the end they are handed out:
 * to syslog, and to the job that asked for it as a file beside its map. What the probe writes is
 * the job's user's: it is read within its bounds, as lines of printable ASCII. */
#ifndef NT_LOG_H
#define NT_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "log_line.h"

enum { NT_LOG_KEPT_BYTES = 65536, NT_LOG_TEXT_BYTES = 2 * NT_LOG_KEPT_BYTES + 4096 };

struct nt_log {
    char prefix[320];        /* before each line in syslog: "job 42 on n3" */
    enum nt_log_level level; /* what the agent and the probe are to say */
    double began;            /* times are seconds since then (monotonic) */
    int agent_fd, probe_fd;  /* -1: the system has no memory files, and nothing is kept */
};

/* Never fails. Before the fork of whoever is to write. */
void nt_log_init(struct nt_log *log, const char *prefix, enum nt_log_level level, double began);
void nt_log_fini(struct nt_log *log);

/* One line, when the level asks for it; log may be NULL. */
void nt_log(const struct nt_log *log, enum nt_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes what came out, what to do about it ("": nothing), and all that is kept, the agent's lines
 * and the probe's, to text; terminated, cut to fit. Returns its bytes. */
size_t nt_log_text(const struct nt_log *log, const char *outcome, const char *advice, char *text,
                   size_t room);

/* The kept lines to syslog: the agent's of that level, and the last ones of the probe when probe is
 * true. A bounded number of lines. */
void nt_log_syslog(const struct nt_log *log, enum nt_log_level level, bool probe);

#endif
