/* SPDX-License-Identifier: Apache-2.0 */
/* The errors in a text, one sentence each, for checks that list all errors at once.
 * Tests: test_map_check.c. */
#ifndef NT_FINDINGS_H
#define NT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { NT_FINDINGS_MAX = 1000 };

/* {0} contains none. */
struct nt_findings {
    size_t count; /* number of stored sentences, at most NT_FINDINGS_MAX */
    char **line;
    bool more; /* there were more */
};

void nt_findings_fini(struct nt_findings *findings);

/* Adds a sentence. Replaces bytes other than printable ASCII by '?'. -1 only without memory. */
int nt_findings_add(struct nt_findings *findings, struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
