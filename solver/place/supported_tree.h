/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a map's tree that a placement may rely on. */
#ifndef NT_SUPPORTED_TREE_H
#define NT_SUPPORTED_TREE_H

#include "err.h"
#include "model.h"

/* *out: the model without its switches of a support below NT_SUPPORT_ACTED; the children of such a
 * switch are attached to the next certain switch above, by a link with the latency of the whole way
 * and its smallest bandwidth. So the way to all others stays as long as it was, and two that were
 * together are as far from each other as from any other host: there is no gain from placing tasks
 * in a group that may not exist. Vertices keep their numbers; a removed switch has no link. NULL
 * when every switch is certain, or none states a support. */
int nt_supported_tree_create(const struct nt_model *model, struct nt_model **out,
                             struct nt_err *err);

#endif
