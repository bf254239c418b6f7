/* SPDX-License-Identifier: Apache-2.0 */
/* The minimum of several readings of one latency, since disturbances mostly add.
 *
 * The lowest reading is used unless it alone is too low, as after a jump of a clock: then all
 * others agree, and not with the lowest. If the others do not agree, they were disturbed, and the
 * lowest may be right. If half of a host's pairs have such a step above their lowest reading, the
 * latencies of the host changed during the sweep. Then the lowest readings of all its pairs are
 * used. Otherwise near and far pairs would describe two states of the network.
 * Tests: test_latencies.c, test_remeasure.c. */
#ifndef NT_MIN_LATENCY_H
#define NT_MIN_LATENCY_H

#include <math.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"

/* All zero: no reading. */
struct nt_min_latency {
    float lowest;
    union {
        float next; /* count > 1: the second lowest */
        /* Count 1: standard error of the reading from its own repetitions; 0: unknown */
        float own_se;
    };
    float highest;
    uint32_t count;
};

/* For a single pair, an outlier is a tenth below the others, more than the noise. The others agree
 * within half of that, so that similar disturbances do not count as agreement. If all pairs
 * together show how large the noise is, nt_min_latency_matrix also detects smaller outliers. */
#define NT_MIN_LATENCY_ALONE 1.1F
#define NT_MIN_LATENCY_AGREE 1.05F

/* Adds a reading. se: its standard error from its own repetitions; 0: unknown. */
static inline void nt_min_latency_note(struct nt_min_latency *low, float value, float se)
{
    if (low->count == 0) {
        low->own_se = se;
        low->lowest = value;
    } else if (value < low->lowest) {
        low->next = low->lowest;
        low->lowest = value;
    } else if (low->count == 1 || value < low->next) {
        low->next = value;
    }
    low->highest = low->count == 0 || value > low->highest ? value : low->highest;
    low->count++;
}

/* The minimum of one or more readings. For two readings it is the lower one. */
static inline float nt_min_latency_of(const struct nt_min_latency *low)
{
    return low->count > 2 && low->next > NT_MIN_LATENCY_ALONE * low->lowest &&
                   low->highest <= NT_MIN_LATENCY_AGREE * low->next
               ? low->next
               : low->lowest;
}

/* Standard error of the minimum: its distance to the next reading. For readings with exponential
 * delays this is the expected error. For three to nine normal readings it differs by at most an
 * eighth, and disturbed readings rarely contribute. For a single reading it is the error of that
 * reading, negated: repetitions at one time share their disturbances, so it is only a lower bound.
 * NaN: unknown. */
static inline float nt_min_latency_error(const struct nt_min_latency *low)
{
    if (low->count < 2)
        return low->count == 1 && low->own_se > 0 ? -low->own_se : NAN;
    return nt_min_latency_of(low) > low->lowest ? low->highest - low->next
                                                : low->next - low->lowest;
}

/* low[n * n], where m has n hosts. Writes the minimum per pair and direction to m, and its standard
 * error to error (may be NULL, else n hosts). */
int nt_min_latency_matrix(const struct nt_min_latency *low, struct nt_matrix *m,
                          struct nt_matrix *error, struct nt_err *err);

#endif
