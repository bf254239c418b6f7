/* SPDX-License-Identifier: Apache-2.0 */
/* What the first host's line in syslog says of a sweep beside its status. The probe sends it behind
 * the status, "ok\nrounds=39 findings=1 missing=n3 suspect=n5,n7"; the relay parses it, and root
 * checks the result.
 * Tests: test_job_line.c. */
#ifndef NT_JOB_FIGURES_H
#define NT_JOB_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
