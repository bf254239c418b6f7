/* SPDX-License-Identifier: Apache-2.0 */
/* Reports pairs of a sweep's hosts that could not be measured. Private to join/. Missing hosts and
 * their pairs are reported elsewhere.
 * Tests: test_pair_failures.c, bats/blocked.bats. */
#ifndef NT_PAIR_FAILURES_H
#define NT_PAIR_FAILURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"
#include "samples.h"

/* Pairs that are listed per kind; the size of a map is limited. */
enum { NT_PAIRS_NAMED_MAX = 20, NT_PAIR_FAILURE_BYTES = 512 };

struct nt_pair_failure {
    uint32_t a, b;      /* hosts of the samples, a < b */
    const char *reason; /* of its first failure; borrowed from the samples */
};

struct nt_pair_failures {
    /* apart: tried without any answer. stuck: small messages arrive, but no flow of large ones did.
     * The number of pairs, and the first ones by host. */
    size_t apart, stuck;
    struct nt_pair_failure apart_pair[NT_PAIRS_NAMED_MAX], stuck_pair[NT_PAIRS_NAMED_MAX];
};

int nt_pair_failures_find(const struct nt_samples *samples, struct nt_pair_failures *out,
                          struct nt_err *err);

/* Writes the first pairs of one kind and the number of the others; "": none. nt_pair_stuck_advice
 * describes how to correct stuck pairs. */
void nt_pair_failures_text(const struct nt_samples *samples,
                           const struct nt_pair_failures *failures, bool stuck,
                           char text[NT_PAIR_FAILURE_BYTES]);

/* Adds a warning per listed pair; the map is then partial. */
int nt_map_pair_failures(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err);

#endif
