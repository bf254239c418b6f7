/* SPDX-License-Identifier: Apache-2.0 */
/* Nested clusters of hosts: for each level a union-find over the seats. What is one at a level is
 * one at all levels above; at the highest all seats are one.
 * Tests: test_adaptive_parts.c, test_sweep_adaptive.c. */
#ifndef NT_CLUSTERS_H
#define NT_CLUSTERS_H

#include <stddef.h>
#include <stdint.h>

#include "class_fit.h"
#include "err.h"

struct nt_clusters {
    size_t seats, levels;
    uint32_t *up[NT_CLASSES_MAX]; /* owned */
};

int nt_clusters_init(struct nt_clusters *clusters, size_t seats, size_t levels, struct nt_err *err);
void nt_clusters_fini(struct nt_clusters *clusters);

/* The smallest seat of the cluster stands for it. */
uint32_t nt_clusters_find(const struct nt_clusters *clusters, size_t level, uint32_t seat);
void nt_clusters_unite(struct nt_clusters *clusters, size_t level, uint32_t a, uint32_t b);

/* The lowest level at which both are one. */
size_t nt_clusters_meet(const struct nt_clusters *clusters, uint32_t a, uint32_t b);

#endif
