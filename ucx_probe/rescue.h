/* SPDX-License-Identifier: Apache-2.0 */
/* Survives a crash of UCX on rank 0, which has the measurements of all hosts. UCX reads data that
 * other hosts send, which may make it crash or hang.
 *
 * On the other ranks the process then ends, and their hosts are lost. On rank 0 a jump out of the
 * signal handler leaves the call, and UCX is not called again. POSIX does not guarantee that
 * functions work after such a jump if the signal interrupted an unsafe function; for example, a
 * lock of malloc may stay locked. Then the agent ends the rest of the sweep, as it would without
 * this module. Signals belong to the whole process, hence the static state.
 * Tests: test_rescue.c. */
#ifndef NT_RESCUE_H
#define NT_RESCUE_H

#include <stdbool.h>

enum { NT_RESCUE_WHY_BYTES = 64 };

/* Installs the signal handlers. Call it once, in the thread that calls nt_rescue_run. Without it
 * nt_rescue_run only makes the call. */
void nt_rescue_install(void);

/* Calls call(context). Returns false and a description in why if the call crashed, did not return
 * within most_s seconds, or if another thread has crashed. All further calls are refused in the
 * same way. */
bool nt_rescue_run(void (*call)(void *), void *context, double most_s,
                   char why[NT_RESCUE_WHY_BYTES]);

/* Returns whether a call was left. Then the process must end with _exit, because exit functions of
 * libraries may hang. */
bool nt_rescue_was_needed(void);

#endif
