/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the spare hosts of a job with more hosts than it needs: first missing hosts, then hosts
 * with a finding, then others. Of each kind, the hosts whose removal lowers the predicted time of
 * the pattern most go first. If removal makes no difference, the most probable finding and the last
 * hosts go first. The job's first host, which scripts use as master, becomes a spare only if it is
 * missing or has a finding.
 * Tests: test_spare.c. */
#ifndef NT_SPARE_H
#define NT_SPARE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "hint.h"
#include "map.h"

/* Sets the request's capacity to 0 for up to spares hosts with tasks, and writes them to left_out
 * (spares entries), the worst first; *count: their number. At least one host remains. The traffic
 * of the request has a pattern without a name; traffic of a named pattern is created later for the
 * remaining hosts. */
int nt_spare_choose(const struct nt_map *map, const struct nt_hint_request *request, size_t spares,
                    uint32_t *left_out, size_t *count, struct nt_err *err);

#endif
