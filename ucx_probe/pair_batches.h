/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a measurement from its batches of repetitions. Pure.
 * Tests: test_prtt_hold.c. */
#ifndef NT_PAIR_BATCHES_H
#define NT_PAIR_BATCHES_H

#include <stddef.h>

#include "sweep.h"

enum { NT_PAIR_BATCHES_MAX = 64 };

struct nt_pair_batches {
    size_t n;
    double low[NT_PAIR_BATCHES_MAX]; /* the lowest tenth of each batch, s */
};

/* times: of n repetitions, s; no more than NT_PAIR_BATCHES_MAX batches are kept. */
void nt_pair_batch_add(struct nt_pair_batches *b, const float *times, size_t n);

/* How well the lowest two batches agree, s: see pair_batches.c. */
double nt_pair_batch_lowest_gap(const struct nt_pair_batches *b);

/* value_us, se_us and median_us from the n repetitions in times, which are reordered. scale: 1e6 /
 * 2 for half a round trip in us. */
void nt_pair_batch_result(float *times, size_t n, const struct nt_pair_batches *b, double scale,
                          struct nt_result *result);

#endif
