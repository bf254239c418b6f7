/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of inference that infer.c calls, from a matrix of latencies to a model. Private to
 * infer/, except for fleet/cluster_network.c.
 * Tests: test_infer_direct.c, test_additive.c, test_infer_properties.c, test_tiers.c. */
#ifndef NT_INFER_STEPS_H
#define NT_INFER_STEPS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "memory.h"
#include "model.h"
#include "pairs.h"
#include "rng.h"

struct nt_noise {
    double scale, power; /* sd(level) = scale * level^power in us, power 0..1 */
    double least;        /* relative: the smallest noise that quantised readings can show */
    bool known;          /* from repeated readings of pairs, or their standard errors */
};

static inline double nt_noise_sd(const struct nt_noise *noise, double level)
{
    return noise->scale * pow(level > 1e-12 ? level : 1e-12, noise->power);
}

/* The readings of a matrix as the search for graphs and the fit of links use them. The tier model
 * takes a list (pairs.h). */
struct nt_work {
    struct nt_arena memory; /* owns the arrays, unless they are borrowed */
    size_t n;               /* hosts with at least one measurement */
    uint32_t *host;         /* n indices in the input */
    float *d;               /* n*n, symmetric, us; NaN: not measured, and the diagonal */
    float *weight;          /* n*n weights of the readings (nt_work_weigh); NULL: all 1 */
    bool directions;        /* some pair has different readings per direction */
    bool holes;             /* some pair was not measured */
    size_t pairs;           /* number of measured pairs */
    /* nt_min_latency_error of the hosts of the input; borrowed; NULL: unknown */
    const struct nt_matrix *error;
    struct nt_noise noise;
    struct nt_rng rng;
};

/* ---- infer.c ---- */

/* Fills d from m: the smaller value of both directions, since noise mostly adds. */
void nt_work_fill(struct nt_work *w, const struct nt_matrix *m);
/* Removes the hosts among n that have no measurement, and marks them in missing. */
void nt_work_drop_missing(struct nt_work *w, size_t n, bool *missing);

/* Estimates the noise by the four-point condition (Buneman 1971): of the three sums of a quartet
 * the two largest are equal in any tree. Neighbours in the order of hosts are near each other. */
void nt_noise_estimate(const float *d, size_t n, const struct nt_rng *rng, struct nt_noise *noise);

/* Makes the model of the best tree: shape, supports (probabilities of links between switches),
 * confidence and first latencies. Sets shortcuts if the residuals have a structure that no
 * hierarchy explains. noise: of a pair. evidence: ln p(readings) over all trees. The caller frees
 * *out. */
int nt_tiers_model(struct nt_pairs *readings, struct nt_model **out, struct nt_noise *noise,
                   double *evidence, struct nt_err *err);

/* ---- additive.c ---- */

/* Simulated readings without noise equal the distances in a tree to the last digit. Only one tree
 * has these distances (Buneman 1971).
 *
 * Finds the tree, with switches of three or more links, whose distances are the readings of w. The
 * result *out is NULL if there is none, if some pair was not measured, if readings have standard
 * errors, or if noisy readings could agree with a tree by chance. hosts: of the input. The caller
 * destroys *out. */
int nt_additive_find(const struct nt_work *w, size_t hosts, struct nt_model **out,
                     struct nt_err *err);

/* ---- links.c ---- */

/* Unknowns of a fit from which its standard errors take too long. */
enum { NT_UNKNOWNS_MAX = 1500 };

/* Fits the links of a model that is a tree to all readings of w by their weights. Sets latency_us,
 * latency_se_us (NaN without degrees of freedom), r2, rms_us, pair_off and resolution_us (of one
 * pair of readings, see nt_resolution_lower). */
int nt_links_fit(const struct nt_work *w, struct nt_model *model, struct nt_err *err);

/* ---- switch_graph.c ---- */

/* Replaces the tree by a graph of switches, or of hosts that are linked to each other, if its score
 * is better; else the probability of a graph lowers the confidence. */
int nt_switch_graph_judge(const struct nt_work *w, const struct nt_pairs *readings, double evidence,
                          struct nt_model **model, struct nt_err *err);

/* ---- merge_sizes.c ---- */

/* Removes links between switches, gone[k] for link k. Both ends become one switch, and links on the
 * side of the lower tier become longer by the link. */
int nt_regroup_contract(struct nt_model **model, const bool *gone, struct nt_err *err);

/* ---- dragonfly.c ---- */

/* Finds dragonflies (J. Kim, W. Dally, S. Scott, D. Abts, ISCA 2008) from latencies under minimal
 * routing.
 *
 * Routers are the sets of hosts that a tree has on one switch. Within a group, the distance of two
 * routers exceeds that of two hosts of one router by one local link. Between groups it is a global
 * link, with a local link before or after it if the router has no global link to the other group.
 * So the nearest routers form a graph. Links with common neighbours make its groups, which must be
 * cliques; the global link between two groups joins their nearest routers. The dragonfly is
 * accepted if all pairs of groups are joined and these links add up to the distances of all
 * routers. Adaptive routing, or a job with one router per group, does not show this, and the model
 * is unchanged.
 *
 * model: only a model that does not fit the readings is replaced: a tree with shortcuts, an
 * irregular graph, or an undetermined network. dimension[] of the dragonfly are groups, routers per
 * group and hosts per router, as far as the job shows them. Unchanged after an error. */
int nt_dragonfly_try(const struct nt_matrix *latency, struct nt_model **model, struct nt_err *err);

#endif
