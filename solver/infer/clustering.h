/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the tiers from the root down. Within each cluster of one tier, it merges hosts into the
 * clusters of the tier below, until every two clusters are certainly different.
 *
 * A block contains the cells (pairs of clusters) of some clusters of one level. Large sets are
 * divided into blocks first, so that no table of cells is quadratic in the hosts. Blocks with few
 * open cells join, a few at a time. A certain cluster is opened: its hosts become blocks of the
 * level below, without waiting for a few undecided hosts, which are added to their cluster later.
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
 * One union-find structure over the seats per level. Seats that share a cluster at a level share
 * one at all higher levels. The highest level has one cluster. */

struct nt_clusters {
    struct nt_arena memory; /* of up */
    size_t seats, levels;
    uint32_t *up[NT_CLASSES_MAX];
};

int nt_clusters_init(struct nt_clusters *clusters, size_t seats, size_t levels, struct nt_err *err);
void nt_clusters_fini(struct nt_clusters *clusters);

/* The cluster of a seat, represented by its smallest seat. */
uint32_t nt_clusters_find(const struct nt_clusters *clusters, size_t level, uint32_t seat);
void nt_clusters_unite(struct nt_clusters *clusters, size_t level, uint32_t a, uint32_t b);

/* The lowest level at which one cluster contains both seats. */
size_t nt_clusters_meet(const struct nt_clusters *clusters, uint32_t a, uint32_t b);

/* ---- evidence for merging clusters, one cell per pair of clusters -------------------------------
 *
 * A sequential test per cell (Wald 1945): the sum of the log-likelihood ratios of all readings
 * between two clusters. Above same they are merged, below differ they are different. The error
 * probabilities are exp(-same) and exp(differ). */

struct nt_cluster {
    uint32_t *seat; /* size elements in any order; owned */
    uint32_t size;
    uint32_t low, high; /* the smallest and the largest seat */
    uint32_t idle;      /* while a round is planned: seat[0..idle-1] are not used in it yet */
    /* The block in which readings between this cluster and others of the same origin were counted;
     * UINT32_MAX: none */
    uint32_t origin;
    bool merged; /* merged into another cluster */
    bool open;   /* its hosts are being clustered in the level below */
};

struct nt_cells {
    size_t level;   /* the level of the clusters */
    uint32_t group; /* blocks that will join have the same group */
    size_t clusters;
    struct nt_cluster *cluster;
    float *sum;     /* per cell, see nt_cell_at */
    uint8_t *count; /* per cell: measurements, saturating */
    bool missed; /* one measurement had no result; every second one without a result is counted */
    bool last;   /* the only remaining block of its parent */
    bool strict; /* "different" must now be certain */
    bool done;
    bool fresh;     /* earlier readings are still to be counted */
    size_t planned; /* pairs in the last round; SIZE_MAX: there was no round */
};

struct nt_cell_limits {
    double same, differ, certain; /* certain: the limit that replaces differ in strict blocks */
    /* A cell of one or two hosts that is undecided after this number of readings is closed */
    int tries_small;
};

/* Cells are quadratic in the clusters. This number, and its planning, needs 235 MB, 3.6 KB per host
 * of 65,536. It allows 4,096 switches below one switch and some hosts that are not merged yet. */
enum { NT_CELLS_CLUSTERS_MAX = 4608 };

/* Makes empty clusters. NT_ERR_INPUT: more than NT_CELLS_CLUSTERS_MAX. The caller frees *out. */
int nt_cells_create(size_t clusters, struct nt_cells **out, struct nt_err *err);

/* Adds empty clusters at the end. Errors as above; a failed call adds nothing. */
int nt_cells_append(struct nt_cells *cells, size_t clusters, struct nt_err *err);
void nt_cells_destroy(struct nt_cells *cells);

static inline size_t nt_cell_at(size_t a, size_t b)
{
    return a > b ? a * (a - 1) / 2 + b : b * (b - 1) / 2 + a;
}

/* Adds the log-likelihood ratio of a reading. */
void nt_cells_add(struct nt_cells *cells, uint32_t a, uint32_t b, double llr);

/* Counts every second measurement that gave no result, so that cells whose pairs cannot be measured
 * are closed, and cells with a few such pairs are not. */
void nt_cells_count_failure(struct nt_cells *cells, uint32_t a, uint32_t b);

/* Merges the smaller cluster into the larger one. Returns the remaining one, or -1 (memory). */
int64_t nt_cells_merge(struct nt_cells *cells, uint32_t a, uint32_t b, struct nt_err *err);

/* ---- the clustering ---- */

struct nt_clustering {
    size_t seats;
    const struct nt_classes *classes; /* borrowed, like ledger and lost */
    struct nt_readings *ledger;
    const bool *lost;
    struct nt_clusters clusters; /* its arena also owns the arrays per level */
    struct nt_cell_limits limits;
    size_t slots, capacity;
    struct nt_cells **block; /* slots elements, some NULL; by group; owned */
    /* per root of a cluster at a level: its block, or UINT32_MAX */
    uint32_t *block_of[NT_CLASSES_MAX];
    uint32_t *place_of[NT_CLASSES_MAX]; /* and its index in this block */
    uint32_t groups;
    bool over;
    double risk; /* valid when over: the sum of the error probabilities of all cells */
    size_t
        open_cells;   /* valid when over: cells that are neither the same nor certainly different */
    size_t unsettled; /* valid when over: levels below this one were not measured enough */
    /* Valid when over, per root of a cluster: the probability that it is one cluster with
     * another */
    float *error_probability[NT_CLASSES_MAX];
};

/* classes must not change afterwards, except for the noise. Sorts ledger. */
int nt_clustering_init(struct nt_clustering *clustering, size_t seats,
                       const struct nt_classes *classes, struct nt_readings *ledger,
                       const bool *lost, struct nt_err *err);
void nt_clustering_fini(struct nt_clustering *clustering);

/* Clusters with the readings in the ledger only, until they decide no further pair of clusters. */
int nt_clustering_replay(struct nt_clustering *clustering, struct nt_err *err);

/* After nt_clustering_replay: allows new readings for pairs of clusters that are still open. */
void nt_clustering_reopen(struct nt_clustering *clustering);

/* The lowest level for which it and all higher levels are certain. */
size_t nt_clustering_certain_level(const struct nt_clustering *clustering);

/* ---- for reading pair by pair -----------------------------------------------------------------
 *
 * Call nt_clustering_settle, read open pairs of clusters (plan/rounds.h), call nt_clustering_note,
 * and repeat. Call nt_clustering_finish when no block has open pairs. */

/* Counts earlier readings in new blocks, opens certain clusters, and joins blocks with few open
 * pairs, until nothing changes. */
int nt_clustering_settle(struct nt_clustering *clustering, struct nt_err *err);

/* One step of nt_clustering_settle, without counting. 1: something changed. */
int nt_clustering_advance(struct nt_clustering *clustering, struct nt_err *err);

/* Sets over and the fields that depend on it. */
void nt_clustering_finish(struct nt_clustering *clustering);

/* A cell: two clusters of a block. */
struct nt_block_cell {
    uint32_t block, a, b; /* a > b */
};

/* Adds a reading, ln us, of two seats of the clusters of a cell, also to the ledger. */
int nt_clustering_note(struct nt_clustering *clustering, const struct nt_block_cell *cell,
                       const uint32_t seat[2], float ln, struct nt_err *err);

/* After all readings of a round: merges the clusters of a cell if they are the same. */
int nt_clustering_decide(struct nt_clustering *clustering, const struct nt_block_cell *cell,
                         struct nt_err *err);

#endif
