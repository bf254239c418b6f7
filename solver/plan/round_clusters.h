/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs to measure to find which clusters of hosts are one: rounds for clustering.h.
 *
 * A cell that is open is measured by a pair of hosts, one of each of its clusters. Pairs
 * of clusters that look the same come first, which are nearly decided; then those that no reading
 * has found different, the largest cluster first, which decides most hosts; then the least certain.
 * Tests: test_slow_hosts.c. */
#ifndef NT_ROUND_CLUSTERS_H
#define NT_ROUND_CLUSTERS_H

#include <stddef.h>
#include <stdint.h>

#include "clustering.h"
#include "err.h"
#include "rng.h"
#include "round_pairs.h"

/* Scratch that rounds share; all zero at first. */
struct nt_open_cells {
    size_t capacity;
    struct {
        uint32_t a, b;
    } * open, *sorted;
    uint8_t *rank;
};
void nt_open_cells_fini(struct nt_open_cells *scratch);

/* 1: round holds the next one; 0: all tiers are certified. Nothing is counted before it is read, so
 * a round may be dropped. */
int nt_round_clusters(struct nt_clustering *clustering, struct nt_rng *rng,
                      struct nt_open_cells *scratch, struct nt_round_pairs *round,
                      struct nt_err *err);

/* The readings of the first n pairs of the round, ln us; NaN: none. */
int nt_round_clusters_tell(struct nt_clustering *clustering, const struct nt_round_pairs *round,
                           size_t n, const float *ln, struct nt_err *err);

#endif
