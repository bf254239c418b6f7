/* SPDX-License-Identifier: Apache-2.0 */
/* Support of the switches of a tree: the probability that exactly the hosts below a switch are
 * behind one switch. It is not stored twice: it is the probability of the switch's uplink. */
#ifndef NT_SWITCH_SUPPORT_H
#define NT_SWITCH_SUPPORT_H

#include "err.h"
#include "model.h"

#define NT_SUPPORT_REPORTED 0.5 /* groups with less are not in a map */
#define NT_SUPPORT_USED 0.9     /* hints ignore groups with less */
#define NT_SUPPORT_SHOWN 0.99   /* texts show lower values */

/* *out: model->switches values; the caller frees it. The root has 1, or, if only one switch is
 * below it, the support of that switch, since both have the same hosts. NaN: none is given. That
 * holds for networks that are no trees, for switches that are not below the root, and for methods
 * without a confidence. There, the probability of a link is the share of message sizes that show
 * it. */
int nt_support_create(const struct nt_model *model, double **out, struct nt_err *err);

/* Lowers resolution_us to the shortest link between switches. A fit sets it to the resolution of
 * one pair of readings, but many pairs together show shorter links. Does nothing if the resolution
 * is unknown (NaN). */
void nt_resolution_lower(struct nt_model *model);

/* Limits the confidence to the lowest support of a link between switches. */
void nt_confidence_limit(struct nt_model *model);

#endif
