/* SPDX-License-Identifier: Apache-2.0 */
/* The declared tree as one line that two networks of the same shape share. */
#ifndef NT_FAB_SHAPE_H
#define NT_FAB_SHAPE_H

#include "declare.h"
#include "err.h"

enum { NT_FAB_SHAPE_BYTES = NT_FAB_HOSTS_MAX * NT_FAB_NAME_BYTES + NT_FAB_NODES_MAX * 4 };

/* Writes "[n1 n2 [n3 n4] [n5 n6]]": each bracket a switch, its hosts first, then the switches
 * below it, all in natural order; the outermost is the middle of the tree. Names of switches do
 * not count. Switches that no measurement between hosts can tell from a longer link (two links
 * and no host, or one host and one link) are taken out; when the middle is a link, a bracket
 * stands for it. NT_ERR_INPUT when the rail's network is no tree or has under two hosts. */
int nt_fab_shape(const char *file, const struct nt_fab *fab, int rail,
                 char text[NT_FAB_SHAPE_BYTES], struct nt_err *err);

#endif
