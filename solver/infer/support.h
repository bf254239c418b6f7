/* The support of each switch of a tree. Private to infer/. */
#ifndef NT_INFER_SUPPORT_H
#define NT_INFER_SUPPORT_H

#include "work.h"

/* Sets the probability of every link between switches: that exactly the hosts below it stand behind
 * one switch. Removes those that are less likely than not, one after the other, and fits the tree
 * again. Needs a fitted tree; leaves the groups of w as the model has them. */
int nt_support(struct nt_work *w, struct nt_model **model, struct nt_err *err);

#endif
