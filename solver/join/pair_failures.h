/* SPDX-License-Identifier: Apache-2.0 */
/* Inside join/: which pairs of a sweep's hosts could not be measured, in words. Hosts that are
 * missing are named elsewhere, and so are pairs of theirs.
 * Tests: test_pair_failures.c, bats/blocked.bats. */
#ifndef NT_PAIR_FAILURES_H
#define NT_PAIR_FAILURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"
#include "samples.h"

/* So many are named, of each kind; an unbounded list would break the map's bound. */
enum { NT_PAIRS_NAMED_MAX = 20, NT_PAIR_FAILURE_BYTES = 512 };

struct nt_pair_failure {
    uint32_t a, b;      /* hosts of the samples, a < b */
    const char *reason; /* of the first failure; borrowed from the samples */
};

struct nt_pair_failures {
    /* apart: tried, and not one message came back. stuck: their small messages pass, and none of
     * their flows of large ones did. Each: all of them, and the first by host. */
    size_t apart, stuck;
    struct nt_pair_failure apart_pair[NT_PAIRS_NAMED_MAX], stuck_pair[NT_PAIRS_NAMED_MAX];
};

int nt_pair_failures_find(const struct nt_samples *samples, struct nt_pair_failures *out,
                          struct nt_err *err);

/* Names the first pairs of either kind, and how many more there are; "" if there is none. What to
 * do about pairs that are stuck is nt_pair_stuck_advice. */
void nt_pair_failures_text(const struct nt_samples *samples,
                           const struct nt_pair_failures *failures, bool stuck,
                           char text[NT_PAIR_FAILURE_BYTES]);

/* A warning for each pair that is named; the map is then partial. */
int nt_map_pair_failures(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

#endif
