/* SPDX-License-Identifier: Apache-2.0 */
/* The line that the agent of a job's first host logs: key=value pairs, or one JSON object. "nettopo
 * stats" reads it (solver/text/log_record.h). Libc only.
 *
 * The probe sends the values of the sweep after the status: "ok\nrounds=39 findings=1 missing=n3
 * suspect=n5,n7". The relay parses them, and root checks the result.
 * Tests: test_job_line.c. */
#ifndef NT_JOB_LINE_H
#define NT_JOB_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "option.h"

enum { NT_JOB_FIGURES_HOSTS_BYTES = 128 };

struct nt_job_figures {
    uint8_t known;             /* 0: the probe sent no values */
    uint32_t rounds, findings; /* findings: number of findings in the map */
    /* Hosts, separated by commas; "+12" at the end: 12 more hosts */
    char missing[NT_JOB_FIGURES_HOSTS_BYTES];
    char suspect[NT_JOB_FIGURES_HOSTS_BYTES]; /* hosts that findings name, in the same form */
};

/* Parses the values of the sweep. All zeros if the text has another form. */
void nt_job_figures_parse(const char *text, size_t bytes, struct nt_job_figures *figures);

/* Returns whether both lists are terminated and contain only characters of host names, commas and
 * '+'. */
bool nt_job_figures_are_valid(const struct nt_job_figures *figures);

enum { NT_JOB_LINE_BYTES = 2048 };

struct nt_job_line {
    const char *time; /* time of the sweep's end, "2026-01-01T00:00:00Z" */
    uint32_t job;
    const char *user;
    bool level_auto;     /* level = auto: the probe decides on the level */
    enum nt_level level; /* level and budget_s: after limits */
    double budget_s;
    const char *outcome; /* "ok", or "partial REASON" or "failed REASON" */
    uint64_t hosts;      /* number of hosts; 0: not known */
    double seconds;
    const struct nt_job_figures *figures;
    const char *limited; /* how limits changed the option; "": not at all */
    const char *to_do;   /* advice; "": none */
};

/* Writes one terminated line of printable ASCII. Omits pairs that do not fit. Returns its number of
 * bytes. */
size_t nt_job_line_write(const struct nt_job_line *line, bool json, char text[NT_JOB_LINE_BYTES]);

#endif
