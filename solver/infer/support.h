/* SPDX-License-Identifier: Apache-2.0 */
/* The support of each switch of a tree. Private to infer/.
 * Tests: test_small_groups.c. */
#ifndef NT_INFER_SUPPORT_H
#define NT_INFER_SUPPORT_H

#include "work.h"

/* Sets the probability of every link between switches: that exactly the hosts below it stand behind
 * one switch. Removes those that are less likely than not, one after the other, and fits the tree
 * again. Needs a fitted tree; leaves the groups of w as the model has them. */
int nt_support(struct nt_work *w, struct nt_model **model, struct nt_err *err);

/* Takes out the links between switches that are shorter than one pair of readings can tell and have
 * no latency or a probability under NT_SUPPORT_STATED, the least sure first, and fits the tree
 * again. Where what was taken out is likelier there than not the confidence is no higher than the
 * chance that it is not, and a tree of which nothing is left is undetermined. */
int nt_support_resolve(struct nt_work *w, struct nt_model **model, struct nt_err *err);

#endif
