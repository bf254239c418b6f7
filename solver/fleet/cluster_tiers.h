/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the nested tiers of a cluster from aligned evidence: the classes of latencies and, at each
 * level, the hosts that belong together according to the evidence. The clusters of a level are
 * parts of those of the next level: between them the readings of all their hosts are added.
 * Tests: test_cluster_map.c. */
#ifndef NT_CLUSTER_TIERS_H
#define NT_CLUSTER_TIERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "class_fit.h"
#include "err.h"
#include "evidence.h"

struct nt_cluster_tiers {
    size_t hosts;
    struct nt_classes classes;    /* noise: relative sd of an entry */
    uint32_t *up[NT_CLASSES_MAX]; /* by level and host: the first host of its cluster; owned */
    /* By level and host: probability that its cluster belongs to another; owned */
    float *error[NT_CLASSES_MAX];
    double risk[NT_CLASSES_MAX]; /* by level: the sum of these, each pair of clusters once */
};

/* Finds the classes of all entries. NT_ERR_INPUT: too few pairs were measured in two jobs. */
int nt_cluster_tiers_classes(const struct nt_evidence *evidence, struct nt_classes *out,
                             struct nt_err *err);

/* Finds the clusters. ignored (may be NULL): entries that do not count, of hosts that have moved
 * since. */
int nt_cluster_tiers_find(const struct nt_evidence *evidence, const struct nt_classes *classes,
                          const bool *ignored, struct nt_cluster_tiers *out, struct nt_err *err);
/* Returns the lowest level at which two hosts are in one cluster. */
size_t nt_cluster_tiers_level(const struct nt_cluster_tiers *tiers, uint32_t a, uint32_t b);
void nt_cluster_tiers_fini(struct nt_cluster_tiers *tiers);

#endif
