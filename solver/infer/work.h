/* SPDX-License-Identifier: Apache-2.0 */
/* The working state of the stages of nt_infer_latency; private to infer/.
 *
 * Model of a measured pair: d(i,j) = offset(i) + offset(j) + T(group(i), group(j)) + noise, with a
 * noise sd of scale * level^power. A group is the set of hosts behind one switch, an offset the
 * host's own link; T is zero inside a group and adds up along the switches between two.
 * Tests: test_infer_direct.c. */
#ifndef NT_INFER_WORK_H
#define NT_INFER_WORK_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"
#include "rng.h"

struct nt_noise {
    double scale, power; /* sd(level) = scale * level^power, power 0..1 */
    double prior;        /* relative sd that is assumed where the data cannot tell */
    double repeats;      /* relative sd of a pair's reading as repeats show it, 0: unknown */
    double flatter;      /* power is at most 1 less this, as repeats show it */
    double df;           /* degrees of freedom behind scale */
    double least;        /* scale never goes below: what a grid of readings hides */
};

static inline double nt_noise_sd(const struct nt_noise *noise, double level)
{
    return noise->scale * pow(level > 1e-12 ? level : 1e-12, noise->power);
}

enum { NT_WEAK_SIZES = 32 };

struct nt_work {
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

    size_t groups;
    uint32_t *group;  /* n */
    uint32_t *start;  /* n+1: groups+1 used */
    uint32_t *member; /* n: hosts by group */
    float *offset;    /* n, us */
    bool *weak;       /* groups: outliers could make it, or it is one host */
    double low_share, usual_size,
        noise_share;      /* what weak was judged by, see false_group_probability.c */
    double low_part;      /* see nt_false_low_part(); set by nt_support() */
    float *t;             /* groups*groups, us; NaN: no pair measured */
    float *sd;            /* groups*groups, us: noise of one pair between two groups */
    float *profile;       /* n*groups: middle of d(i,k)-offset(k) over members k; NaN: none */
    uint32_t *fitted;     /* n: group of each host when t and profile were fitted last */
    size_t fitted_groups; /* 0: never */
};

static inline size_t nt_work_size(const struct nt_work *w, size_t g)
{
    return w->start[g + 1] - w->start[g];
}

/* The relative sd below which no difference counts, at the usual level. */
static inline double nt_noise_least(const struct nt_work *w)
{
    double level = 2 * (double)(w->n > 0 ? w->offset[0] : 0);
    return level > 0 ? w->noise.least * pow(level, w->noise.power - 1) : w->noise.least;
}

/* ---- work_readings.c ---- */

/* Above 0, and no more than texts may bring. */
bool nt_work_usable(float v);
/* Symmetric values of m->n hosts: of both directions the smaller, for noise mostly adds. */
void nt_work_fill(struct nt_work *w, const struct nt_matrix *m);
/* Leaves those of n hosts of which anything was measured. */
void nt_work_drop_missing(struct nt_work *w, size_t n, bool *missing);
/* For figures both directions count: half a round trip is their mean. Where they differ by more
 * than noise explains, one of them is a bad reading, and the smaller stays. */
void nt_work_mean_of_directions(struct nt_work *w, const struct nt_matrix *m);
/* Fills weight: a pair's only reading that was disturbed by its own account, with a standard error
 * well above the noise, weighs less. Up to 64 hosts, and for what the links' figures say. */
int nt_work_weigh(struct nt_work *w, struct nt_err *err);

/* ---- linkage.c: average linkage ---- */

struct nt_linkage_step {
    uint32_t a, b; /* nodes: below n hosts, n+k the k-th merge */
};

/* Average linkage by nearest-neighbour chains (Murtagh 1983; Benzecri 1982), O(n^2). distance:
 * n rows of stride values, symmetric, destroyed, INFINITY where nothing is known; it is also read
 * by columns, which wants a stride that is no power of two (see nt_linkage_stride). counts: of the
 * same shape, measurements behind each distance, destroyed, or NULL: all one. merges: n-1. */
int nt_linkage(size_t n, float *distance, size_t stride, uint16_t *counts,
               struct nt_linkage_step *merges, struct nt_err *err);
/* Values of a column would share a few cache lines where rows are a power of two apart. */
static inline size_t nt_linkage_stride(size_t n)
{
    return n < 256 ? n : (n | 63) + 17;
}

