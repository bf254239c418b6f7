/* SPDX-License-Identifier: Apache-2.0 */
/* The line that the agent of a job's first host logs: key=value pairs, or one JSON object. Read
 * back by "nettopo stats" (solver/text/log_record.h). Its figures of a sweep come from the probe,
 * which sends them behind the status, "ok\nrounds=39 findings=1 missing=n3 suspect=n5,n7"; the
 * relay parses them, and root checks the result. Libc only. */
#ifndef NT_JOB_LINE_H
#define NT_JOB_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "option.h"

enum { NT_JOB_FIGURES_HOSTS_BYTES = 128 };

struct nt_job_figures {
    uint8_t known;                            /* 0: the probe sent none */
    uint32_t rounds, findings;                /* findings: of the map */
    char missing[NT_JOB_FIGURES_HOSTS_BYTES]; /* hosts, commas between; "+12" at the end: and 12
                                                 more */
    char suspect[NT_JOB_FIGURES_HOSTS_BYTES]; /* hosts that findings name, likewise */
};

/* All zeros when the text is not of that form. */
void nt_job_figures_parse(const char *text, size_t bytes, struct nt_job_figures *figures);

/* Whether both lists are terminated, and of characters of host names, commas and '+'. */
bool nt_job_figures_are_valid(const struct nt_job_figures *figures);

enum { NT_JOB_LINE_BYTES = 2048 };

struct nt_job_line {
    const char *time; /* of its end, "2026-01-01T00:00:00Z" */
    uint32_t job;
    const char *user;
    bool level_auto;     /* the probe decided on it */
    enum nt_level level; /* of job and budget what they were after limits */
    double budget_s;
    const char *outcome; /* "ok", or "partial REASON" or "failed REASON" */
    uint64_t hosts;      /* 0: not known */
    double seconds;
    const struct nt_job_figures *figures;
    const char *limited; /* what limits have changed of the option; "": nothing */
    const char *to_do;   /* "": nothing */
};

/* Terminated, one line of printable ASCII, cut to fit at a pair. Returns its bytes. */
size_t nt_job_line_write(const struct nt_job_line *line, bool json, char text[NT_JOB_LINE_BYTES]);

#endif
