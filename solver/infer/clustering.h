/* SPDX-License-Identifier: Apache-2.0 */
/* The tiers, from the top: inside each cluster of one tier the clusters of the tier below are
 * found by merging hosts that are the same, until every pair of clusters is certainly different.
 *
 * A block holds the cells of some clusters of one level. Large sets are cut into blocks first, so
 * that no table of cells is quadratic in the hosts; blocks that have little left to measure join,
 * a few at a time. A cluster that is certain is opened, its inside becoming blocks of the level
 * below, without waiting for a few stragglers: they are put in where they turn out to belong.
 * Tests: test_sweep_adaptive.c. */
#ifndef NT_CLUSTERING_H
#define NT_CLUSTERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cells.h"
#include "class_fit.h"
#include "clusters.h"
#include "err.h"
#include "readings.h"

struct nt_clustering {
    size_t seats;
    const struct nt_classes *classes; /* borrowed, as are the next two */
    struct nt_readings *ledger;
    const bool *lost;
    struct nt_clusters clusters;
    struct nt_cell_limits limits;
    size_t slots, capacity;
    struct nt_cells **block; /* slots of them, some NULL; by group; owned */
    uint32_t
        *block_of[NT_CLASSES_MAX]; /* of a cluster's root at a level: its block, or UINT32_MAX */
    uint32_t *place_of[NT_CLASSES_MAX]; /* and its place in that */
    uint32_t groups;
    bool over;
    double risk;       /* when over: the sum of all cells' chances of being wrong */
    size_t open_cells; /* when over: neither same nor certainly different */
    size_t unsettled;  /* when over: levels below this were not measured enough */
    float *error_probability[NT_CLASSES_MAX]; /* when over, of a cluster's root: the chance that it
                                     is one with another; owned */
};

/* classes must not change from here on, but for the noise. The ledger is sorted. */
int nt_clustering_init(struct nt_clustering *clustering, size_t seats,
                       const struct nt_classes *classes, struct nt_readings *ledger,
                       const bool *lost, struct nt_err *err);
void nt_clustering_fini(struct nt_clustering *clustering);

/* What the readings in the ledger say by themselves: until no pair of clusters has more to say. */
int nt_clustering_replay(struct nt_clustering *clustering, struct nt_err *err);

/* After recalling: what it left open may be read. */
void nt_clustering_reopen(struct nt_clustering *clustering);

/* The lowest level that is certain, as are all above it. */
size_t nt_clustering_certain_level(const struct nt_clustering *clustering);

/* ---- for reading pair by pair -----------------------------------------------------------------
 *
 * Settle, read pairs of clusters that are open (plan/round_clusters.h), note them, and so on;
 * finish when no block has any. */

/* Counts in blocks what was read before they were made, opens clusters that are certain and joins
 * blocks that have little left to measure, until there is nothing of this to do. */
int nt_clustering_settle(struct nt_clustering *clustering, struct nt_err *err);

/* One step of that, without counting: 1 when there was any. */
int nt_clustering_advance(struct nt_clustering *clustering, struct nt_err *err);

/* Sets over, and what it says. */
void nt_clustering_finish(struct nt_clustering *clustering);

/* Adds a reading, ln us, of two seats of the clusters a and b of a block, to the ledger too. */
int nt_clustering_note(struct nt_clustering *clustering, uint32_t block, uint32_t a, uint32_t b,
                       const uint32_t seat[2], float ln, struct nt_err *err);

/* After all readings of a round are noted: merges the two if these make them one. */
int nt_clustering_decide(struct nt_clustering *clustering, uint32_t block, uint32_t a, uint32_t b,
                         struct nt_err *err);

#endif
