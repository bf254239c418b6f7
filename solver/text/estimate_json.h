/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate as JSON: {"links", "aggregates", "pairs", "fit"}, with one item per line. "links"
 * contains the links that can be distinguished. A value that is not known is null.
 * Tests: bats/commands.bats. */
#ifndef NT_ESTIMATE_JSON_H
#define NT_ESTIMATE_JSON_H

#include <stddef.h>

#include "err.h"
#include "estimate.h"

/* Writes an estimate. Names are indexed as in the routes. The caller frees the text. */
int nt_estimate_write(const struct nt_estimate *estimate, const char *const *host_name,
                      const char *const *link_name, char **text, size_t *bytes, struct nt_err *err);

#endif
