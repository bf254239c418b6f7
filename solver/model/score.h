/* SPDX-License-Identifier: Apache-2.0 */
/* The score of a chain of partitions: ln p(readings | chain), in O(hosts * tiers) per evaluation.
 *
 * Model, in units of the median reading (pairs.h). A pair's latency is the sum of the links on its
 * way through the tree of the chain, and each link's length is that of its kind plus a deviation:
 *
 *     y_ij = sum of x_v over the links v on the way + e_ij     e_ij ~ N(0, s^2 / w_class)
 *     x_v  = b / 2 (hosts) + sum of t_k / 2 over the tiers k that it stands for + D (second
 *            population of hosts) + N(0, T_h^2 (hosts) + T_d^2 per tier)
 *     b ~ N(1, 1), t_k > 0 half normal, D normal; T_h, T_d by Student's distribution of their
 *     logarithm; s log-normal around the noise that readings of the same pairs show, or by
 * Student's distribution, too, if there are none
 *
 * (on top, for a host that is far: N(0, F^2)), so that links of one tier are similar, and no link
 * between switches is shorter than 0. A flat
 * group (chain.h) has no link. A pair may be an outlier: it is then left out, has a
 * density of the upper tail, or a uniform one if it is too low, and the price of a Beta prior of
 * their rate.
 *
 * Method. With x the node vector, X'WX + L is the normal matrix, L = diag(s^2 / variance of x_v).
 * Two nodes without a common host have the entry w |u||v|, w the weight of the class in which
 * they meet; a node in another has |u| R_v, with R_v the weight of all hosts outside v. Elimination
 * from the leaves to the root needs one scalar per node: with M_p = Z_p + R_p x_p + w_p (sum of S
 * of p's children), S_v the sum of the hosts' ways up to v's link, all children of p see M_p alone.
 * b, t and D are prior means, U g, and follow from the small Schur complement
 * U'L U - U'L (X'WX + L)^-1 L U, which does not cancel. s is integrated in one dimension, since
 * the matrix depends on T_h / s and T_d / s only. Outliers and missing pairs are a downdate of
 * low rank (Woodbury); beyond NT_SCORE_DOWNDATES pairs conjugate gradients that the tree's own
 * solution preconditions, and the determinant at the mean weight of each class. */
#ifndef NT_SCORE_H
#define NT_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chain.h"
#include "err.h"
#include "memory.h"
#include "pairs.h"

enum {
    NT_SCORE_MEANS = 2 + NT_TIERS_MAX, /* b, t_k, D */
    NT_SCORE_COLUMNS = 1 + NT_SCORE_MEANS,
    NT_SCORE_DOWNDATES = 80, /* their cubic part then costs as much as some solutions */
    NT_RATIOS = 9, /* T / s from 0.16 to 244: below, T cannot be seen; above, it is free */
};

/* Ratios T / s are RATIO_LEAST * RATIO_STEP^index; the index may lie between integers. */
struct nt_score_place {
    double ends, links;
};

double nt_score_ratio(double place); /* T / s at an index */

/* A pair whose weight is not the weight of its class. */
struct nt_score_odd {
    uint32_t a, b;
    double lack; /* 1 - weight */
};

/* What a chain's evaluation at one place gives. */
struct nt_score_value {
    double log_likelihood;       /* with the priors of T_h, T_d and s, without outliers and chain */
    double sd;                   /* s, relative */
    double mean[NT_SCORE_MEANS]; /* b - 1, t_k, D at the mode */
    double variance[NT_SCORE_MEANS]; /* of them */
};

/* A pair that is left out: an entry in the row of its host that comes first. */
struct nt_outlier {
    uint32_t host;
    size_t entry;
};

struct nt_outliers {
    struct nt_outlier *at;
    size_t count, room;
};

struct nt_score; /* a chain with its sums, and room for evaluations */

int nt_score_create(const struct nt_pairs *pairs, struct nt_score **out, struct nt_err *err);
void nt_score_destroy(struct nt_score *score);

