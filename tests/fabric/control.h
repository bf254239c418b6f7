/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket of a running fabric: a datagram is a change (change.h), the answer is empty,
 * or the sentence that says what is wrong with it. Its file is for root only. */
#ifndef NT_FAB_CONTROL_H
#define NT_FAB_CONTROL_H

#include "declare.h"
#include "err.h"

/* The socket, bound to path, which must not exist; -1 with NT_ERR_SYSTEM. */
int nt_fab_control_open(const char *path, struct nt_err *err);

/* Makes the change that has arrived, and answers. */
void nt_fab_control_serve(int control, struct nt_fab *fab);

/* The other side: has the fabric at path make the change of these words.
 * NT_ERR_INPUT: it refused; NT_ERR_SYSTEM: there is none, or it does not answer. */
int nt_fab_control_ask(const char *path, char *const *words, int count, struct nt_err *err);

#endif
