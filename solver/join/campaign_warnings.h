/* SPDX-License-Identifier: Apache-2.0 */
/* Inside join/: what a campaign left out or cut short, one line each, bounded.
 * Tests: test_campaign.c. */
#ifndef NT_WARNINGS_H
#define NT_WARNINGS_H

#include <stddef.h>

enum { NT_WARNINGS_MAX = 16, NT_WARNING_BYTES = 256 };

struct nt_campaign_warnings {
    size_t n;
    char text[NT_WARNINGS_MAX][NT_WARNING_BYTES];
};

/* Returns the line; the last one when there is no room. */
const char *nt_warnings_add(struct nt_campaign_warnings *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
