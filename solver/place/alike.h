/* SPDX-License-Identifier: Apache-2.0 */
/* What a map's errors cannot tell apart is the same to a placement, so that noise decides nothing.
 * Tests: test_alike.c. */
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

#endif
