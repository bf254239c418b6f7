/* SPDX-License-Identifier: Apache-2.0 */
/* Links that work in one direction only. Private to infer/. */
#ifndef NT_INFER_ONE_WAY_LINKS_H
#define NT_INFER_ONE_WAY_LINKS_H

#include "err.h"
#include "matrix.h"
#include "model.h"

/* Marks the links of a tree that are simplex in what was measured, and turns them so that a to b is
 * the direction that works. A pair is one way when the other direction was not measured, or took
 * more than half as long again and more than noise explains (PARUS, Salnikov et al.: of a channel
 * whose directions differ by more than eps_d the slower arc goes; 0.5 as there). A link is simplex
 * when the pairs across it are one way alike, and links with more pairs do not explain it: not when
 * hardly more of them are than of all other pairs, as where one triangle of the matrix was
 * measured, or cells of it at random. Pairs that only a simplex link joins say nothing about
 * others.
 *
 * latency: of model->hosts. The model must be canonical; other networks than trees are not changed:
 * there it is not certain which links a pair crosses. */
int nt_one_way_links_mark(const struct nt_matrix *latency, struct nt_model *model,
                          struct nt_err *err);

#endif
