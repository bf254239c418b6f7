/* SPDX-License-Identifier: Apache-2.0 */
/* Takes links between switches out of a tree. Private to infer/.
 * Tests: test_infer_sizes.c. */
#ifndef NT_INFER_REGROUP_H
#define NT_INFER_REGROUP_H

#include "err.h"
#include "model.h"

/* Takes out links between switches, gone[k] for link k: their ends become one switch, and what is
 * on the side of the lower tier gets longer by the link. */
int nt_regroup_contract(struct nt_model **model, const bool *gone, struct nt_err *err);

#endif
