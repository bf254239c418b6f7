/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a tree: branches of a switch are gathered behind a new one, and links between switches
 * are taken out. Private to infer/.
 * Tests: test_small_groups.c. */
#ifndef NT_INFER_REGROUP_H
#define NT_INFER_REGROUP_H

#include "err.h"
#include "model.h"

/* A new switch, linked to switch `at` (a vertex). */
struct nt_gathered {
    uint32_t at;
    double us; /* latency of the new link; the gathered branches get shorter by it */
};

/* to: links of the model, the new switch that a branch moves to, or UINT32_MAX; a link that moves
 * is one of that switch's `at`. At least two links move to each, and two stay. *model is replaced
 * on success, and its switches are numbered as before, the new ones behind. */
int nt_regroup_gather(struct nt_model **model, const struct nt_gathered *gathered, size_t count,
                      const uint32_t *to, struct nt_err *err);

/* Takes out links between switches, gone[k] for link k: their ends become one switch, and what is
 * on the side of the lower tier gets longer by the link. */
int nt_regroup_contract(struct nt_model **model, const bool *gone, struct nt_err *err);

#endif
