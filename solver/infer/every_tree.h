/* Few branches: all trees that can join them, each with its posterior probability.
 *
 * Up to eight branches have at most 39,208 trees without switches of two links, so nothing has to
 * be guessed: every tree is fitted by least squares, the noise and the lengths of the links are
 * integrated out, and readings that are wrong are a hypothesis of their own. Knows no hosts: a
 * branch is a host, or all that hangs on one link of a switch. */
#ifndef NT_INFER_EVERY_TREE_H
#define NT_INFER_EVERY_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum {
    NT_EVERY_LEAST = 3,
    NT_EVERY_MOST = 8,
    NT_EVERY_SPLITS = NT_EVERY_MOST - 3, /* inner links of a tree, at the most */
    NT_EVERY_WRONG = 3                   /* readings that may be wrong, at the most */
};

struct nt_every_input {
    size_t branches;
    /* branches^2, symmetric, us; NaN: not measured, and on the diagonal. variance: of each, in
     * units of that of one reading of the middle latency. */
    double d[NT_EVERY_MOST * NT_EVERY_MOST], variance[NT_EVERY_MOST * NT_EVERY_MOST];
    /* What is known of the relative noise before: scaled inverse chi-squared, df 0: only what is
     * usual. */
    double noise, noise_df;
    double repeats; /* relative: noise that readings of a pair have among themselves, 0: unknown */
    double least;   /* relative: what a grid of readings hides; the noise is not below */
    double none;    /* share of such branches that hang on one switch, all of them */
    double level;   /* us: the middle latency, the unit of everything; 0: that of the readings */
};

/* A split parts the branches in two; mask: the side without branch 0. The splits of one tree do
 * not cross. */
struct nt_every_result {
    size_t splits; /* those that more than half of the probability has */
    uint8_t split[NT_EVERY_SPLITS];
    double branch_us[NT_EVERY_MOST], split_us[NT_EVERY_SPLITS]; /* by least squares */
    double support[NT_EVERY_SPLITS]; /* posterior probability of each, over all trees */
    double posterior;                /* of the whole tree */
};

/* *solved: false when too few readings tell all branches; then out is not set. */
int nt_every_tree(const struct nt_every_input *in, bool *solved, struct nt_every_result *out,
                  struct nt_err *err);

#endif
