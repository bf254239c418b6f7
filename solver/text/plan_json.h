/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON: {"rank", "pairs", "rounds", "lower_bound", "amplification_rms",
 * "amplification_max"}, with one round per line. An amplification that is not known is null.
 * Tests: test_plan_json.c, bats/commands.bats. */
#ifndef NT_PLAN_JSON_H
#define NT_PLAN_JSON_H

#include <stddef.h>

#include "err.h"
#include "names.h"
#include "plan.h"

/* Writes a plan. host_name: by the plan's host indices. The caller frees the text. */
int nt_plan_write(const struct nt_plan *plan, const char *const *host_name, char **text,
                  size_t *bytes, struct nt_err *err);

enum { NT_PLAN_BYTES_MAX = 64 << 20 };

/* Reads the rounds of a plan for a job with these hosts (matched as in host_match.h). Pairs with
 * any other host are omitted and counted in absent; rounds without remaining pairs are removed.
 * rank is 0 and the amplifications are NaN. NT_ERR_INPUT, with the place: not a plan, a host twice
 * in a round, or no pair of these hosts. */
int nt_plan_read(const char *file, const char *text, size_t bytes, const struct nt_names *hosts,
                 struct nt_plan **out, struct nt_err *err);

#endif
