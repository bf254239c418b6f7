/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a text, a sentence each: for checks that list everything at once.
 * Tests: test_map_check.c. */
#ifndef NT_FINDINGS_H
#define NT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { NT_FINDINGS_MAX = 1000 };

/* {0} is none. */
struct nt_findings {
    size_t count; /* of those kept, at most NT_FINDINGS_MAX */
    char **line;
    bool more; /* some were not kept */
};

void nt_findings_fini(struct nt_findings *findings);

/* -1 only for want of memory. Bytes that are no printable ASCII become '?'. */
int nt_findings_add(struct nt_findings *findings, struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
