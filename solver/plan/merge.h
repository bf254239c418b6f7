/* The tiers, from the top: inside each cluster of one tier the clusters of the tier below are
 * found by merging hosts that are the same, until every pair of clusters is certainly different.
 *
 * A block holds the cells of some clusters of one level. Large sets are cut into blocks first, so
 * that no table of cells is quadratic in the hosts; blocks that have little left to measure join,
 * a few at a time. A cluster that is certain is opened, its inside becoming blocks of the level
 * below, without waiting for a few stragglers: they are put in where they turn out to belong. */
#ifndef NT_MERGE_H
#define NT_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cells.h"
#include "class_fit.h"
#include "clusters.h"
#include "err.h"
#include "readings.h"
#include "rng.h"

struct nt_merge {
    size_t seats;
    const struct nt_classes *classes; /* borrowed, as are the next two */
    struct nt_readings *ledger;
    const bool *lost;
    struct nt_clusters clusters;
    struct nt_cell_limits limits;
    size_t slots, room;
    struct nt_cells **block; /* slots of them, some NULL; by group; owned */
    uint32_t
        *block_of[NT_CLASSES_MAX]; /* of a cluster's root at a level: its block, or UINT32_MAX */
    uint32_t *place_of[NT_CLASSES_MAX]; /* and its place in that */
    uint32_t groups;
    struct nt_cells_scratch scratch;
    bool over;
    double risk;                  /* when over: the sum of all cells' chances of being wrong */
    size_t open_cells;            /* when over: neither same nor certainly different */
    size_t unsettled;             /* when over: levels below this were not measured enough */
    float *doubt[NT_CLASSES_MAX]; /* when over, of a cluster's root: the chance that it is one with
                                     another; owned */
};

/* classes must not change from here on, but for the noise. The ledger is sorted. */
int nt_merge_init(struct nt_merge *merge, size_t seats, const struct nt_classes *classes,
                  struct nt_readings *ledger, const bool *lost, struct nt_err *err);
void nt_merge_fini(struct nt_merge *merge);

/* 1: the draw has the next round; 0: all tiers are certified. */
int nt_merge_next(struct nt_merge *merge, struct nt_rng *rng, struct nt_draw *draw,
                  struct nt_err *err);

/* The readings of the draw in its order, ln us; NaN: none. */
int nt_merge_tell(struct nt_merge *merge, const struct nt_draw *draw, const float *ln,
                  struct nt_err *err);

/* Instead of rounds: what the readings in the ledger say by themselves. */
int nt_merge_recall(struct nt_merge *merge, struct nt_err *err);

/* After recalling: go on with rounds for what it left open. */
void nt_merge_reopen(struct nt_merge *merge);

/* The lowest level that is certain, as are all above it. */
size_t nt_merge_certain_level(const struct nt_merge *merge);

#endif
