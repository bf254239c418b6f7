/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts a job leaves out that has more than it needs.
 *
 * First hosts that are missing, then hosts with a finding, the likelier first, then those whose
 * removal lowers the predicted time of the pattern most; of hosts that make no difference the last
 * ones. The job's first host, which scripts take as the master, is left out only if it is missing
 * or has a finding.
 * Tests: test_spare.c. */
#ifndef NT_SPARE_H
#define NT_SPARE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "hint.h"
#include "map.h"

/* Sets the request's capacity to 0 for up to spares hosts with tasks and writes them to left_out
 * (spares of them), the worst first; *count: how many. One host always stays. The request's traffic
 * is that of a pattern without a name; a named one's is made for the hosts that are left. */
int nt_spare_choose(const struct nt_map *map, const struct nt_hint_request *request, size_t spares,
                    uint32_t *left_out, size_t *count, struct nt_err *err);

#endif
