/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON: {"rank", "pairs", "rounds", "lower_bound", "amplification_rms",
 * "amplification_max"}; an amplification that is not known is null. A round a line.
 * Tests: test_plan_json.c, bats/commands.bats. */
#ifndef NT_PLAN_JSON_H
#define NT_PLAN_JSON_H

#include <stddef.h>

#include "err.h"
#include "names.h"
#include "plan.h"

/* host_name: of the hosts whose indices the plan has. The text is the caller's (free). */
int nt_plan_write(const struct nt_plan *plan, const char *const *host_name, char **text,
                  size_t *bytes, struct nt_err *err);

enum { NT_PLAN_BYTES_MAX = 64 << 20 };

/* The rounds of the text, for a job of these hosts (found as in host_match.h): pairs with any other
 * host are left out and counted in absent, and rounds that lost all their pairs close up. rank is
 * 0, the amplifications NaN. NT_ERR_INPUT, with the place: no such text, a host twice in a round,
 * no pair of these hosts.
 */
int nt_plan_read(const char *file, const char *text, size_t bytes, const struct nt_names *hosts,
                 struct nt_plan **out, struct nt_err *err);

#endif
