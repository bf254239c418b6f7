/* SPDX-License-Identifier: Apache-2.0 */
/* Computed readings: those of a simulation or of a declared network are the distances of a tree to
 * the last digit, and the tree of given distances is unique (Buneman 1971). Measured readings are
 * for tiers_model.h. Private to infer/.
 * Tests: test_few_hosts.c, test_small_groups.c. */
#ifndef NT_INFER_ADDITIVE_H
#define NT_INFER_ADDITIVE_H

#include "work.h"

/* The tree whose distances are the readings of w, with switches of three links and more; *out NULL:
 * there is none, some pair was not measured, or noisy readings could agree with a tree by chance.
 * hosts: of the input. The caller destroys *out. */
int nt_additive_find(const struct nt_work *w, size_t hosts, struct nt_model **out,
                     struct nt_err *err);

#endif
