/* SPDX-License-Identifier: Apache-2.0 */
/* Deviations between two measurements of the same pairs: A. Bufe, "Automatic Analysis of a
 * Supercomputer's Topology and Performance Characteristics", Hamburg 2014, section 3.2.2, equations
 * 3.1 to 3.4, and the distributions of both measurements. Knows indices only. */
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
    struct nt_arena memory; /* of pair */
    /* Compared values: two per pair if both matrices have both directions, else one, the mean of
     * the directions */
    size_t pairs;
    /* MD, MAD, QMD and MAXD of first - second, in the unit of the matrices */
    double mean, mean_absolute, quadratic_mean, greatest;
    struct nt_deviating_pair at;     /* the pair with the greatest deviation */
    double first[NT_DEVIATION_FIVE]; /* minimum, quartiles, maximum */
    double second[NT_DEVIATION_FIVE], difference[NT_DEVIATION_FIVE];
    double edge[NT_DEVIATION_BINS + 1]; /* bounds of the bins of both histograms: equal steps, or */
    bool factors; /* equal factors, if the maximum is more than ten times the minimum */
    size_t bin[NT_DEVIATION_BINS][2];
    size_t differing; /* pairs that differ by more than the tolerance */
    /* these pairs, the largest relative difference first; in memory */
    struct nt_deviating_pair *pair;
};

/* tolerance: a share of the second value. NT_ERR_INPUT: no pair is in both matrices. Call
 * nt_deviation_fini also after an error. */
int nt_deviation_init(struct nt_deviation *d, const struct nt_matrix *first,
                      const struct nt_matrix *second, double tolerance, struct nt_err *err);
void nt_deviation_fini(struct nt_deviation *d);

#endif
