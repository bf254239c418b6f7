/* SPDX-License-Identifier: Apache-2.0 */
/* Inference: from latencies to a model. The one method, without options, that all programs use.
 * Knows matrices and models, not how they were measured, and no names.
 *
 * The tree comes from the tier model (model/tiers.h), with supports and confidence; links.c fits
 * its latencies. Graphs of hosts or switches are compared with it by the same score
 * (switch_graph.c), and dragonfly.c tries a dragonfly if neither fits.
 *
 * Published methods, for comparison, are passed in by their callers: nt_method.
 * Tests: test_small_groups.c, test_few_hosts.c. */
#ifndef NT_INFER_H
#define NT_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"

/* With more hosts, the readings alone determine their noise. */
enum { NT_INFER_ERRORS_HOSTS = 64 };

/* latency: full or partial, one or both directions, NaN if not measured; n may be 0, 1, 2... se:
 * standard errors (same shape, NaN: unknown; may be NULL). A reading whose error is well above the
 * others has less weight; if no pair has two readings, the median error is the noise. Equal inputs
 * and seeds give equal models. The model is canonical (model.h); the caller frees *out. Hosts
 * without any measurement are marked missing. No values cause an error: if the readings do not
 * determine the network, the family is undetermined. */
int nt_infer_latency(const struct nt_matrix *latency, const struct nt_matrix *se, uint64_t seed,
                     struct nt_model **out, struct nt_err *err);

/* An inferred network and its inputs. All zero: none. */
struct nt_inferred {
    /* latency NULL: it comes from another source than a matrix; se may be NULL */
    struct nt_matrix *latency, *se;
    uint64_t seed;
    struct nt_model *model;
};

void nt_inferred_fini(struct nt_inferred *inferred);

/* Combines the model with models of the same hosts from other message sizes (as PARUS unites the
 * graphs of sizes). Links are the same if they divide the hosts in the same way. The probability of
 * a link is the mean of the probabilities from all sizes, the model's own included, weighted by
 * their confidence. A size contributes its own probability to a link that it has. To a link that it
 * lacks it contributes 0.25, the middle between 0 and the lowest reported support. It contributes
 * nothing if it lacks hosts that show the link, or if the link is shorter than its resolution.
 *
 * A link between switches that only others have is added to a tree if it contradicts no existing
 * link. Then the latencies are fitted again to latency, the matrix of the model. Links between
 * switches with a probability below 0.5 are removed, and added links that are not longer than the
 * resolution. The confidence is limited by the probability of each link between switches, and for a
 * removed link by the probability of its absence. Replaces *model on success; after an error it
 * still is a model of the same hosts. */
int nt_infer_merge_sizes(struct nt_model **model, const struct nt_model *const *others,
                         size_t count, const struct nt_matrix *latency, uint64_t seed,
                         struct nt_err *err);

enum { NT_INFER_SIZES_MAX = 4096 };

/* Matrices of the same hosts, one per message size, ascending; borrowed. */
struct nt_size_latencies {
    size_t sizes; /* 1 to NT_INFER_SIZES_MAX */
    const struct nt_matrix *const *latency;
    const struct nt_matrix *const *errors; /* standard errors; NULL, and each NULL: unknown */
};

/* Infers one model from several message sizes. Links have the latencies of the first size; the
 * other sizes change probabilities and add links (nt_infer_merge_sizes). The argument known (may be
 * NULL) is the result for the same matrices and seed; it is used instead of inferring again.
 * NT_ERR_USAGE: too many sizes. The caller frees *out. */
int nt_infer_sizes(const struct nt_size_latencies *from, uint64_t seed,
                   const struct nt_inferred *known, struct nt_model **out, struct nt_err *err);

/* Fits a known tree to the latencies of its hosts: latencies of links with standard errors, r2,
 * pairs that do not fit. model must have pairs_off 0. */
int nt_infer_figures(const struct nt_matrix *latency, uint64_t seed, struct nt_model *model,
                     struct nt_err *err);

/* Interface for a method that replaces the built-in inference. Callers pass it in, so that other
 * programs need not link it. */
struct nt_method {
    /* latency: sizes (at least 1) matrices of the same hosts, one per message size, ascending; the
     * model's latencies are those of the first. bandwidth may be NULL. NT_ERR_USAGE: sizes >
     * sizes_max; other errors depend on the method. The caller frees *out. */
    int (*infer)(const void *settings, const struct nt_matrix *const *latency, size_t sizes,
                 const struct nt_matrix *bandwidth, struct nt_model **out, struct nt_err *err);
    const void *settings; /* passed to infer; borrowed */
    size_t sizes_max;     /* message sizes that it can combine */
    bool has_bandwidths;  /* it sets the bandwidths of links itself */
};

#endif
