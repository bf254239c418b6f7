/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs that were measured again, and what counts of them.
 *
 * Of readings the minimum counts (min_latency.h), since disturbances mostly add; but the lowest of
 * many is lower than the lowest of few, so that pairs measured more often than others would look
 * nearer, like a group that does not exist. So readings come in phases, in each of which a pair is
 * read as often as all pairs were at first. Each phase gives one lowest reading, and the middle of
 * those counts, the first among them: it is expected where that of a pair that was measured once
 * is, and lies nearer to it. Of a host whose latencies changed in the sweep (changed_hosts.h) the
 * higher phases are left out. Pure.
 * Tests: test_remeasure.c. */
#ifndef NT_REPEATS_H
#define NT_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"

/* Phases of that kind are named by it and a number from 1, "repeats-1". */
#define NT_REPEATS_PHASE "repeats-"

bool nt_repeats_is_phase(const char *name);

struct nt_repeat {
    uint32_t a, b, phase;
    float us;
};

struct nt_repeats {
    size_t count, capacity;
    struct nt_repeat *at; /* as noted, until folded; owned */
};

/* From a to b it took us, in this phase of repeats. All zero: empty. */
int nt_repeats_note(struct nt_repeats *repeats, uint32_t a, uint32_t b, uint32_t phase, double us,
                    struct nt_err *err);

/* lowest holds the lowest of the first readings; of pairs that were repeated the middle comes
 * there. error: their standard errors, to which the same happens; may be NULL. Hosts over its size
 * are left out. The order of noting does not count; sorts. */
int nt_repeats_fold(struct nt_repeats *repeats, struct nt_matrix *lowest, struct nt_matrix *error,
                    struct nt_err *err);

void nt_repeats_fini(struct nt_repeats *repeats);

#endif
