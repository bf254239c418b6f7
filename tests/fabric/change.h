/* SPDX-License-Identifier: Apache-2.0 */
/* A change of the running network, as one line of text:
 *
 *     host NAME CHANGE...        the link of the host, of all its rails
 *     link SWITCH SWITCH CHANGE...
 *
 * CHANGE: rate=MBIT, latency=US, loss=PERCENT, mtu=BYTES, down, up, and way=out|in|both for which
 * direction: out of the host (or of the first switch), into it, or both (default). A sign "%" may
 * follow the loss. Longer packets than the MTU are lost without a word, as by a switch that is set
 * for shorter ones. What is not named stays, and way is for all of the line. */
#ifndef NT_FAB_CHANGE_H
#define NT_FAB_CHANGE_H

#include "declare.h"
#include "err.h"

enum { NT_FAB_CHANGE_BYTES = 512 };

/* Changes the links that text names. On error (NT_ERR_INPUT) *fab is untouched.
 * Tests: test_fabric_change.c */
int nt_fab_change(struct nt_fab *fab, const char *text, struct nt_err *err);

#endif
