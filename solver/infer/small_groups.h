/* SPDX-License-Identifier: Apache-2.0 */
/* Small groups: branches of one switch that are nearer to each other than to the rest stand behind
 * a switch of their own. Private to infer/. */
#ifndef NT_INFER_SMALL_GROUPS_H
#define NT_INFER_SMALL_GROUPS_H

#include "work.h"

/* Puts branches of a fitted tree behind new switches wherever that is likelier than not, and fits
 * it again, until nothing changes. Needs w->noise; leaves the groups of w as the model has them. */
int nt_small_groups(struct nt_work *w, struct nt_model **model, struct nt_err *err);

#endif
