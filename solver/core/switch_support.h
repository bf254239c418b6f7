/* SPDX-License-Identifier: Apache-2.0 */
/* How sure each switch of a tree is: the chance that exactly the hosts below it stand behind one
 * switch. Not stored twice: it is the probability of the switch's link upwards. */
#ifndef NT_SWITCH_SUPPORT_H
#define NT_SWITCH_SUPPORT_H

#include "err.h"
#include "model.h"

#define NT_SUPPORT_STATED 0.5 /* a group of less is not in a map */
#define NT_SUPPORT_ACTED 0.9  /* a hint leaves groups of less alone */
#define NT_SUPPORT_SHOWN 0.99 /* people are told of less */

/* *out: model->switches of them, the caller's (free). The top has 1; with a single switch below it
 * what that one has, since both say the same of the hosts. NaN: none is stated, as in a network
 * that is no tree, of a switch that does not hang below the top, and where the method states no
 * confidence, since there a link's probability is the share of message sizes that show it. */
int nt_support_create(const struct nt_model *model, double **out, struct nt_err *err);

/* resolution_us as a fit leaves it is that of one pair of readings. A shorter link between switches
 * that is stated is shown by many pairs: what the readings resolve is then its latency. Does
 * nothing if the resolution is not known (NaN). */
void nt_resolution_state(struct nt_model *model);

/* The whole is no more certain than the least certain of its groups. */
void nt_confidence_limit(struct nt_model *model);

#endif
