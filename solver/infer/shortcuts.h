/* SPDX-License-Identifier: Apache-2.0 */
/* What a tree may state of a network that has links besides it, as dragonflies do.
 * Tests: test_infer_direct.c, test_shortcuts.c. */
#ifndef NT_INFER_SHORTCUTS_H
#define NT_INFER_SHORTCUTS_H

#include "work.h"

/* Whether pairs of different switches are often nearer than the tree has them: in a tree those
 * between two groups have one distance and noise, which is no longer below the middle than above,
 * while links besides the tree make some of them shorter. modelled: the latencies of the tree.
 * Needs its groups in w. */
int nt_shortcuts_find(const struct nt_work *w, const struct nt_matrix *modelled, bool *found,
                      struct nt_err *err);

/* Lowers the probabilities of links between switches to what they are worth, and with them the
 * confidence.
 *
 * Where no tree fits (NT_FAMILY_UNDETERMINED) groups of switches are no better than chance: in a
 * dragonfly a router is as near to one of another group as to its own. Where the hosts on one
 * switch are sure nevertheless, on three switches or more, it is a hierarchy with shortcuts: the
 * family is tree, and model->shortcuts is set; leaves whose hosts are not equally far are not sure
 * then. Else no group is. Nor where model->shortcuts is set already: with few hosts a group
 * those of a switch need not be of one place, however sure they look.
 *
 * Where the shape of the whole is hardly more likely right than wrong, no group is sure.
 *
 * A switch without hosts whose links to all other switches are equally long measures as those
 * switches linked to each other do, each to each; then the one above with hosts of its own is one
 * of them, and the others are no group.
 *
 * Wants a canonical model. */
void nt_shortcuts_doubt(struct nt_model *model);

#endif
