/* SPDX-License-Identifier: Apache-2.0 */
/* The score of a chain of partitions: ln p(readings | chain), in O(hosts * tiers) per evaluation.
 *
 * Model, in units of the median reading (pairs.h). The latency of a pair is the sum of the links on
 * its path through the tree of the chain. The length of a link is that of its kind plus a
 * deviation:
 *
 *     y_ij = sum of x_v over the links v on the path + e_ij     e_ij ~ N(0, s^2 / w_class)
 *     x_v  = b / 2 (hosts) + sum of t_k / 2 over the tiers k that the link spans
 *            + D (second population of hosts) + N(0, T_h^2 (hosts) + T_d^2 per tier)
 *            + N(0, F^2) (far hosts)
 *     b ~ N(1, 1), t_k > 0 half normal, D normal; ln T_h, ln T_d by Student's distribution;
 *     s log-normal around the noise that repeated readings show, by Student's without these
 *
 * So links of one tier have similar lengths, and no link between switches is shorter than 0. A flat
 * group (chain.h) has no link. A pair can be an outlier: then its residual is left out, and it
 * contributes the density of the upper tail, or a uniform density if it is too low, and a Beta
 * prior of the rate of outliers.
 *
 * Method. With x the vector of nodes, the normal matrix is X'WX + L, L = diag(s^2 / variance of
 * x_v). Two nodes without a common host have the entry w |u||v|, with w the weight of the class at
 * which they meet. For a node u inside v the entry is |u| R_v, with R_v the weight of all hosts
 * outside v. Elimination from the leaves to the root needs one scalar per node: with M_p = Z_p +
 * R_p x_p + w_p (sum of S of p's children), where S_v is the sum of the hosts' path lengths up to
 * the link of v, all children of p depend on M_p alone. b, t and D are prior means, U g. They
 * follow from the small Schur complement U'L U - U'L (X'WX + L)^-1 L U, which has no cancellation.
 * s is integrated in one dimension, since the matrix depends on T_h / s and T_d / s only. Outliers
 * and missing pairs are a downdate of low rank (Woodbury). For more than NT_SCORE_DOWNDATES pairs,
 * conjugate gradients are used, preconditioned by the solution of the tree, with the determinant at
 * the mean weight of each class. */
#ifndef NT_SCORE_H
#define NT_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chain.h"
#include "err.h"
#include "memory.h"
#include "pairs.h"
#include "places.h"

enum {
    NT_SCORE_MEANS = 2 + NT_TIERS_MAX, /* b, t_k, D */
    NT_SCORE_COLUMNS = 1 + NT_SCORE_MEANS,
    NT_SCORE_DOWNDATES = 80, /* then their cubic cost equals that of a few solutions */
};

/* The least gain in ln odds for which a chain is replaced or a pair is left out. Smaller gains lead
 * to a random walk. */
#define NT_SCORE_WORTH 0.01

/* A pair whose weight differs from the weight of its class. */
struct nt_score_odd {
    uint32_t a, b;
    double lack; /* 1 - weight */
};

/* The result of one evaluation of a chain. */
struct nt_score_value {
    /* With the priors of T_h, T_d and s, without those of outliers and of the chain */
    double log_likelihood;
    double sd;                       /* s, relative */
    double mean[NT_SCORE_MEANS];     /* b - 1, t_k, D at the mode */
    double variance[NT_SCORE_MEANS]; /* of mean */
};

/* A pair that is left out: an entry in the row of its first host. */
struct nt_outlier {
    uint32_t host;
    size_t entry;
};

struct nt_outliers {
    struct nt_outlier *at;
    size_t count, room;
};

struct nt_score; /* a chain with its sums and working memory for evaluations */

int nt_score_create(const struct nt_pairs *pairs, struct nt_score **out, struct nt_err *err);
void nt_score_destroy(struct nt_score *score);

/* These settings hold until they are changed: the exponent of weights (w_class = mean reading of
 * the class ^ (-2 power)), and the hosts of the second population (NULL: none; copied). */
