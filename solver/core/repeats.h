/* SPDX-License-Identifier: Apache-2.0 */
/* Combines repeated measurements of pairs.
 *
 * The minimum of the readings is used (min_latency.h), because disturbances mostly add. But the
 * lowest of many readings is lower than the lowest of few, so pairs that were measured more often
 * would look nearer, like a group that does not exist. Therefore repetitions come in phases, each
 * with as many readings per pair as the first passes. Each phase gives one lowest reading, and the
 * median of these and of the first one is used. It has the same expectation as a single one and a
 * smaller error. For hosts whose latencies changed during the sweep (changed_hosts.h) the higher
 * phases are ignored. Pure.
 * Tests: test_remeasure.c. */
#ifndef NT_REPEATS_H
#define NT_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"

/* Names of phases of repetitions begin with this, followed by a number from 1: "repeats-1". */
#define NT_REPEATS_PHASE "repeats-"

bool nt_repeats_is_phase(const char *name);

struct nt_repeat {
    uint32_t a, b, phase;
    float us;
};

struct nt_repeats {
    size_t count, capacity;
    struct nt_repeat *at; /* in the order of nt_repeats_note, until nt_repeats_fold; owned */
};

/* Adds a latency from a to b in this phase. All zero: empty. */
int nt_repeats_note(struct nt_repeats *repeats, uint32_t a, uint32_t b, uint32_t phase, double us,
                    struct nt_err *err);

/* Replaces the values of repeated pairs in lowest (the lowest of their first readings) by the
 * medians, and their standard errors in error (may be NULL). Hosts outside the matrix are
 * ignored. The result does not depend on the order of nt_repeats_note. Sorts at. */
int nt_repeats_fold(struct nt_repeats *repeats, struct nt_matrix *lowest, struct nt_matrix *error,
                    struct nt_err *err);

void nt_repeats_fini(struct nt_repeats *repeats);

#endif
