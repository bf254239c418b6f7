/* SPDX-License-Identifier: Apache-2.0 */
/* The tree that the tier model infers (solver/model/tiers.h), as a model. Private to infer/.
 * Tests: test_tiers.c, test_switch_graph.c. */
#ifndef NT_INFER_TIERS_MODEL_H
#define NT_INFER_TIERS_MODEL_H

#include "pairs.h"
#include "work.h"

/* All readings of a matrix and their standard errors (NULL: not known). *out is for
 * nt_pairs_destroy. */
int nt_tiers_readings(const struct nt_matrix *latency, const struct nt_matrix *se,
                      struct nt_pairs **out, struct nt_err *err);

/* Fills shape, supports (probability of links between switches), confidence and first figures.
 * shortcuts: the residuals have a structure that no hierarchy explains. noise: of a pair.
 * evidence: ln p(readings, the best hierarchy). */
int nt_tiers_model(struct nt_pairs *readings, struct nt_model **out, struct nt_noise *noise,
                   double *evidence, struct nt_err *err);

/* ---- switch_graph.c ---- */

/* Replaces the tree by a graph of switches, or of hosts that are linked to each other, if that is
 * likelier by the same score; else the chance of one lowers the confidence. */
int nt_switch_graph_judge(const struct nt_work *w, const struct nt_pairs *readings, double evidence,
                          struct nt_model **model, struct nt_err *err);

#endif
