/* From measurements to a model. The one method without options that everything uses.
 * The published methods for comparison are in bufe.h and parus.h. */
#ifndef NT_INFER_H
#define NT_INFER_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"

/* latency: full or partial, one or both directions, NaN where not measured; n may be 0, 1, 2...
 * standard errors (same shape) may be NULL: everything follows from the data's own noise.
 * The same input and seed give the same model. The model is canonical (see model.h). A host
 * without any measurement is marked missing. Never fails for what the numbers say: when nothing
 * fits, or too few readings tell, the family is undetermined. */
int nt_infer_latency(const struct nt_matrix *latency, const struct nt_matrix *se, uint64_t seed,
                     struct nt_model **out, struct nt_err *err);

/* Adds the bandwidths of links to a copy of model: a pair's bandwidth (row to column) is the
 * smallest on its path. A link that was never the only explanation for a pair carries at least
 * what is stated, and says so (at_least); oversubscription is filled where the link above a
 * switch is known. Readings that are not above 0 are not measured. bandwidth->n must be
 * model->hosts. */
int nt_infer_bandwidth(const struct nt_model *model, const struct nt_matrix *bandwidth,
                       struct nt_model **out, struct nt_err *err);

/* United with the models of the same hosts that other message sizes gave (PARUS: the sizes' graphs
 * are united). Each link gets as its probability the confidence-weighted share of the sizes in
 * which it appears, the model's own included; links are the same when they part the hosts in the
 * same way, and a size in which hosts are missing has a say where it can show the link.
 *
 * A link between switches that only others show is added to a tree when it contradicts none that
 * is there, and the sizes that show it are sure enough: one in ten maps may gain one that is not
 * there. Then the figures are fitted again to latency, which the model was made from, and the
 * confidence is at most that of what was added. *model is replaced on success. */
int nt_infer_merge(struct nt_model **model, const struct nt_model *const *others, size_t count,
                   const struct nt_matrix *latency, uint64_t seed, struct nt_err *err);

/* The figures of a tree that is known, fitted to latencies of its hosts: links with standard
 * errors, R2, pairs that do not fit, suspects. model must have no pairs that are off yet. */
int nt_infer_figures(const struct nt_matrix *latency, uint64_t seed, struct nt_model *model,
                     struct nt_err *err);

#endif
