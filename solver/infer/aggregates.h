/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregated links: shortest runs of links on a path whose sum is known though they are not.
 * Tests: test_estimate_routes.c. */
#ifndef NT_AGGREGATES_H
#define NT_AGGREGATES_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "routes.h"
#include "unknowns.h"

struct nt_aggregates {
    size_t count;
    size_t *start;  /* count + 1 */
    uint32_t *link; /* each run in the order of a path, the lower end first */
};

/* Every different run over all routes, a run and its reverse being the same; in the order in
 * which the routes show them. The arrays are the caller's (free). */
int nt_aggregates_find(const struct nt_routes *routes, const struct nt_unknowns *unknowns,
                       struct nt_aggregates *out, struct nt_err *err);

#endif