void nt_score_set_power(struct nt_score *score, double power);
void nt_score_allow_low(struct nt_score *score); /* readings can also be too low */
void nt_score_set_population(struct nt_score *score, const bool *second);
/* Hosts (copied) whose ends have an additional standard deviation, ratio times s. */
void nt_score_set_far(struct nt_score *score, const bool *far, double ratio);
/* The host with the longest link among those that are not far, if its link exceeds most hosts'
 * links by at least three standard deviations of an end; else UINT32_MAX. longer[hosts]: how much
 * each host's link exceeds half of the scale, by the median of all its readings. place, sd: of the
 * last evaluation. O(readings). */
uint32_t nt_score_farthest(struct nt_score *score, struct nt_score_place place, double sd,
                           double *longer);

/* Sets a canonical chain: computes its tree, and its sums from the readings within the groups of
 * its highest tier, at most O(readings). */
void nt_score_set_chain(struct nt_score *score, const struct nt_chain *chain);

/* As above for a chain that differs from the base (nt_score_set_base) only in the labels of the
 * hosts moved[count]: O(count * hosts), or O(count^2) if only pairs within them change classes. */
void nt_score_set_base(struct nt_score *score, const struct nt_chain *base);
void nt_score_set_moved(struct nt_score *score, const struct nt_chain *chain, const uint32_t *moved,
                        size_t count, bool within);

/* Evaluates the chain once with the current outliers. */
double nt_score_evaluate(struct nt_score *score, struct nt_score_place place,
                         struct nt_score_value *value);

/* Sets *place near the maximum: to a point of the grid, or (fine) between these points. The search
 * starts from *place. Returns the most by which ln of the sum exceeds the value there. */
double nt_score_locate(struct nt_score *score, struct nt_score_place *place, bool fine);

/* ln of the sum over all places of the grid, approximated along the two axes through its maximum.
 * The search for the maximum starts from *place, and *place is set to it. */
double nt_score_integrate(struct nt_score *score, struct nt_score_place *place,
                          struct nt_score_value *value);

/* As above, and also searches the outliers: pairs are removed and added while that increases the
 * score at this place. Includes their densities and prior. The outliers remain set. */
double nt_score_full(struct nt_score *score, struct nt_score_place *place,
                     struct nt_score_value *value);

/* As above. With few pairs it searches again, starting without all readings far above the middle of
 * their class, since outliers widen the noise and so hide each other. */
double nt_score_thorough(struct nt_score *score, struct nt_score_place *place,
                         struct nt_score_value *value);

/* As nt_score_evaluate, with the densities and prior of the current outliers. Adds the estimated
 * gain of taking some back before the fit follows, and of leaving out readings of the hosts
 * moved[count] while that helps. Restores the outliers. */
double nt_score_quick(struct nt_score *score, struct nt_score_place place, const uint32_t *moved,
                      size_t count, struct nt_score_value *value);

/* Leaves out exactly these pairs. The sums change when the next chain is set. */
void nt_score_set_off(struct nt_score *score, const struct nt_outliers *off);
/* Keeps the pairs of a list that are above their mean at the last evaluation. */
void nt_score_keep_high(struct nt_score *score, struct nt_outliers *list);
void nt_outliers_copy(struct nt_outliers *to, const struct nt_outliers *from,
                      struct nt_arena *memory);

/* The results of a score; the addresses are constant during its lifetime. */
struct nt_score_fit {
    const struct nt_outliers *outliers; /* pairs that are left out */
    const bool *off;                    /* per entry of pairs->entry: it is left out */
    const struct nt_chain_tree *tree;
    const double *weight; /* per class */
    /* Per node: length of its link at the last evaluation; for hosts without half of the scale */
    const double *length;
};
struct nt_score_fit nt_score_fit(const struct nt_score *score);

/* Sums of lengths from each host up to class c ([host * NT_CHAIN_CLASSES + c]); borrowed. */
const double *nt_score_path_lengths(struct nt_score *score);

/* Writes the standard errors of the lengths of all nodes, relative, to error[nodes]. O(nodes^2). */
void nt_score_errors(struct nt_score *score, const struct nt_score_value *value, double *error);

#endif
