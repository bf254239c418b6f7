/* SPDX-License-Identifier: Apache-2.0 */
/* The tiers, from the top: inside each cluster of one tier the clusters of the tier below are
 * found by merging hosts that are the same, until every pair of clusters is certainly different.
 *
 * A block holds the cells of some clusters of one level. Large sets are cut into blocks first, so
 * that no table of cells is quadratic in the hosts; blocks that have little left to measure join,
 * a few at a time. A cluster that is certain is opened, its inside becoming blocks of the level
 * below, without waiting for a few stragglers: they are put in where they turn out to belong.
 * Tests: test_sweep_adaptive.c, test_adaptive_parts.c. */
#ifndef NT_CLUSTERING_H
#define NT_CLUSTERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "class_fit.h"
#include "err.h"
#include "memory.h"
#include "readings.h"

/* ---- nested clusters of hosts -----------------------------------------------------------------
 *
 * For each level a union-find over the seats. What is one at a level is one at all levels above; at
 * the highest all seats are one. */

struct nt_clusters {
    struct nt_arena memory; /* of up */
    size_t seats, levels;
    uint32_t *up[NT_CLASSES_MAX];
};

int nt_clusters_init(struct nt_clusters *clusters, size_t seats, size_t levels, struct nt_err *err);
void nt_clusters_fini(struct nt_clusters *clusters);

/* The smallest seat of the cluster stands for it. */
uint32_t nt_clusters_find(const struct nt_clusters *clusters, size_t level, uint32_t seat);
void nt_clusters_unite(struct nt_clusters *clusters, size_t level, uint32_t a, uint32_t b);

/* The lowest level at which both are one. */
size_t nt_clusters_meet(const struct nt_clusters *clusters, uint32_t a, uint32_t b);

/* ---- evidence on which clusters are one, a cell per pair of clusters ----------------------------
 *
 * A sequential test per cell (Wald 1945): the summed log-likelihood ratio of all readings between
 * two clusters. Over `same` they are one, under `differ` they are not; wrong with a chance of
 * exp(-same) and exp(differ). */

struct nt_cluster {
    uint32_t *seat; /* size of them, in any order; owned */
    uint32_t size;
    uint32_t low, high; /* the smallest and the largest */
    uint32_t idle;      /* for planning a round: seat[0..idle-1] are not in it yet */
    uint32_t origin;    /* the block in which the readings between it and others of the same origin
                           were counted; UINT32_MAX: none were */
    bool merged;        /* merged into another */
    bool open;          /* what is inside is being resolved, in the level below */
};

struct nt_cells {
    size_t level;   /* this is about */
    uint32_t group; /* blocks that will join have the same */
    size_t clusters;
    struct nt_cluster *cluster;
    float *sum;     /* of a cell: see nt_cell_at */
    uint8_t *count; /* measurements, saturating */
    bool missed;    /* one measurement without a result so far: every second one counts */
    bool last;      /* no other block of the same parent */
    bool strict;    /* "different" has to be certain by now */
    bool done;
    bool fresh;     /* readings of before are still to be counted */
    size_t planned; /* pairs in the last round; SIZE_MAX: there was none */
};

struct nt_cell_limits {
    double same, differ, certain; /* certain: `differ` of the strict pass */
    int tries_small; /* a cell of one or two hosts without a decision after so many readings is
                        closed */
};

/* Cells are quadratic in clusters: those of so many and planning them take 235 MB, 3.6 KB a host of
 * 65,536. So many are 4,096 switches below one and hosts that are not merged into theirs yet. */
enum { NT_CELLS_CLUSTERS_MAX = 4608 };

/* The clusters are empty; NT_ERR_INPUT over the maximum. */
int nt_cells_create(size_t clusters, struct nt_cells **out, struct nt_err *err);

/* Adds empty clusters behind the others; false like above, nothing is added then. */
int nt_cells_append(struct nt_cells *cells, size_t clusters, struct nt_err *err);
void nt_cells_destroy(struct nt_cells *cells);

static inline size_t nt_cell_at(size_t a, size_t b)
{
    return a > b ? a * (a - 1) / 2 + b : b * (b - 1) / 2 + a;
}

/* Adds a reading's evidence. */
void nt_cells_add(struct nt_cells *cells, uint32_t a, uint32_t b, double llr);

/* A measurement that was ordered gave nothing: every other one counts. So a cell of pairs that
 * cannot be measured is closed, one with a few such pairs is not. */
void nt_cells_miss(struct nt_cells *cells, uint32_t a, uint32_t b);

/* Puts the smaller cluster into the larger one; returns the one that stays, or -1 (memory). */
int64_t nt_cells_merge(struct nt_cells *cells, uint32_t a, uint32_t b, struct nt_err *err);

/* ---- the clustering ---------------------------------------------------------------------------
 */

struct nt_clustering {
    size_t seats;
    const struct nt_classes *classes; /* borrowed, as are the next two */
    struct nt_readings *ledger;
    const bool *lost;
    struct nt_clusters clusters; /* its memory is also that of the arrays by level */
    struct nt_cell_limits limits;
    size_t slots, capacity;
    struct nt_cells **block;            /* slots of them, some NULL; by group; owned */
    uint32_t *block_of[NT_CLASSES_MAX]; /* of a cluster's root at a level: its block, or
                                           UINT32_MAX */
    uint32_t *place_of[NT_CLASSES_MAX]; /* and its place in that */
    uint32_t groups;
    bool over;
    double risk;       /* when over: the sum of all cells' chances of being wrong */
    size_t open_cells; /* when over: neither same nor certainly different */
    size_t unsettled;  /* when over: levels below this were not measured enough */
    float *error_probability[NT_CLASSES_MAX]; /* when over, of a cluster's root: the chance that it
                                                 is one with another */
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
 * Settle, read pairs of clusters that are open (plan/rounds.h), note them, and so on;
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
