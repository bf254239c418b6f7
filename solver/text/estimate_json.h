/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate as JSON: {"links", "aggregates", "pairs", "fit"}, an item a line. "links" holds the
 * links that can be distinguished. A figure that is not known is null.
 * Tests: bats/commands.bats. */
#ifndef NT_ESTIMATE_JSON_H
#define NT_ESTIMATE_JSON_H

#include <stddef.h>

#include "err.h"
#include "estimate.h"

/* Names by the indices of the routes. The text is the caller's (free). */
int nt_estimate_write(const struct nt_estimate *estimate, const char *const *host_name,
                      const char *const *link_name, char **text, size_t *bytes, struct nt_err *err);

#endif
