/* The tiers, from the top: inside each cluster of one tier the clusters of the tier below are
 * found by merging hosts that are the same, until every pair of clusters is certainly different.
 *
 * Large sets are cut into blocks first, so that no cell table is quadratic in the hosts; blocks
 * that are settled join, a few at a time. */
#ifndef NT_MERGE_H
#define NT_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cells.h"
#include "class_fit.h"
#include "err.h"
#include "ledger.h"
#include "rng.h"

struct nt_merge {
    size_t seats;
    const struct nt_classes *classes; /* borrowed, as are the next two */
    struct nt_ledger *ledger;
    const bool *lost;
    size_t levels; /* classes: level l joins hosts whose class is at most l */
    size_t level;  /* that is being resolved */
    bool over;
    uint32_t *up[NT_CLASSES_MAX]; /* of each level a union-find over the seats; owned */
    float *doubt[NT_CLASSES_MAX]; /* of a cluster's root, when its level is over: the chance that
                                     it is one with a neighbour; owned */
    struct nt_cell_limits limits;
    size_t blocks;
    struct nt_cells **block; /* owned */
    uint32_t *block_of;      /* of a cluster's root: its block and its place in it */
    uint32_t *place_of;
    struct nt_cells_scratch scratch;
    bool keep_all;     /* readings; else only those that say "same" */
    double risk;       /* summed over the cells of finished levels: chance of being wrong */
    size_t open_cells; /* of finished levels: neither same nor certainly different */
};

/* classes must not change from here on. */
int nt_merge_init(struct nt_merge *merge, size_t seats, const struct nt_classes *classes,
                  struct nt_ledger *ledger, const bool *lost, struct nt_err *err);
void nt_merge_fini(struct nt_merge *merge);

/* 1: the draw has the next round; 0: all tiers are certified. */
int nt_merge_next(struct nt_merge *merge, struct nt_rng *rng, struct nt_draw *draw,
                  struct nt_err *err);

/* The readings of the draw in its order, ln us; NaN: none. */
int nt_merge_tell(struct nt_merge *merge, const struct nt_draw *draw, const float *ln,
                  struct nt_err *err);

/* The seat that stands for this one's cluster; its seats have the same at all levels above. */
uint32_t nt_merge_find(const struct nt_merge *merge, size_t level, uint32_t seat);

#endif
