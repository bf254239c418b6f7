/* SPDX-License-Identifier: Apache-2.0 */
/* The time stamp at a host's egress: a tcx program that writes the low 48 bits of the monotonic
 * clock over a leaving frame's destination address.
 *
 * The fabric wakes up late when the machine is busy; by the stamp it still knows when the frame
 * left the host, and no wake-up of ours enters the emulated latency. */
#ifndef NT_FAB_STAMP_H
#define NT_FAB_STAMP_H

#include <stdint.h>

#include "err.h"

enum { NT_FAB_STAMP_BYTES = 6 };

/* Loads the program; its descriptor, or -1 with NT_ERR_SYSTEM. */
int nt_fab_stamp_load(struct nt_err *err);

/* Attaches it to the device in the current network namespace. The descriptor of the attachment,
 * which ends when that is closed, or -1. */
int nt_fab_stamp_attach(int program, unsigned int device, struct nt_err *err);

/* When the frame was stamped, read at now_ns; now_ns itself when the stamp makes no sense. */
int64_t nt_fab_stamp_read(const unsigned char stamp[NT_FAB_STAMP_BYTES], int64_t now_ns);

#endif