/* Node v of a dendrogram covers order[first .. first+size). */
struct nt_node {
    uint32_t a, b, size, first;
    double between, between_count; /* clipped sum over the pairs that it joins */
    double within, within_count;   /* over all pairs below it */
    float middle;                  /* of the pairs that it joins, NaN: none measured */
};

/* nodes: 2n-1, order: n. */
void nt_dendrogram(size_t n, const struct nt_linkage_step *merges, struct nt_node *nodes,
                   uint32_t *order);

/* Sums of the nodes; d is in dendrogram order, row length stride. Values between are clipped at
 * 3 sd around their middle (one retransmit moves a mean), and the middle of a handful of pairs
 * is held near that of the node above: one low outlier makes no switch. */
int nt_dendrogram_sums(size_t n, const float *d, size_t stride, const struct nt_noise *noise,
                       struct nt_node *nodes, struct nt_err *err);

/* Contrast free of host offsets in units of its sd: the mean of the values between minus the mean
 * inside, which is half of each side's where there are two sides. */
struct nt_inside {
    double sum, count;
};
double nt_contrast(const struct nt_noise *noise, struct nt_inside between, struct nt_inside a,
                   struct nt_inside b);

/* ---- null_distribution.c: what linkage finds in noise ---- */

/* The contrast that one in a thousand networks of pure noise exceeds when the best of exp(ln_ways)
 * ways to part it is taken, with a noise that was estimated with df degrees of freedom. */
double nt_null_distribution_limit(double ln_ways, double df);
/* ln of the number of ways to take k out of n. */
double nt_ln_choose(size_t n, size_t k);

/* ---- noise.c ---- */

/* Noise from the four-point condition (Buneman 1971): of the three sums of a quartet the two
 * largest are equal in any tree with any host offsets. Hosts near in the order are near. */
void nt_noise_estimate(const float *d, size_t n, const struct nt_rng *rng, struct nt_noise *noise);
/* repeats_noise.c: prior, repeats and flatter, from the standard errors of the readings; NULL, or
 * of many hosts: nothing is changed. */
void nt_noise_of_repeats(const struct nt_matrix *m, const struct nt_matrix *se,
                         struct nt_noise *noise);

/* ---- impute.c ---- */

/* Raises in d, a copy of the readings in rows of stride values, those that are far too low for what
 * the neighbours of both hosts say. Needs a noise. */
int nt_impute(const struct nt_work *w, float *d, size_t stride, struct nt_err *err);

/* ---- groups.c ---- */

/* Renumbers group[] to 0..groups-1 by first member, fills start and member. */
void nt_groups_index(struct nt_work *w);
/* Offsets and T by alternating medians. Allocates t and profile for the present groups. Of many
 * hosts only the groups are fitted that have other members than at the last fit. */
int nt_groups_fit(struct nt_work *w, int passes, struct nt_err *err);
/* With few hosts the medians converge slowly, and a pass costs little. */
enum { NT_WORK_FEW = 300 };
static inline int nt_work_passes(const struct nt_work *w)
{
    return w->n <= NT_WORK_FEW ? 4 : 2;
}
/* Raises (or, sharpen, also lowers) the noise to the spread of the residuals. */
int nt_groups_noise(struct nt_work *w, bool sharpen, struct nt_err *err);
static inline float nt_work_predict(const struct nt_work *w, size_t i, size_t j)
{
    return w->offset[i] + w->offset[j] + w->t[w->group[i] * w->groups + w->group[j]];
}

/* ---- false_group_probability.c ---- */

/* Fills weak from the outliers of the present fit. */
int nt_false_groups_mark(struct nt_work *w, struct nt_err *err);
/* Share of readings between groups that are far too low for their groups' other pairs: those are
 * wrong, for hosts of different switches have no way that short. *pairs: looked at. */
double nt_false_low_share(const struct nt_work *w, double *pairs);

/* The same for all groups, of pairs that the fit is not made by: the share that is below it by
 * depth_us and by four standard deviations. */
double nt_low_share(const struct nt_work *w, double depth_us);
/* The part of the latency in which the false low readings lie: twice their mean depth, which so
 * many hosts tell; up to 1, as few do. */
double nt_false_low_part(const struct nt_work *w);
/* Pairs among m < NT_WEAK_SIZES hosts that agree with each other, offsets removed. */
size_t nt_agreeing_pairs(const struct nt_work *w, const uint32_t *hosts, size_t m);
/* How many groups of m hosts with as many agreeing pairs chance would make. */
double nt_false_groups_expected(const struct nt_work *w, size_t m, size_t agreeing);
/* Whether chance explains as many as were seen. */
bool nt_false_groups_explain(double expected, size_t seen);

