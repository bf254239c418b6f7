/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a map that a placement may rely on: what its errors cannot tell apart is the same, so
 * that noise decides nothing, and groups that are not sure are left out.
 * Tests: test_alike.c, test_supported_tree.c. */
#ifndef NT_ALIKE_H
#define NT_ALIKE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"

/* *out: the model with the figures of like links made equal: of the links between the same two
 * tiers, sorted by a figure, neighbours that differ by less than 8 % or 4 standard errors have the
 * median of all that follow each other so. Links that a finding names keep theirs. */
int nt_alike_create(const struct nt_model *model, struct nt_model **out, struct nt_err *err);

/* On a tree, of all seatings that are the same but for parts that are alike (the same links and
 * rooms below): the one in which the part with the lower rank is the one with the lower host.
 * capacity: tasks that fit on each host. rank_host is changed; elsewhere it stays. */
int nt_alike_order(const struct nt_model *alike, const uint32_t *capacity, size_t ntasks,
                   uint32_t *rank_host, struct nt_err *err);

/* *out: the model without its switches of a support below NT_SUPPORT_USED; the children of such a
 * switch are attached to the next certain switch above, by a link with the latency of the whole way
 * and its smallest bandwidth. So the way to all others stays as long as it was, and two that were
 * together are as far from each other as from any other host: there is no gain from placing tasks
 * in a group that may not exist. Vertices keep their numbers; a removed switch has no link. NULL
 * when every switch is certain, or none states a support. */
int nt_supported_tree_create(const struct nt_model *model, struct nt_model **out,
                             struct nt_err *err);

#endif
