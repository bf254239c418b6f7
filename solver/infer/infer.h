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
 * fits, the family is undetermined. */
int nt_infer_latency(const struct nt_matrix *latency, const struct nt_matrix *se, uint64_t seed,
                     struct nt_model **out, struct nt_err *err);

/* Adds the bandwidths of links to a copy of model: a pair's bandwidth (row to column) is the
 * smallest on its path. A link that was never the only explanation for a pair carries at least
 * what is stated, and says so (at_least); oversubscription is filled where the link above a
 * switch is known. Readings that are not above 0 are not measured. bandwidth->n must be
 * model->hosts. */
int nt_infer_bandwidth(const struct nt_model *model, const struct nt_matrix *bandwidth,
                       struct nt_model **out, struct nt_err *err);

/* Sets each link's probability from models of the same hosts that other message sizes gave: the
 * confidence-weighted share of them in which the link appears, the model's own included. Links
 * are the same when they part the hosts in the same way (PARUS merges by that share). */
int nt_infer_merge(struct nt_model *model, const struct nt_model *const *others, size_t count,
                   struct nt_err *err);

#endif
