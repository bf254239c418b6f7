/* SPDX-License-Identifier: Apache-2.0 */
/* The steps from a matrix of latencies to a model, which infer.c calls. Private to infer/, but for
 * fleet/cluster_network.c.
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
    double scale, power; /* sd(level) = scale * level^power, power 0..1 */
    double least;        /* relative: what a grid of readings hides */
    bool known;          /* from readings of the same pairs, or their standard errors */
};

static inline double nt_noise_sd(const struct nt_noise *noise, double level)
{
    return noise->scale * pow(level > 1e-12 ? level : 1e-12, noise->power);
}

/* The readings of a matrix, as the search for graphs and the fit of links use them; trees take them
 * as a list (pairs.h). */
struct nt_work {
    struct nt_arena memory;        /* of the arrays, unless they are borrowed */
    size_t n;                      /* hosts with at least one measurement */
    uint32_t *host;                /* n: their indices in the input */
    float *d;                      /* n*n symmetric, us; NaN: not measured, and on the diagonal */
    float *weight;                 /* n*n: of each reading, nt_work_weigh; NULL: all 1 */
    bool directions;               /* some pair has two different readings */
    bool holes;                    /* some pair is not measured */
    size_t pairs;                  /* measured */
    const struct nt_matrix *error; /* of hosts of the input, nt_min_latency_error; borrowed; NULL:
                                      not known */
    struct nt_noise noise;
    struct nt_rng rng;
};

/* ---- infer.c ---- */

/* Symmetric values of m->n hosts: of both directions the smaller, for noise mostly adds. */
void nt_work_fill(struct nt_work *w, const struct nt_matrix *m);
/* Leaves those of n hosts of which anything was measured. */
void nt_work_drop_missing(struct nt_work *w, size_t n, bool *missing);

/* Noise from the four-point condition (Buneman 1971): of the three sums of a quartet the two
 * largest are equal in any tree with any host offsets. Hosts near in the order are near. */
void nt_noise_estimate(const float *d, size_t n, const struct nt_rng *rng, struct nt_noise *noise);

/* Fills shape, supports (probability of links between switches), confidence and first figures.
 * shortcuts: the residuals have a structure that no hierarchy explains. noise: of a pair.
 * evidence: ln p(readings, the best hierarchy). */
int nt_tiers_model(struct nt_pairs *readings, struct nt_model **out, struct nt_noise *noise,
                   double *evidence, struct nt_err *err);

/* ---- additive.c ---- */

/* Computed readings, as a simulation writes them, equal the distances in a tree to the last digit.
 * Only one tree has these distances (Buneman 1971).
 *
 The tree whose distances are the readings of w, with switches of three links and more; *out NULL:
 * there is none, some pair was not measured, or noisy readings could agree with a tree by chance.
 * hosts: of the input. The caller destroys *out. */
int nt_additive_find(const struct nt_work *w, size_t hosts, struct nt_model **out,
                     struct nt_err *err);

/* ---- links.c ---- */

/* Fills latency_us, latency_se_us (NaN where no degree of freedom is left), r2, rms_us,
 * resolution_us (of one pair of readings, see nt_resolution_state) and pair_off of a model whose
 * links form a tree, from all readings of w by their weights. */
int nt_links_fit(const struct nt_work *w, struct nt_model *model, struct nt_err *err);

/* ---- switch_graph.c ---- */

/* Replaces the tree by a graph of switches, or of hosts that are linked to each other, if that is
 * likelier by the same score; else the chance of one lowers the confidence. */
int nt_switch_graph_judge(const struct nt_work *w, const struct nt_pairs *readings, double evidence,
                          struct nt_model **model, struct nt_err *err);

/* ---- merge_sizes.c ---- */

/* Takes out links between switches, gone[k] for link k: their ends become one switch, and what is
 * on the side of the lower tier gets longer by the link. */
int nt_regroup_contract(struct nt_model **model, const bool *gone, struct nt_err *err);

/* ---- dragonfly.c ---- */

/* Dragonflies (J. Kim, W. Dally, S. Scott, D. Abts, ISCA 2008) from latencies under minimal
 * routing.
 *
 * Routers are the sets of hosts that a tree has on one switch. What their distance exceeds that of
 * two hosts of one router by has one local link between routers of a group, and between groups a
 * global link with a local one before or behind it where the router has none to that group. So the
 * nearest other routers form a graph; its links that share neighbours make the groups, which must
 * be cliques, and between each two groups the nearest routers have the global links. Taken where
 * all pairs of groups are joined and the distances of router pairs are what these links add up to;
 * adaptive routing, or a job with one router a group, does not show that, and the network stays
 * what it was.
 *
 * model: one that does not fit the readings: a tree with shortcuts, an irregular graph, or one that
 * is undetermined; any other stays as it is. Replaced by a dragonfly if the readings fit one:
 * dimension[] are groups, routers per group and hosts per router, at most as many as were seen. A
 * failure leaves it. */
int nt_dragonfly_try(const struct nt_matrix *latency, struct nt_model **model, struct nt_err *err);

#endif