/* Settings that hold until they are changed: the exponent of weights (w_class = mean reading of the
 * class ^ (-2 power)), and the hosts of the second population (NULL: none; copied). */
void nt_score_set_power(struct nt_score *score, double power);
void nt_score_allow_low(struct nt_score *score); /* readings may be too low, too */
void nt_score_set_population(struct nt_score *score, const bool *second);
/* Hosts (copied) whose ends have a standard deviation of their own on top, ratio times s. */
void nt_score_set_far(struct nt_score *score, const bool *far, double ratio);
/* The host that is not far and has the longest link, if that is over the links of most hosts by
 * three standard deviations of an end or more; else UINT32_MAX. longer[hosts]: by how much each
 * host's link is longer than a half of the scale, by the median of its readings, outliers too.
 * place, sd: those of the last evaluation. O(readings). */
uint32_t nt_score_farthest(struct nt_score *score, struct nt_score_place place, double sd,
                           double *longer);

/* Sets a canonical chain: its tree and its sums, from the readings within groups of its highest
 * tier: O(readings) at most. */
void nt_score_set_chain(struct nt_score *score, const struct nt_chain *chain);

/* The same for a chain that differs from base (set before by nt_score_set_base) only in the labels
 * of hosts moved[count]: O(count * hosts), or O(count^2) if only pairs within them change classes.
 */
void nt_score_set_base(struct nt_score *score, const struct nt_chain *base);
void nt_score_set_moved(struct nt_score *score, const struct nt_chain *chain, const uint32_t *moved,
                        size_t count, bool within);

/* One evaluation, with the outliers as they are. */
double nt_score_evaluate(struct nt_score *score, struct nt_score_place place,
                         struct nt_score_value *value);

/* ln of the sum over the grid of places, approximated along the two axes through its maximum, which
 * is searched from *place and left there. */
double nt_score_integrate(struct nt_score *score, struct nt_score_place *place,
                          struct nt_score_value *value);

/* The same with outliers: pairs are taken out and back while that pays, at the place given.
 * Includes their densities and price. The outliers stay as they are found. */
double nt_score_full(struct nt_score *score, struct nt_score_place *place,
                     struct nt_score_value *value);

/* The same, and with few pairs once more from where all that are far over the middle of their class
 * are out: outliers hide each other, since they widen the noise. */
double nt_score_thorough(struct nt_score *score, struct nt_score_place *place,
                         struct nt_score_value *value);

/* nt_score_evaluate with the densities and price of the outliers as they are, what it would bring
 * to take some back as it seems before the fit follows, and readings of host *moved taken out while
 * that pays (NULL: none). The outliers are then as before. */
double nt_score_quick(struct nt_score *score, struct nt_score_place place, const uint32_t *moved,
                      struct nt_score_value *value);

/* Leaves out these pairs and no others. Sums change when a chain is set. */
void nt_score_set_off(struct nt_score *score, const struct nt_outliers *off);
/* Keeps those of a list that are over their mean at the last evaluation. */
void nt_score_keep_high(struct nt_score *score, struct nt_outliers *list);
void nt_outliers_copy(struct nt_outliers *to, const struct nt_outliers *from,
                      struct nt_arena *memory);

/* What a score has; the same addresses as long as it lives. */
struct nt_score_fit {
    const struct nt_outliers *outliers; /* pairs that are left out, */
    const bool *off;                    /*   and whether each entry of pairs->entry is */
    const struct nt_chain_tree *tree;
    const double *weight; /* of each class */
    const double *length; /* nodes, by the last evaluation: of links; a host's without its half of
                             the scale */
};
struct nt_score_fit nt_score_fit(const struct nt_score *score);

/* The sums of lengths from each host to the class c ([host * NT_CHAIN_CLASSES + c]); borrowed. */
const double *nt_score_ways(struct nt_score *score);

/* Standard errors of the lengths of nodes, relative; nodes of them. O(nodes^2). */
void nt_score_errors(struct nt_score *score, const struct nt_score_value *value, double *error);

#endif
