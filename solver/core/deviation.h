/* SPDX-License-Identifier: Apache-2.0 */
/* How two measurements of the same pairs deviate: A. Bufe, "Automatic Analysis of a Supercomputer's
 * Topology and Performance Characteristics", Hamburg 2014, section 3.2.2, equations 3.1 to 3.4, and
 * the distributions behind them. Knows indices only. */
#ifndef NT_DEVIATION_H
#define NT_DEVIATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "memory.h"

enum { NT_DEVIATION_BINS = 12, NT_DEVIATION_FIVE = 5 };

struct nt_deviating_pair {
    uint32_t a, b;
    float first, second;
};

struct nt_deviation {
    struct nt_arena memory; /* of the pairs */
    size_t pairs; /* that both have; twice if both have both directions, else the mean of those */
    double mean, mean_absolute, quadratic_mean, greatest; /* MD, MAD, QMD, MAXD: first - second */
    struct nt_deviating_pair at;                          /* of the greatest */
    double first[NT_DEVIATION_FIVE];                      /* least, quartiles, greatest */
    double second[NT_DEVIATION_FIVE], difference[NT_DEVIATION_FIVE];
    double edge[NT_DEVIATION_BINS + 1]; /* of the histograms: in equal steps, or */
    bool factors; /* by equal factors, where the greatest is over ten times the least */
    size_t bin[NT_DEVIATION_BINS][2];
    size_t differing;               /* pairs that differ by more than the tolerance */
    struct nt_deviating_pair *pair; /* those, the largest relative difference first */
};

/* tolerance: share of the second's figure. NT_ERR_INPUT if no pair is in both.
 * nt_deviation_fini is needed after an error too. */
int nt_deviation_init(struct nt_deviation *d, const struct nt_matrix *first,
                      const struct nt_matrix *second, double tolerance, struct nt_err *err);
void nt_deviation_fini(struct nt_deviation *d);

/* Which bin of the histograms a figure belongs to. */
size_t nt_deviation_bin(const struct nt_deviation *d, double value);

#endif
