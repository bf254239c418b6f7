/* SPDX-License-Identifier: Apache-2.0 */
/* From measurements to a model. The one method without options that everything uses.
 *
 * The tree comes from the tier model (solver/model/tiers.h), with supports and confidence; links.c
 * fits its figures. Graphs of hosts or of switches are compared with it by the same score
 * (switch_graph.c), and dragonfly.c looks for a dragonfly if neither fits.
 *
 * Published methods, for comparison, are handed in by those who know them: see nt_method.
 * Tests: test_small_groups.c, test_few_hosts.c. */
#ifndef NT_INFER_H
#define NT_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"

/* Over so many hosts the readings alone tell their noise. */
enum { NT_INFER_ERRORS_HOSTS = 64 };

/* latency: full or partial, one or both directions, NaN where not measured; n may be 0, 1, 2...
 * se: standard errors (same shape, NaN: not known). A reading whose error is well above the others
 * counts for less, and if no pair has two readings, the median error is the noise. May be NULL.
 * The same input and seed give the same model. The model is canonical (see model.h). A host
 * without any measurement is marked missing. No values make it fail: if the readings do not
 * determine the network, the family is undetermined. */
int nt_infer_latency(const struct nt_matrix *latency, const struct nt_matrix *se, uint64_t seed,
                     struct nt_model **out, struct nt_err *err);

/* A network that was inferred already, and of what. Empty: all zeros. */
struct nt_inferred {
    struct nt_matrix *latency, *se; /* latency NULL: of other than a matrix; se may be NULL */
    uint64_t seed;
    struct nt_model *model;
};

void nt_inferred_fini(struct nt_inferred *inferred);

/* United with the models of the same hosts that other message sizes gave (PARUS: the sizes' graphs
 * are united). A link's probability stays what it is without them, the chance that it is there: the
 * mean of what the sizes say, weighted by the confidence of each, the model's own included. A size
 * gives a link that it shows its own probability, and 0.25 to one that it does not, the middle of
 * what is not stated; nothing where it lacks hosts that show the link, or where the link is shorter
 * than that size's resolution. Links are the same when they part the hosts in the same way.
 *
 * A link between switches that only others show is added to a tree when it contradicts none that is
 * there. Then the figures are fitted again to latency, which the model was made from. No link
 * between switches stays whose probability is under 0.5, and none of those that were added whose
 * latency is not above the resolution. The confidence is at most the probability of each link
 * between switches, and that of one which was taken out not to be there. *model is replaced on
 * success; a failure leaves one of the same hosts. */
int nt_infer_merge_sizes(struct nt_model **model, const struct nt_model *const *others,
                         size_t count, const struct nt_matrix *latency, uint64_t seed,
                         struct nt_err *err);

/* A model of several message sizes: latency has one matrix each of the same hosts, ascending, sizes
 * (1 to NT_INFER_SIZES_MAX) of them; errors: their standard errors, or NULL; each may be NULL.
 * Figures are of the first; the others determine by nt_infer_merge_sizes how sure each link is, and
 * add what only they show. known (may be NULL) stands for inferring once more from the same
 * matrices with the same seed. NT_ERR_USAGE: too many sizes. */
enum { NT_INFER_SIZES_MAX = 4096 };
int nt_infer_sizes(const struct nt_matrix *const *latency, const struct nt_matrix *const *errors,
                   size_t sizes, uint64_t seed, const struct nt_inferred *known,
                   struct nt_model **out, struct nt_err *err);

/* The figures of a tree that is known, fitted to latencies of its hosts: links with standard
 * errors, R2, pairs that do not fit. model must have no pairs that are off yet. */
int nt_infer_figures(const struct nt_matrix *latency, uint64_t seed, struct nt_model *model,
                     struct nt_err *err);

/* A method that makes a model from latencies in place of ours: whoever knows one hands it
 * in, so that nobody else need carry it. */
struct nt_method {
    /* latency: sizes (at least 1) matrices of the same hosts, one a message size, ascending;
     * figures are of the first. bandwidth may be NULL. NT_ERR_USAGE: more sizes than sizes_max;
     * others as the method says. */
    int (*infer)(const void *settings, const struct nt_matrix *const *latency, size_t sizes,
                 const struct nt_matrix *bandwidth, struct nt_model **out, struct nt_err *err);
    const void *settings; /* of the method; borrowed */
    size_t sizes_max;     /* message sizes that it can unite */
    bool has_bandwidths;  /* it gives links their bandwidths by itself */
};

#endif
