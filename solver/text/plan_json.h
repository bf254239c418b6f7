/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON: {"rank", "pairs", "rounds", "lower_bound", "amplification_rms",
 * "amplification_max"}; an amplification that is not known is null. A round a line.
 * Tests: bats/commands.bats. */
#ifndef NT_PLAN_JSON_H
#define NT_PLAN_JSON_H

#include <stddef.h>

#include "err.h"
#include "plan.h"

/* host_name: of the hosts whose indices the plan has. The text is the caller's (free). */
int nt_plan_write(const struct nt_plan *plan, const char *const *host_name, char **text,
                  size_t *bytes, struct nt_err *err);

#endif
