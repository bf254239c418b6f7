/* SPDX-License-Identifier: Apache-2.0 */
/* Computed readings, as a simulation writes them, equal the distances in a tree to the last digit.
 * Only one tree has these distances (Buneman 1971). Private to infer/. Tests: test_additive.c. */
#ifndef NT_INFER_ADDITIVE_H
#define NT_INFER_ADDITIVE_H

#include "work.h"

/* The tree whose distances are the readings of w, with switches of three links and more; *out NULL:
 * there is none, some pair was not measured, or noisy readings could agree with a tree by chance.
 * hosts: of the input. The caller destroys *out. */
int nt_additive_find(const struct nt_work *w, size_t hosts, struct nt_model **out,
                     struct nt_err *err);

#endif
