/* SPDX-License-Identifier: Apache-2.0 */
/* The minimum of several readings of one latency: disturbances mostly add.
 *
 * The lowest, but for one that is too low by itself: a clock that jumped makes it so, and all
 * others agree with each other and not with it. Where they do not agree they were disturbed, and
 * the lowest may be right; and where half of a host's pairs have such a step above their lowest,
 * or half of it, its latencies changed in the sweep, and the lowest counts: of all of its pairs,
 * near and far, or they would speak of two networks.
 * Tests: test_latencies.c, test_remeasure.c. */
#ifndef NT_MIN_LATENCY_H
#define NT_MIN_LATENCY_H

#include <math.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"

/* All zero: there is no reading. */
struct nt_min_latency {
    float lowest;
    union {
        float next;   /* count > 1: the lowest but one */
        float own_se; /* count 1: of the reading, from its own repeats; 0: unknown */
    };
    float highest;
    uint32_t count;
};

/* Of one pair alone an outlier is a tenth below the others: noise is less. The others agree within
 * half of that, else readings with similar disturbances would agree too. Where all pairs tell how
 * large the noise is, nt_min_latency_matrix takes smaller ones for outliers. */
#define NT_MIN_LATENCY_ALONE 1.1F
#define NT_MIN_LATENCY_AGREE 1.05F

/* se: the standard error of the reading by itself, 0: unknown. */
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

/* Of at least one reading; of two that differ the lower. */
static inline float nt_min_latency_of(const struct nt_min_latency *low)
{
    return low->count > 2 && low->next > NT_MIN_LATENCY_ALONE * low->lowest &&
                   low->highest <= NT_MIN_LATENCY_AGREE * low->next
               ? low->next
               : low->lowest;
}

/* Standard error of that: how far the next one is above it. Of readings that are only late
 * (exponential) this is just what is expected, of three to nine normal ones within an eighth, and
 * hardly any reading that was disturbed comes into it. Of one reading its own, negative: repeats
 * at one time agree on what disturbs them all, so it bounds the error from below only. NaN: it is
 * not known. */
static inline float nt_min_latency_error(const struct nt_min_latency *low)
{
    if (low->count < 2)
        return low->count == 1 && low->own_se > 0 ? -low->own_se : NAN;
    return nt_min_latency_of(low) > low->lowest ? low->highest - low->next
                                                : low->next - low->lowest;
}

/* m: the minimum of each pair and direction that has one; error (may be NULL): its standard error.
 * Both of as many hosts as low has rows and columns. */
int nt_min_latency_matrix(const struct nt_min_latency *low, struct nt_matrix *m,
                          struct nt_matrix *error, struct nt_err *err);

#endif
