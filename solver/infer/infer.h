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

#endif
