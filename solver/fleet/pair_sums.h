/* SPDX-License-Identifier: Apache-2.0 */
/* Which of many parts are one, from summed evidence between pairs of them, most of which may be
 * missing: in rounds, any two that are each other's likeliest partner, and likelier one than not by
 * a margin, become one; evidence between them and others adds up (agglomerative clustering by
 * mutual neighbours, Murtagh 1983, with sums of log-likelihood ratios).
 *
 * Time n log n in the pairs a round, memory linear.
 * Tests: test_cluster_map.c. */
#ifndef NT_PAIR_SUMS_H
#define NT_PAIR_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_pair_sum {
    uint32_t a, b; /* parts, a < b */
    float sum;     /* ln of odds that they are one; the sum of what readings say */
};

struct nt_pair_sums {
    size_t count, capacity;
    struct nt_pair_sum *at; /* owned */
};

/* a and b in any order. All zero: empty. */
int nt_pair_sums_add(struct nt_pair_sums *sums, uint32_t a, uint32_t b, double llr,
                     struct nt_err *err);

/* One entry a pair, ascending. */
void nt_pair_sums_fold(struct nt_pair_sums *sums);

/* Unites up[] (parts of it: each at the smallest one that it is one with, at first itself), until
 * no two are one by more than margin. sums are of what is left between them then, folded. */
int nt_pair_sums_unite(struct nt_pair_sums *sums, uint32_t *up, size_t parts, double margin,
                       struct nt_err *err);

void nt_pair_sums_fini(struct nt_pair_sums *sums);

#endif
