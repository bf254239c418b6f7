/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps this machine's processors awake while a network is emulated.
 *
 * A virtual processor with nothing to do is given back to the machine's host, and waits for its
 * turn there whenever something wakes up: on a host that has much to do most of a round trip is
 * that wait. So does a real one in a deep state of rest, for less. */
#ifndef NT_FAB_AWAKE_H
#define NT_FAB_AWAKE_H

/* A process with a thread on each processor that runs when nothing else does, until the caller
 * ends. What of it this machine does not allow is left out. Other work of class idle shares with
 * it, at about four to one. */
void nt_fab_awake_start(void);

#endif
