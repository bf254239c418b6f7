/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the links of a tree that was found.
 * Tests: test_infer_properties.c. */
#ifndef NT_INFER_LINKS_H
#define NT_INFER_LINKS_H

#include "work.h"

/* Fills latency_us, latency_se_us (NaN where no degree of freedom is left), r2, rms_us,
 * resolution_us (of one pair of readings, see nt_resolution_state) and pair_off of a model whose
 * links form a tree, from all readings of w by their weights. */
int nt_links_fit(const struct nt_work *w, struct nt_model *model, struct nt_err *err);

#endif
