/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence on which clusters of hosts are one, a cell per pair of clusters.
 *
 * A sequential test per cell (Wald 1945): the summed log-likelihood ratio of all readings between
 * two clusters. Over `same` they are one, under `differ` they are not; wrong with a chance of
 * exp(-same) and exp(differ).
 * Tests: test_adaptive_parts.c. */
#ifndef NT_CELLS_H
#define NT_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

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

#endif
