/* SPDX-License-Identifier: Apache-2.0 */
/* Few branches: all trees that can join them, each with its posterior probability.
 *
 * Up to eight branches have at most 39,208 trees without switches of two links, so no search is
 * needed: every tree is fitted by least squares, the noise and the lengths of the links are
 * integrated out, and readings that are wrong are a hypothesis of their own. Works on branches: a
 * branch is a host, or all that is attached to one link of a switch.
 * Tests: test_few_hosts.c. */
#ifndef NT_INFER_TREE_POSTERIOR_H
#define NT_INFER_TREE_POSTERIOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum {
    NT_TREE_POSTERIOR_MIN = 3,
    NT_TREE_POSTERIOR_MAX = 8,
    NT_TREE_POSTERIOR_SPLITS = NT_TREE_POSTERIOR_MAX - 3, /* inner links of a tree, at the most */
    NT_TREE_POSTERIOR_WRONG = 3 /* readings that may be wrong, at the most */
};

struct nt_tree_posterior_input {
    size_t branches;
    /* branches^2, symmetric, us; NaN: not measured, and on the diagonal. variance: of each, in
     * units of that of one reading of the middle latency. */
    double d[NT_TREE_POSTERIOR_MAX * NT_TREE_POSTERIOR_MAX],
        variance[NT_TREE_POSTERIOR_MAX * NT_TREE_POSTERIOR_MAX];
    /* What is known of the relative noise before: scaled inverse chi-squared, df 0: only what is
     * usual. */
    double noise, noise_df;
    double repeats; /* relative: noise that readings of a pair have among themselves, 0: unknown */
    double least;   /* relative: what a grid of readings hides; the noise is not below */
    double none;    /* share of such networks in which all branches are on one switch, */
    double alike;   /* and of the others, those whose inner links are all as long */
    double level;   /* us: the middle latency, the unit of everything; 0: that of the readings */
};

/* A split parts the branches in two; mask: the side without branch 0. The splits of one tree do
 * not cross. */
struct nt_tree_posterior_result {
    size_t splits; /* those that more than half of the probability has */
    uint8_t split[NT_TREE_POSTERIOR_SPLITS];
    double branch_us[NT_TREE_POSTERIOR_MAX],
        split_us[NT_TREE_POSTERIOR_SPLITS];   /* by least squares */
    double support[NT_TREE_POSTERIOR_SPLITS]; /* posterior probability of each, over all trees */
    double posterior;                         /* of the whole tree */
};

/* *solved: false when the readings do not determine all branches; then out is not set. */
int nt_tree_posterior(const struct nt_tree_posterior_input *in, bool *solved,
                      struct nt_tree_posterior_result *out, struct nt_err *err);

#endif
