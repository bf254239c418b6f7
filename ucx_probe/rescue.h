/* SPDX-License-Identifier: Apache-2.0 */
/* Survives a crash of UCX on rank 0, which has the measurements of all hosts.
 *
 * UCX reads what other hosts send, and may crash or hang by it. On the other ranks the process ends
 * with that, and their hosts are lost. On rank 0 the call is left by a jump out of the signal's
 * handler, and UCX is not called again. POSIX promises nothing of functions that are called after
 * such a jump, if the signal has interrupted one that is not safe for it (a lock of malloc may stay
 * taken): the rest of the sweep is then ended by the agent, as it would have been without this.
 * Signals belong to the whole process: hence static state.
 * Tests: test_rescue.c. */
#ifndef NT_RESCUE_H
#define NT_RESCUE_H

#include <stdbool.h>

enum { NT_RESCUE_WHY_BYTES = 64 };

/* In the thread that calls nt_rescue_run, once. Without it that only calls. */
void nt_rescue_install(void);

/* Calls call(context). false: it crashed, or had not returned after most_s seconds, or another
 * thread crashed since; why then says so. All calls after that are refused in the same way. */
bool nt_rescue_run(void (*call)(void *), void *context, double most_s,
                   char why[NT_RESCUE_WHY_BYTES]);

/* Whether a call was left: the process must end by _exit, as libraries may hang in their exits. */
bool nt_rescue_was_needed(void);

#endif