/* ---- outlier_host.c ---- */

/* Takes from each group the one host that is farther from its members than from everyone else by
 * more than noise explains, and gives it a group of its own. *parted: how many. */
int nt_outlier_hosts_separate(struct nt_work *w, size_t *parted, struct nt_err *err);

/* ---- split.c: linkage and tested cuts ---- */

/* Splits all hosts; permutes the hosts of w into dendrogram order. */
int nt_split_all(struct nt_work *w, struct nt_err *err);
/* Splits each group again with the offsets removed; *changed: some did. A group is only split
 * when at least two of its parts are more than outliers could make. */
int nt_split_groups(struct nt_work *w, bool *changed, struct nt_err *err);
/* Puts the hosts of weak groups together and splits them again, readings under the distance of
 * one switch raised to it; *changed: there are fewer groups now. */
int nt_split_weak(struct nt_work *w, bool *changed, struct nt_err *err);

/* ---- refine.c ---- */

enum { NT_REFINE_HOSTS_MAX = 256 };

/* Parts m hosts anew from the dendrogram and by moving single hosts. d: readings without offsets
 * in dendrogram order, m*m; nodes: with their sums. *parts: 1 when noise could make them; else
 * label: of each place in the order. */
int nt_refine(const struct nt_noise *noise, const float *d, size_t m, const struct nt_node *nodes,
              uint32_t *label, size_t *parts, struct nt_err *err);

/* ---- repair.c ---- */

/* Moves hosts to groups where they fit better, joins groups that chance could make, until
 * nothing changes. */
int nt_repair(struct nt_work *w, struct nt_err *err);

/* ---- neighbor_joining.c ---- */

struct nt_tree_edge {
    uint32_t a, b;
    double length_us, z;
};

/* A tree over groups: nodes 0..nodes-1; node_of[group] the node of each group. */
struct nt_tree {
    size_t nodes, edges;
    struct nt_tree_edge *edge;
    uint32_t *node_of;
};

int nt_group_tree(struct nt_work *w, struct nt_tree *out, struct nt_err *err);
/* The joined tree alone: every inner node has three edges. distance: n*n, NaN: not known. */
int nt_neighbor_joining(size_t n, const float *distance, struct nt_tree *out, struct nt_err *err);
/* contract.c: takes out the edges of a joined tree that noise alone could make. */
int nt_group_tree_contract(const struct nt_work *w, struct nt_tree *tree, struct nt_err *err);
void nt_tree_fini(struct nt_tree *tree);

/* ---- host_joining.c ---- */

enum { NT_HOST_JOINING_MIN = 5, NT_HOST_JOINING_MAX = 64 };

/* An alternative for few hosts: joins hosts instead of groups, fits all edges by least squares and
 * takes the weakest out one by one. Replaces the groups of w and fits them; *found: false, and w as
 * it was, when the readings do not determine such a tree. clipped: readings far from the present
 * fit count as wrong. */
int nt_host_joining(struct nt_work *w, bool clipped, struct nt_tree *out, bool *found,
                    struct nt_err *err);

/* ---- model_select.c ---- */

/* What a grid of readings leaves over in the mean, of its step as nt_noise_least has it (the sd of
 * a step, 1 / sqrt(12) of it): a score is of no smaller residuals. */
#define NT_GRID_RESIDUAL 0.3

/* Penalised likelihood of a fit with mean relative residual `mean` over `pairs` with `unknowns`
 * fitted values; less is better (Laplace errors, Schwarz 1978, degrees of freedom corrected). */
double nt_score(double mean, double pairs, double unknowns);

/* Whether the second model explains the readings better for what it costs, and does not only
 * make switches of readings that are wrong. */
int nt_model_select(const struct nt_work *w, const struct nt_model *first,
                    const struct nt_model *second, bool *better, struct nt_err *err);

/* ---- tree_model.c ---- */

/* The model of the tree; hosts are attached to their group's node, switches with two links are left
 * out. */
int nt_tree_model(const struct nt_work *w, const struct nt_tree *tree, size_t hosts,
                  struct nt_model **out, struct nt_err *err);

/* And back: the groups of w are the hosts of one switch of the model. Fits offsets and noise. */
int nt_model_groups(const struct nt_model *model, struct nt_work *w, struct nt_err *err);

#endif
