/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of clustering.h: making, joining and finding them. For clustering.c only.
 * Tests: test_sweep_adaptive.c. */
#ifndef NT_BLOCKS_H
#define NT_BLOCKS_H

#include "clustering.h"

enum { NT_BLOCK_NONE = UINT32_MAX };

/* Blocks for the inside of a cluster of `level`, whose seats these are: at the next lower level
 * where it is not one. */
int nt_blocks_open(struct nt_clustering *clustering, size_t level, const uint32_t *seat, size_t n,
                   struct nt_err *err);

/* These seats have become part of the opened cluster of `level` that `old` is in: puts their
 * clusters into what it became. */
int nt_blocks_introduce(struct nt_clustering *clustering, size_t level, uint32_t old,
                        const uint32_t *seat, size_t n, struct nt_err *err);

/* One block of several of a group, in the slot of the first. */
int nt_blocks_join(struct nt_clustering *clustering, const uint32_t *slot, size_t n,
                   struct nt_err *err);

/* Of a block, those that are not merged into another. */
size_t nt_blocks_clusters(const struct nt_cells *cells);

#endif
